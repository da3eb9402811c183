package runner_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/tool"
)

// guardedEcho repeats a text when somebody has approved of it.
func guardedEcho() tool.Tool {
	return tool.Func("guarded", "Repeats a text.", func(_ context.Context, in echoIn) (string, error) { return in.Text, nil },
		tool.Options{Effect: selvage.EffectNone, Gate: func(context.Context, *tool.Call) error {
			return tool.Suspend(selvage.Ticket{Reason: selvage.WaitApproval, Message: "may it?"})
		}})
}

const spawnGuarded = `call spawn_agent {"prompt":"call guarded {\"text\":\"a\"}"}`

// house is a store that several runners share, as processes do.
type house struct {
	t     *testing.T
	store selvage.Store
	opts  runner.Options
}

func newHouse(t *testing.T, store selvage.Store) *house {
	return &house{t: t, store: store, opts: runner.Options{Tools: []tool.Tool{spawning(t), guardedEcho()}, Limits: selvage.Limits{Spend: new(selvage.Dollar)}}}
}

// runner is the one of a process that has just begun.
func (h *house) runner() *runner.Runner {
	h.opts.Store = h.store
	return newRunner(h.t, h.opts)
}

func (h *house) find(id selvage.RunID) selvage.Run {
	h.t.Helper()
	run, err := runner.FindRun(h.t.Context(), h.store, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return run
}

// waits runs what spawns a child that waits, and returns both.
func (h *house) waits(say string) (parent, child selvage.Run) {
	h.t.Helper()
	result := mustRun(h.t, h.runner(), "t", say)
	below := spawnedBy(h.t, h.store, result.RunID)
	if result.Waiting == nil || result.Waiting.Reason != selvage.WaitBackground || len(result.Tickets) != 1 || len(below) != 1 || below[0].Status != selvage.RunWaiting {
		h.t.Fatalf("%+v, children %+v", result, below)
	}
	if c := result.Tickets[0].Ticket.Child; c == nil || c.RunID != below[0].ID || c.ThreadID != below[0].ThreadID {
		h.t.Errorf("the ticket names %+v", c)
	}
	return h.find(result.RunID), below[0]
}

func (h *house) decide(run selvage.RunID, action selvage.DecisionAction) {
	h.t.Helper()
	if _, err := runner.Decide(h.t.Context(), h.store, run, selvage.Decision{Action: action, Reason: "as I say", By: "a person"}, ""); err != nil {
		h.t.Fatal(err)
	}
}

// A child that waits makes the call that spawned it wait, and with it the run.
// When it has ended, in whatever process, the run goes on with what it came to:
// in another process still, over one file.
func TestChildThatWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	process := func() *house { // each has the file open by itself
		store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return newHouse(t, store)
	}
	first := process()
	parent, child := first.waits(spawnGuarded)
	if err := first.store.Close(); err != nil {
		t.Fatal(err)
	}
	second := process()
	if result, err := second.runner().Resume(t.Context(), parent.ID, runner.ResumeOptions{}); err != nil || result.Waiting == nil {
		t.Fatalf("it went on before its child had ended: %+v, %v", result, err)
	}
	second.decide(child.ID, selvage.DecisionResume)
	result, err := second.runner().Resume(t.Context(), child.ID, runner.ResumeOptions{})
	if err != nil || result.Text != "Done: a" {
		t.Fatalf("the child: %+v, %v", result, err)
	}
	third := process()
	result, err = third.runner().Resume(t.Context(), parent.ID, runner.ResumeOptions{})
	if err != nil || result.Text != "Done: Done: a" {
		t.Fatalf("the parent: %+v, %v", result, err)
	}
	s := sheetOf(t, third.store, "t", parent.ID)
	if done := third.find(child.ID); s.Spent().Spend != done.Cost || s.Reserved().Spend != 0 || s.Spawns() != 1 {
		t.Errorf("budget %+v, the child cost %s", s, done.Cost)
	}
	checkComplete(t, third.store, "t")
	checkComplete(t, third.store, child.ThreadID)
}

