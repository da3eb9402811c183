package process_test

import (
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
)

// TestMain is also what a child process runs.
func TestMain(m *testing.M) {
	if os.Getenv("PROCESS_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	if path := os.Getenv("PROCESS_TEST_LOCK"); path != "" {
		if err := lock(path); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := json.NewEncoder(os.Stdout).Encode(process.Self("child")); err != nil {
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it
}

func decode(t *testing.T, data []byte) selvage.Owner {
	t.Helper()
	var o selvage.Owner
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatalf("child says %q: %v", data, err)
	}
	return o
}
