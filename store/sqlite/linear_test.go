package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/linear"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestLinear: whatever clients on two handles do at the same time, each could
// have been alone.
func TestLinear(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "selvage.db")
	var handles [2]*sqlite.Store
	for i := range handles {
		s := open(t, path, sqlite.Options{Durability: sqlite.Ephemeral})
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		handles[i] = s
	}
	for n := range soak.Times(1) {
		w := linear.Workload{Clients: 8, Threads: 4, Ops: 60, Seed: uint64(n), Prefix: fmt.Sprintf("%d-", n)}
		w.Test(t, func(client int) selvage.Store { return handles[client%2] })
	}
}

// TestLinearProcesses: nor does it matter that some are in another process.
func TestLinearProcesses(t *testing.T) {
	t.Parallel()
	for n := range soak.Times(1) {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", n))
		s := open(t, path, sqlite.Options{})
		w := linear.Workload{Clients: 4, Threads: 4, Ops: 60, Seed: uint64(n)}
		other := w
		other.FirstClient = w.Clients
		task, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		cmd, out := startChild(t, "linear", path, string(task))
		history := w.Record(t.Context(), func(int) selvage.Store { return s })
		var part []linear.Op
		if err := json.NewDecoder(out).Decode(&part); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		w.Judge(t, append(append(history, part...), w.Look(t.Context(), s)...))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// recordPart does a workload and tells what came of it.
func recordPart(ctx context.Context, s *sqlite.Store, task string) error {
	var w linear.Workload
	if err := json.Unmarshal([]byte(task), &w); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(w.Record(ctx, func(int) selvage.Store { return s }))
}