// The process that ended the child died before it could tell the parent: that
// is made up for when the parent is resumed, or recovered.
func TestChildEndedUntold(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"resume", "recover"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			spied := newSpy()
			h := newHouse(t, spied)
			parent, child := h.waits(spawnGuarded)
			h.decide(child.ID, selvage.DecisionResume)
			spied.before = func(_ int, set *selvage.ChangeSet) error {
				if set.RunID == parent.ID {
					return selvage.ErrClosed
				}
				return nil
			}
			if _, err := h.runner().Resume(t.Context(), child.ID, runner.ResumeOptions{}); err != nil {
				t.Fatal(err)
			}
			spied.before = nil
			if s := sheetOf(t, spied, "t", parent.ID); len(s.Open()) != 1 {
				t.Fatal("the parent was told")
			}
			if way == "resume" {
				if _, err := h.runner().Resume(t.Context(), parent.ID, runner.ResumeOptions{}); err != nil {
					t.Fatal(err)
				}
			} else if all, err := h.runner().Recover(t.Context()); err != nil || len(all) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			messages := load(t, spied, "t").Messages
			if got := messages[len(messages)-1].Text(); got != "Done: Done: a" {
				t.Errorf("it answers %q", got)
			}
			if s := sheetOf(t, spied, "t", parent.ID); len(s.Open()) != 0 || s.Spent().Spend != h.find(child.ID).Cost {
				t.Errorf("budget %+v", s)
			}
		})
	}
}

// A child that is denied ends; its parent reads so and goes on.
func TestChildDenied(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newSpy())
	parent, child := h.waits(spawnGuarded)
	h.decide(child.ID, selvage.DecisionAbort)
	if o := h.find(child.ID).Outcome; o == nil || o.Kind != selvage.OutcomeCancelled {
		t.Fatalf("the child: %+v", o)
	}
	result, err := h.runner().Resume(t.Context(), parent.ID, runner.ResumeOptions{})
	if err != nil || !strings.Contains(result.Text, "the agent cancelled: denied by a person: as I say") {
		t.Errorf("%+v, %v", result, err)
	}
}

// Whoever cancels a run cancels what it spawned, and what that spawned; a run
// that completes lets its children go on (rye 57).
func TestCancelCascades(t *testing.T) {
	t.Parallel()
	deep := `call spawn_agent {"prompt":"call spawn_agent {\"prompt\":\"call guarded {\\\"text\\\":\\\"a\\\"}\"}"}`
	ends := map[string]func(h *house, parent selvage.RunID){
		"cancelled": func(h *house, parent selvage.RunID) {
			if _, err := runner.Cancel(h.t.Context(), h.store, parent, "enough"); err != nil {
				h.t.Fatal(err)
			}
		},
		"denied": func(h *house, parent selvage.RunID) { h.decide(parent, selvage.DecisionAbort) },
		"superseded": func(h *house, parent selvage.RunID) {
			if result := mustRun(h.t, h.runner(), "t", "hi"); result.Text != "You said: hi" {
				h.t.Errorf("%+v", result)
			}
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, newSpy())
			parent, child := h.waits(deep)
			grandchild := spawnedBy(t, h.store, child.ID)[0]
			end(h, parent.ID)
			for _, id := range []selvage.RunID{parent.ID, child.ID, grandchild.ID} {
				if run := h.find(id); run.Outcome == nil || run.Outcome.Kind != selvage.OutcomeCancelled {
					t.Errorf("run %s: %s %+v", id, run.Status, run.Outcome)
				}
			}
			if s := sheetOf(t, h.store, child.ThreadID, child.ID); len(s.Open()) != 0 || s.Spent().Spend != grandchild.Cost {
				t.Errorf("the child's budget: %+v", s)
			}
			if _, err := runner.Cancel(t.Context(), h.store, parent.ID, "again"); err != nil {
				t.Errorf("cancelled again: %v", err)
			}
		})
	}
	t.Run("completed", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, newSpy())
		parent, child := h.waits(strings.TrimSuffix(spawnGuarded, "}") + `,"max_spend":"0.5"}`)
		h.decide(parent.ID, selvage.DecisionCancel) // not the child: the call that waits for it
		if result, err := h.runner().Resume(t.Context(), parent.ID, runner.ResumeOptions{}); err != nil || result.Outcome.Kind != selvage.OutcomeCompleted {
			t.Fatalf("%+v, %v", result, err)
		}
		if run := h.find(child.ID); run.Status != selvage.RunWaiting {
			t.Fatalf("the child: %+v", run)
		}
		h.decide(child.ID, selvage.DecisionResume)
		if result, err := h.runner().Resume(t.Context(), child.ID, runner.ResumeOptions{}); err != nil || result.Text != "Done: a" {
			t.Errorf("%+v, %v", result, err)
		}
		if s := sheetOf(t, h.store, "t", parent.ID); len(s.Open()) != 0 || s.Spent().Spend != h.find(child.ID).Cost {
			t.Errorf("budget %+v", s)
		}
	})
}

