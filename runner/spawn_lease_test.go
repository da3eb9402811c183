package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// A process that loses the lease of a run leaves what that spawned as it is: it
// belongs to the run. Whoever leads the run now finds the same child again.
func TestChildOutlivesTheLease(t *testing.T) {
	t.Parallel()
	const spawnHeld = `call spawn_agent {"prompt":"call held {}"}`
	tests := map[string]string{
		"as it is renewed":                     spawnHeld,
		"as another call of the turn is noted": spawnHeld + " && stealing {}",
	}
	for name, say := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newLessor()
				var stolen selvage.Lease
				holds := make(chan struct{})
				first := true
				h := newHouse(t, store)
				h.opts.ToolCalls, h.opts.LeaseTTL = selvage.ToolCallsParallel, 30*time.Second
				h.opts.Tools = append(h.opts.Tools,
					tool.Func("held", "", func(ctx context.Context, _ struct{}) (string, error) {
						if !first {
							return "whole", nil
						}
						first = false
						close(holds)
						if say == spawnHeld {
							stolen = store.steal(t, "t")
						}
						<-ctx.Done()
						return "", ctx.Err()
					}, tool.Options{Effect: selvage.EffectNone}),
					tool.Func("stealing", "", func(context.Context, struct{}) (string, error) {
						<-holds
						if stolen.ThreadID == "" {
							stolen = store.steal(t, "t")
						}
						return "stolen", nil
					}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: selvage.OnUnknownRetry}))
				if _, err := h.runner().Run(t.Context(), "t", runner.Text(say)); !errors.Is(err, selvage.ErrFenced) {
					t.Fatalf("it kept the lease: %v", err)
				}
				parent := load(t, store, "t").OpenRun
				below := spawnedBy(t, store, parent.ID)
				if len(below) != 1 || below[0].Status != selvage.RunRunning {
					t.Fatalf("the child: %+v", below)
				}
				if s := sheetOf(t, store, "t", parent.ID); len(s.Open()) != 1 {
					t.Errorf("its reservation is gone: %+v", s)
				}
				if err := store.Release(t.Context(), stolen); err != nil {
					t.Fatal(err)
				}
				result, err := h.runner().Resume(t.Context(), parent.ID, runner.ResumeOptions{})
				if err != nil || !strings.Contains(result.Text, "whole") {
					t.Errorf("%+v, %v", result, err)
				}
				if now := spawnedBy(t, store, parent.ID); len(now) != 1 || now[0].Outcome == nil || now[0].Outcome.Kind != selvage.OutcomeCompleted {
					t.Errorf("children %+v", now)
				}
				checkComplete(t, store, "t")
			})
		})
	}
}

// A child that another process takes over is waited for, and its answer is the
// result of the call all the same.
func TestChildTakenOver(t *testing.T) {
	t.Parallel()
	store := newLessor()
	var stolen selvage.Lease
	h := newHouse(t, store)
	h.opts.Tools = append(h.opts.Tools, tool.New("stealing", "", func(_ context.Context, c *tool.Call, _ struct{}) (selvage.ToolResult, error) {
		if stolen.ThreadID == "" {
			stolen = store.steal(t, c.ThreadID)
		}
		return tool.Text("whole"), nil
	}, tool.Options{Effect: selvage.EffectNone}))
	result := mustRun(t, h.runner(), "t", `call spawn_agent {"prompt":"call stealing {}"}`)
	if result.Waiting == nil || result.Waiting.Reason != selvage.WaitBackground {
		t.Fatalf("%+v, results %q", result, results(t, store, "t"))
	}
	if err := store.Release(t.Context(), stolen); err != nil {
		t.Fatal(err)
	}
	// The parent is older, and is looked at again when the child is done.
	if all, err := h.runner().Recover(t.Context()); err != nil || len(all) != 2 || all[1].RunID != result.RunID {
		t.Fatalf("recovered %v, %v", all, err)
	}
	if run := h.find(result.RunID); run.Outcome == nil || run.Outcome.Kind != selvage.OutcomeCompleted {
		t.Errorf("%+v", run)
	}
	if got := results(t, store, "t"); len(got) != 1 || got[0] != "Done: whole" {
		t.Errorf("results %q", got)
	}
}

// A run that has taken its time takes its children along, also those of agents
// that have all the time they want.
func TestTimeoutEndsChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		h := newHouse(t, store)
		h.opts.Stop.Timeout = new(time.Minute)
		h.opts.Agents = func(context.Context, string) (runner.Options, error) { return runner.Options{Model: newModel(t)}, nil }
		result := mustRun(t, h.runner(), "t", `call spawn_agent {"prompt":"sleep 1h","agent":"slow"}`)
		if result.Outcome.Kind != selvage.OutcomeStopped || result.Outcome.Code != runner.CodeTimeout {
			t.Errorf("%+v", result)
		}
		h.checkCancelled("has taken as long as it may", spawnedBy(t, store, result.RunID)[0].ID)
	})
}
