package settings_test

import (
	"fmt"
	"os"

	"github.com/selvagehq/selvage/internal/settings"
)

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "settings")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }() // the example is over either way
	env := map[string]string{"SELVAGE_MODEL": "sim/echo"}
	s, err := settings.Load(settings.Inputs{
		Dir:       dir,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []string{"model", "on_active"} {
		v := s.Get(key)
		fmt.Println(v.Key, "=", v.Shown(), "from", v.Source, v.Where)
	}
	// Output:
	// model = sim/echo from environment SELVAGE_MODEL
	// on_active = queue from default
}
