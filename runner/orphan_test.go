package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// only refuses every change but those of a run, as the store of a process that
// died after it had ended that run.
func only(run selvage.RunID) func(int, *selvage.ChangeSet) error {
	return func(_ int, set *selvage.ChangeSet) error {
		if set.RunID != run {
			return selvage.ErrClosed
		}
		return nil
	}
}

// checkCancelled holds that runs were cancelled, and why.
func (h *house) checkCancelled(why string, runs ...selvage.RunID) {
	h.t.Helper()
	for _, id := range runs {
		run := h.find(id)
		if o := run.Outcome; o == nil || o.Kind != selvage.OutcomeCancelled || !strings.Contains(o.Detail, why) {
			h.t.Errorf("run %s: %s %+v, want it cancelled: %s", id, run.Status, o, why)
		}
	}
}

// The process that cancelled a run died before it came to what that had spawned:
// whoever would go on with a child cancels it, with all that it spawned.
func TestOrphans(t *testing.T) {
	t.Parallel()
	deep := `call spawn_agent {"prompt":"call spawn_agent {\"prompt\":\"call guarded {\\\"text\\\":\\\"a\\\"}\"}"}`
	ways := map[string]func(h *house, child selvage.RunID){
		"resumed": func(h *house, child selvage.RunID) {
			result, err := h.runner().Resume(h.t.Context(), child, runner.ResumeOptions{})
			if !errors.As(err, new(*runner.DoneError)) || result.Outcome.Kind != selvage.OutcomeCancelled {
				h.t.Errorf("%+v, %v", result, err)
			}
		},
		"recovered": func(h *house, child selvage.RunID) {
			all, err := h.runner().Recover(h.t.Context())
			if err != nil || len(all) == 0 || all[0].RunID != child || all[0].Result.Outcome.Kind != selvage.OutcomeCancelled || !strings.Contains(all[0].String(), "is cancelled: the run that spawned it, ") {
				h.t.Errorf("recovered %v, %v", all, err)
			}
			if again, err := h.runner().Recover(h.t.Context()); err != nil || len(again) != 0 {
				h.t.Errorf("recovered again: %v, %v", again, err)
			}
		},
		"recovered on its thread": func(h *house, child selvage.RunID) {
			if all, err := h.runner().Recover(h.t.Context(), h.find(child).ThreadID); err != nil || len(all) != 1 {
				h.t.Errorf("recovered %v, %v", all, err)
			}
		},
		"recovered by another agent": func(h *house, _ selvage.RunID) {
			h.opts.AgentID = "other"
			if _, err := h.runner().Recover(h.t.Context()); err != nil {
				h.t.Error(err)
			}
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			h := newHouse(t, store)
			parent, child := h.waits(deep)
			grandchild := spawnedBy(t, store, child.ID)[0]
			store.before = only(parent.ID)
			if _, err := runner.Cancel(t.Context(), store, parent.ID, "enough"); err != nil {
				t.Fatal(err)
			}
			store.before = nil
			if h.find(child.ID).Status != selvage.RunWaiting {
				t.Fatal("the child was told")
			}
			way(h, child.ID)
			h.checkCancelled("the run that spawned it", child.ID, grandchild.ID)
			if s := sheetOf(t, store, "t", parent.ID); len(s.Open()) != 0 || s.Spent().Spend != child.Cost+grandchild.Cost {
				t.Errorf("budget %+v", s)
			}
		})
	}
}

// Neither parent nor child was led when the parent was cancelled: what the child
// was in the middle of is not done again.
func TestOrphanThatRan(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	h := newHouse(t, store)
	h.opts.Tools = append(h.opts.Tools, tool.Func("work", "", func(context.Context, struct{}) (string, error) {
		ran.Add(1)
		store.before = dead(0)
		return "done", nil
	}, tool.Options{Effect: selvage.EffectNone}))
	if _, err := h.runner().Run(t.Context(), "t", runner.Text(`call spawn_agent {"prompt":"call work {}"}`)); !errors.Is(err, selvage.ErrClosed) {
		t.Fatal(err)
	}
	store.before = nil
	parent := load(t, store, "t").OpenRun.ID
	child := spawnedBy(t, store, parent)[0]
	store.before = only(parent)
	if _, err := runner.Cancel(t.Context(), store, parent, "enough"); err != nil || child.Status != selvage.RunRunning {
		t.Fatalf("%v, the child is %s", err, child.Status)
	}
	store.before = nil
	if _, err := h.runner().Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.checkCancelled("the run that spawned it, "+string(parent)+", cancelled", child.ID)
	if ran.Load() != 1 {
		t.Errorf("the tool of the child ran %d times", ran.Load())
	}
	if s := sheetOf(t, store, "t", parent); len(s.Open()) != 0 || s.Reserved() != (budget.Amount{}) {
		t.Errorf("budget %+v", s)
	}
}
