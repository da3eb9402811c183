package runner_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/tool"
)

const (
	// crowd is how many runs go on at once in one process on one store.
	crowd = 1000
	// crowdBytes is how much memory each of them may take while all go on.
	crowdBytes = 256 << 10
)

// A thousand runs at once on one store finish, each with its own answer, in
// bounded memory.
//
// It is alone in its process while it runs, so that what it measures is its own.
func TestCrowd(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "crowd.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	var inside atomic.Int64
	var peak atomic.Uint64
	gate := make(chan struct{})
	meet := newMeeting(func() {
		// All of them stand in their tool now.
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak.Store(m.HeapAlloc)
		close(gate)
	}, &inside, gate)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)

	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{meet}})
	var runs sync.WaitGroup
	for n := range crowd {
		runs.Go(func() {
			id := selvage.ThreadID(fmt.Sprintf("crowd-%d", n))
			result, err := r.Run(t.Context(), id, runner.Text(fmt.Sprintf(`call meet {"n":%d}`, n)))
			if want := fmt.Sprintf("Done: %d was here", n); err != nil || result.Text != want || result.Outcome.Kind != selvage.OutcomeCompleted {
				t.Errorf("run %d: %q, %+v, %v", n, result.Text, result.Outcome, err)
			}
		})
	}
	runs.Wait()
	used := int64(peak.Load()) - int64(before.HeapAlloc)
	t.Logf("%d bytes a run", used/crowd)
	if used > crowd*crowdBytes {
		t.Errorf("%d runs at once took %d bytes each, want at most %d", crowd, used/crowd, crowdBytes)
	}
}

type meetIn struct {
	N int `json:"n"`
}

// newMeeting is a tool whose calls wait for each other until the whole crowd
// has called it; the last one to come calls all first.
func newMeeting(all func(), inside *atomic.Int64, gate <-chan struct{}) tool.Tool {
	return tool.Func("meet", "", func(ctx context.Context, in meetIn) (string, error) {
		if inside.Add(1) == crowd {
			all()
		}
		select {
		case <-gate:
			return fmt.Sprintf("%d was here", in.N), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, tool.Options{Effect: selvage.EffectNone})
}
