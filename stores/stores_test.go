package stores_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/stores"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each form of URL opens its backend, and a file is the same by either name.
func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	for i, name := range []string{path, "sqlite:" + path, "memory:"} {
		store, err := stores.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Append(t.Context(), "t", selvage.ChangeSet{}, selvage.New())
		if again := i == 1; errors.Is(err, selvage.ErrAlreadyExists) != again || !again && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := selvage.As[selvage.Leaser](store); !ok {
			t.Errorf("%s has no leases", name)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What cannot be opened is refused with what can, and without secrets.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := map[string]error{
		"":                                 selvage.ErrInvalid,
		"sqlite:":                          selvage.ErrInvalid,
		"memory:name":                      selvage.ErrInvalid,
		"app":                              selvage.ErrInvalid,
		"app.txt":                          selvage.ErrInvalid,
		"redis://user:hunter2@host/0":      selvage.ErrInvalid,
		"@prod":                            selvage.ErrInvalid,
		"./dir/":                           selvage.ErrUnsupported,
		"file:dir":                         selvage.ErrUnsupported,
		"postgres://u:hunter2@h/db":        selvage.ErrUnsupported,
		"postgres://h/db?password=hunter2": selvage.ErrUnsupported,
		"postgresql://u:hunter2@%zz/db":    selvage.ErrUnsupported,
		"http://localhost:7420":            selvage.ErrUnsupported,
		"https://u:hunter2@example.org":    selvage.ErrUnsupported,
		"nats://u:hunter2@localhost":       selvage.ErrUnsupported,
	}
	for name, want := range tests {
		store, err := stores.Open(t.Context(), name)
		if !errors.Is(err, want) || store != nil {
			t.Errorf("%q: %v, %v; want %v", name, store, err, want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error tells the password: %v", name, err)
		}
		if name != "@prod" && name != "memory:name" && !strings.Contains(err.Error(), "sqlite:PATH") {
			t.Errorf("%q: the error does not say what is offered: %v", name, err)
		}
	}
	if store, err := stores.Open(t.Context(), "sqlite:"+dir); err == nil || store != nil {
		t.Errorf("a directory was opened: %v", store)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v was made, %v", entries, err)
	}
}

func ExampleOpen() {
	ctx := context.Background()
	store, err := stores.Open(ctx, "memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	receipt, err := store.Append(ctx, "t1", selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("hi")}}, selvage.New())
	fmt.Println(receipt.Version, err)

	_, err = stores.Open(ctx, "postgres://app:secret@db/prod")
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// store "postgres://app:xxxxx@db/prod": PostgreSQL is not offered; this build opens memory:, PATH.db and sqlite:PATH: unsupported
}