// What an open child has reserved nobody else can spend, its parent neither. The
// parent goes on when that is free again, or its limit is raised.
func TestParentWaitsForItsBudget(t *testing.T) {
	t.Parallel()
	ways := map[string]func(h *house, parent, child selvage.RunID){
		"freed and resumed": func(h *house, parent, child selvage.RunID) {
			h.cancel(child)
			if result, err := h.runner().Resume(h.t.Context(), parent, runner.ResumeOptions{}); err != nil || result.Waiting != nil {
				h.t.Errorf("%+v, %v", result, err)
			}
		},
		"freed and recovered": func(h *house, parent, child selvage.RunID) {
			h.cancel(child)
			if all, err := h.runner().Recover(h.t.Context()); err != nil || len(all) != 1 || all[0].RunID != parent {
				h.t.Errorf("recovered %v, %v", all, err)
			}
		},
		"freed by who is recovered": func(h *house, parent, child selvage.RunID) {
			h.decide(child, selvage.DecisionResume)
			if all, err := h.runner().Recover(h.t.Context()); err != nil || len(all) != 2 || all[1].RunID != parent {
				h.t.Errorf("recovered %v, %v", all, err)
			}
		},
		"raised": func(h *house, parent, _ selvage.RunID) {
			if all, err := h.runner().Recover(h.t.Context()); err != nil || len(all) != 0 {
				h.t.Errorf("recovered before it was raised: %v, %v", all, err)
			}
			if result, err := h.runner().Resume(h.t.Context(), parent, bumps(h.t, "spend=+0.50")); err != nil || result.Waiting != nil {
				h.t.Errorf("%+v, %v", result, err)
			}
		},
		"raised as proposed, and recovered": func(h *house, parent, _ selvage.RunID) {
			h.decide(parent, selvage.DecisionResume)
			if all, err := h.runner().Recover(h.t.Context()); err != nil || len(all) != 1 || all[0].RunID != parent {
				h.t.Errorf("recovered %v, %v", all, err)
			}
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, newSpy())
			parent, child := h.waits(spawnGuarded) // it has reserved all that was left
			h.decide(parent.ID, selvage.DecisionCancel)
			result, err := h.runner().Resume(t.Context(), parent.ID, runner.ResumeOptions{})
			if err != nil || result.Waiting == nil || result.Waiting.Reason != selvage.WaitBudget || result.Waiting.LimitCode != selvage.LimitSpend || result.Waiting.Current != "1" {
				t.Fatalf("%+v, %v", result, err)
			}
			way(h, parent.ID, child.ID)
			if run := h.find(parent.ID); run.Outcome == nil || run.Outcome.Kind != selvage.OutcomeCompleted {
				t.Errorf("the parent: %s %+v", run.Status, run.Outcome)
			}
		})
	}
}

