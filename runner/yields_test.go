package runner_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// Who holds the thread of a run that waits decides on it, and may lose against
// the decision that counts. A runner that rejects waits for that moment too, or
// nobody would take that decision up; but not for who leads a run.
func TestResumeYieldsToWhoDecides(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		held time.Duration // by somebody else
		took time.Duration
		busy bool
	}{
		"a moment":   {time.Second, time.Second, false},
		"for long":   {time.Hour, 5 * time.Second, true},
		"not at all": {0, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, ran := newSpy(), &atomic.Int32{}
				r := newRunner(t, runner.Options{Store: store, OnActive: runner.Reject, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}})
				waits := suspended(t, r, "t", `call deploy {"to":"x"}`)
				decide(t, store, waits.RunID, approve, "")
				lessor, _ := selvage.As[selvage.Leaser](store)
				if tt.held > 0 {
					if _, err := lessor.Acquire(t.Context(), "t", selvage.Owner{Name: "who denies"}, tt.held); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				result, err := r.Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
				if took := time.Since(began); took < tt.took || took > tt.took+time.Second {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
				if errors.Is(err, selvage.ErrBusy) != tt.busy || !tt.busy && (err != nil || result.Text != "Done: deployed to x" || ran.Load() != 1) {
					t.Errorf("resumed: %+v, %v", result, err)
				}
			})
		})
	}
	t.Run("led", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := newSpy()
			r := newRunner(t, runner.Options{Store: store, OnActive: runner.Reject})
			for e, err := range r.Stream(t.Context(), "t", runner.Text("sleep 1h")) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind != selvage.EventRun || e.Run.Outcome != nil {
					continue
				}
				began := time.Now()
				_, err := r.Resume(t.Context(), e.RunID, runner.ResumeOptions{})
				if !errors.Is(err, selvage.ErrBusy) || time.Since(began) != 0 {
					t.Errorf("resumed after %s: %v; want it to be told at once who leads the run", time.Since(began), err)
				}
			}
		})
	})
}