func (h *house) cancel(run selvage.RunID) {
	h.t.Helper()
	if _, err := runner.Cancel(h.t.Context(), h.store, run, "not needed"); err != nil {
		h.t.Fatal(err)
	}
}

// Cancelling a run while its child is at work ends both.
func TestCancelWhileAChildWorks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := newHouse(t, newSpy())
	stopping := tool.Func("stop", "", func(inner context.Context, _ struct{}) (string, error) {
		cancel()
		<-inner.Done()
		return "", inner.Err()
	}, tool.Options{Effect: selvage.EffectNone})
	h.opts.Tools = append(h.opts.Tools, stopping)
	result, err := h.runner().Run(ctx, "t", runner.Text(`call spawn_agent {"prompt":"call stop {}"}`))
	if !errors.Is(err, context.Canceled) || result.Outcome.Kind != selvage.OutcomeCancelled {
		t.Fatalf("%+v, %v", result, err)
	}
	below := spawnedBy(t, h.store, result.RunID)
	if len(below) != 1 || below[0].Outcome == nil || below[0].Outcome.Kind != selvage.OutcomeCancelled {
		t.Errorf("children %+v", below)
	}
	if s := sheetOf(t, h.store, "t", result.RunID); len(s.Open()) != 0 || s.Spent().Spend != below[0].Cost {
		t.Errorf("budget %+v", s)
	}
}

// A child that waits may end while the call that spawned it is not yet
// recorded to wait for it: here because another call of the turn still runs.
// The run goes on with what it came to all the same.
func TestChildEndsBeforeItIsWaitedFor(t *testing.T) {
	t.Parallel()
	store, waits := newSpy(), make(chan selvage.RunID, 1)
	store.after = func(_ int, set *selvage.ChangeSet) error {
		if len(set.Runs) == 1 && set.Runs[0].Status == selvage.RunWaiting {
			store.after = nil
			waits <- set.RunID
		}
		return nil
	}
	h := newHouse(t, store)
	h.opts.ToolCalls = selvage.ToolCallsParallel
	// It decides for the child, as a person would, and has it go on.
	h.opts.Tools = append(h.opts.Tools, tool.Func("busy", "", func(ctx context.Context, _ struct{}) (string, error) {
		child := <-waits
		if _, err := runner.Decide(ctx, h.store, child, approve, ""); err != nil {
			return "", err
		}
		_, err := h.runner().Resume(ctx, child, runner.ResumeOptions{})
		return "made it", err
	}, tool.Options{Effect: selvage.EffectNone}))
	result := mustRun(t, h.runner(), "t", spawnGuarded+` && busy {}`)
	if got := strings.Join(results(t, h.store, "t"), "; "); result.Waiting != nil || !strings.Contains(got, "Done: a") || !strings.Contains(got, "made it") {
		t.Errorf("%+v, results %s", result, got)
	}
	checkComplete(t, h.store, "t")
}

// A call whose child is gone, for its thread was removed, has failed, and the
// run goes on.
func TestChildRemoved(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newSpy())
	parent, child := h.waits(spawnGuarded)
	if err := h.store.Delete(t.Context(), child.ThreadID, selvage.DeleteReject); err != nil {
		t.Fatal(err)
	}
	recovered, err := h.runner().Recover(t.Context())
	if err != nil || len(recovered) != 1 || recovered[0].RunID != parent.ID || recovered[0].Result.Outcome.Kind != selvage.OutcomeCompleted {
		t.Fatalf("recovered %+v, %v", recovered, err)
	}
	if text := transcript(load(t, h.store, "t").Messages); !strings.Contains(text, "tool: run "+string(child.ID)+", which it spawned, is gone: its thread was removed\n") {
		t.Errorf("thread:\n%s", text)
	}
	checkComplete(t, h.store, "t")
	verify(t, h.store, "t")
}
