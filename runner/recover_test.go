package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// counted is a tool that counts how often it runs.
func counted(effect selvage.Effect, n *atomic.Int32) tool.Tool {
	opts := tool.Options{Effect: effect}
	if effect == selvage.EffectOnce {
		opts.OnUnknown = tool.FailUnknown
	}
	return tool.Func("count", "", func(context.Context, struct{}) (int32, error) { return n.Add(1), nil }, opts)
}

// die runs on thread t until the n-th append, and leaves the run as a process
// would that died there.
func die(t *testing.T, store *spy, opts runner.Options, say string, n int) {
	t.Helper()
	store.before = refuse(n, true, fmt.Errorf("dead: %w", selvage.ErrClosed))
	opts.Store = store
	if _, err := newRunner(t, opts).Run(t.Context(), "t", runner.Text(say)); !errors.Is(err, selvage.ErrClosed) {
		t.Fatalf("it did not die: %v", err)
	}
	store.before = nil
}

// A run whose process died goes on where it was, and repeats no effect that it
// must not.
func TestRecoverGoesOn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		effect selvage.Effect
		nth    int // the append it died at
		ran    int32
		text   string
		want   string
	}{
		{"before it asked", selvage.EffectNone, 2, 1, "Done: 1",
			"user: call count {}\nassistant:  [count {}]\ntool: 1\nassistant: Done: 1\n"},
		{"before the result of a tool", selvage.EffectNone, 3, 2, "Done: 2",
			"user: call count {}\nassistant:  [count {}]\ntool: 2\nassistant: Done: 2\n"},
		{"before the result of an idempotent tool", selvage.EffectIdempotent, 3, 2, "Done: 2",
			"user: call count {}\nassistant:  [count {}]\ntool: 2\nassistant: Done: 2\n"},
		{"before the result of a once tool", selvage.EffectOnce, 3, 1, "",
			"user: call count {}\nassistant:  [count {}]\ntool: count was interrupted. Its outcome is unknown: it may or may not have taken effect, and it was not repeated.\n"},
		{"before the next answer", selvage.EffectOnce, 4, 1, "Done: 1",
			"user: call count {}\nassistant:  [count {}]\ntool: 1\nassistant: Done: 1\n"},
		{"before its end", selvage.EffectOnce, 5, 1, "Done: 1",
			"user: call count {}\nassistant:  [count {}]\ntool: 1\nassistant: Done: 1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, ran := newSpy(), &atomic.Int32{}
			opts := runner.Options{Store: store, Tools: []tool.Tool{counted(tt.effect, ran)}}
			die(t, store, opts, "call count {}", tt.nth)
			recovered, err := newRunner(t, opts).Recover(t.Context())
			if err != nil || len(recovered) != 1 {
				t.Fatalf("recovered %v, %v", recovered, err)
			}
			one := recovered[0]
			if one.Err != nil || one.Difference != "" || one.Result.Outcome.Kind != selvage.OutcomeCompleted || !strings.HasPrefix(one.Result.Text, tt.text) {
				t.Errorf("recovered %+v", one)
			}
			if want := "on thread t was interrupted, was gone on with and completed"; !strings.HasSuffix(one.String(), want) {
				t.Errorf("told %q, want ... %q", one.String(), want)
			}
			if ran.Load() != tt.ran {
				t.Errorf("the tool ran %d times, want %d", ran.Load(), tt.ran)
			}
			// What it used before it died counts, and nothing is asked twice.
			if r := one.Result; r.Steps != 2 || r.Usage.InputTokens < 7 || r.Usage.OutputTokens < 2 {
				t.Errorf("%d steps, usage %+v", r.Steps, r.Usage)
			}
			head := load(t, store, "t")
			if got := transcript(head.Messages); !strings.HasPrefix(got, tt.want) {
				t.Errorf("thread:\n%swant:\n%s", got, tt.want)
			}
			checkChain(t, store, "t")
			page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t"})
			if err != nil || len(page.Items) != 1 {
				t.Errorf("runs %v, %v: want the same run", page.Items, err)
			}
			if again, err := newRunner(t, opts).Recover(t.Context()); err != nil || len(again) != 0 {
				t.Errorf("recovered again: %v, %v", again, err)
			}
		})
	}
}

// A run that this runner cannot go on with is ended, and the difference named.
func TestRecoverEndsWhatItCannotGoOnWith(t *testing.T) {
	t.Parallel()
	one := tool.Func("count", "", func(context.Context, struct {
		N int `json:"n"`
	}) (int, error) {
		return 0, nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown})
	tests := map[string]struct {
		opts runner.Options
		want string
	}{
		"another model":    {runner.Options{Model: &renamed{newModel(t)}}, "it needs model sim/echo, this is sim/other; it needs tool count, which is not here"},
		"no tool":          {runner.Options{}, "it needs tool count, which is not here"},
		"another schema":   {runner.Options{Tools: []tool.Tool{one}}, "its tool count takes other arguments than the one here"},
		"another's effect": {runner.Options{Tools: []tool.Tool{counted(selvage.EffectNone, new(atomic.Int32))}}, "the effect of its tool count is once, here it is none"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			die(t, store, runner.Options{Tools: []tool.Tool{counted(selvage.EffectOnce, new(atomic.Int32))}}, "call count {}", 3)
			tt.opts.Store = store
			recovered, err := newRunner(t, tt.opts).Recover(t.Context(), "t")
			if err != nil || len(recovered) != 1 {
				t.Fatalf("recovered %v, %v", recovered, err)
			}
			r := recovered[0]
			if r.Difference != tt.want || r.Err != nil || r.Result.Outcome.Code != runner.CodeAbandoned {
				t.Errorf("recovered %+v, want difference %q", r, tt.want)
			}
			if !strings.HasSuffix(r.String(), "is ended: "+tt.want) {
				t.Errorf("told %q", r.String())
			}
			text := transcript(load(t, store, "t").Messages)
			if !strings.Contains(text, "Its outcome is unknown") {
				t.Errorf("thread:\n%s", text)
			}
			checkChain(t, store, "t")
		})
	}
}

// renamed is a model by another name.
type renamed struct{ model.Model }

func (renamed) Name() string { return "sim/other" }

// A new run closes the one that was left open, in its own first change.
func TestNewRunClosesTheAbandoned(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, Tools: []tool.Tool{counted(selvage.EffectOnce, ran)}}
	die(t, store, opts, "call count {}", 3)
	n := len(store.appended())
	if result := mustRun(t, newRunner(t, opts), "t", "hi"); result.Text != "You said: hi" || ran.Load() != 1 {
		t.Errorf("answer %q, the tool ran %d times", result.Text, ran.Load())
	}
	if got, want := describe(&store.appended()[n].set), "user_message: tool, user, run failed/abandoned, run running, call failed"; got != want {
		t.Errorf("the run begins with\n%s, want\n%s", got, want)
	}
	checkChain(t, store, "t")
	page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t", Order: selvage.Ascending})
	if err != nil || len(page.Items) != 2 || page.Items[0].Outcome.Code != runner.CodeAbandoned {
		t.Errorf("runs %+v, %v", page.Items, err)
	}
}

// Runs of live owners, of other agents and of other threads are left alone;
// several recoveries at once take over each run once.
func TestRecoverLeavesAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newLeaser()
		r := newRunner(t, runner.Options{Store: store})
		var done sync.WaitGroup
		done.Go(func() { mustRun(t, r, "live", "sleep 1h") })
		time.Sleep(time.Minute)
		synctest.Wait()
		die(t, store.spy, runner.Options{}, "hi", 3+1)
		for name, threads := range map[string][]selvage.ThreadID{"live": {"live"}, "missing": {"nothing"}} {
			if recovered, err := r.Recover(t.Context(), threads...); err != nil || len(recovered) != 0 {
				t.Errorf("%s: %v, %v", name, recovered, err)
			}
		}
		other := newRunner(t, runner.Options{Store: store, AgentID: "another"})
		if recovered, err := other.Recover(t.Context()); err != nil || len(recovered) != 0 {
			t.Errorf("a run of no agent: %v, %v", recovered, err)
		}
		if _, err := store.inner.Append(t.Context(), "others", selvage.ChangeSet{Runs: []selvage.RunUpdate{{ID: "o", AgentID: "another",
			Spec: &selvage.RunSpec{Model: "sim/echo"}, Status: selvage.RunRunning}}}, selvage.New()); err != nil {
			t.Fatal(err)
		}
		total := atomic.Int32{}
		for range 4 {
			done.Go(func() {
				recovered, err := newRunner(t, runner.Options{Store: store}).Recover(t.Context())
				if err != nil {
					t.Error(err)
				}
				total.Add(int32(len(recovered)))
			})
		}
		done.Wait()
		if total.Load() != 1 {
			t.Errorf("%d runs recovered, want 1", total.Load())
		}
	})
}

// Naming a run makes starting it repeatable.
func TestRunIDIsRepeatable(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, Tools: []tool.Tool{counted(selvage.EffectOnce, ran)}}
	in := runner.Text("call count {}")
	in.RunID = "order-42-1"
	r := newRunner(t, opts)
	first, err := r.Run(t.Context(), "t", in)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, r, "t", "something else")
	version := load(t, store, "t").Thread.Version
	again, err := r.Run(t.Context(), "t", in)
	if err != nil || !again.Replayed || again.Text != first.Text || again.Cost != first.Cost {
		t.Errorf("again %+v, %v; want the result of the first, %+v", again, err, first)
	}
	if v := load(t, store, "t").Thread.Version; v != version || ran.Load() != 1 {
		t.Errorf("version %d became %d, the tool ran %d times", version, v, ran.Load())
	}
	in.RunID = "order-42-2"
	store.before = refuse(store.attempts+4, true, fmt.Errorf("dead: %w", selvage.ErrClosed))
	if _, err := r.Run(t.Context(), "t", in); err == nil {
		t.Fatal("it did not die")
	}
	store.before = nil
	if on, err := r.Run(t.Context(), "t", in); err != nil || on.Replayed || on.Text != "Done: 2" || ran.Load() != 2 {
		t.Errorf("went on to %+v, %v", on, err)
	}
	checkChain(t, store, "t")
}

// A run that ended between the list and the lease is left alone, and so is the
// one that came after it.
func TestRecoverLooksAgain(t *testing.T) {
	t.Parallel()
	store := newLeaser()
	die(t, store.spy, runner.Options{}, "hi", 2)
	dead := load(t, store, "t").OpenRun.ID
	store.acquire = func() {
		store.acquire = nil
		if _, err := store.inner.Append(t.Context(), "t", selvage.ChangeSet{Reason: selvage.ReasonRunFinished, Runs: []selvage.RunUpdate{
			{ID: dead, Status: selvage.RunDone, Outcome: &selvage.Outcome{Kind: selvage.OutcomeCancelled}},
			{ID: "next", Spec: &selvage.RunSpec{Model: "sim/echo"}, Status: selvage.RunRunning}}}, selvage.Any()); err != nil {
			t.Error(err)
		}
	}
	recovered, err := newRunner(t, runner.Options{Store: store}).Recover(t.Context())
	if err != nil || len(recovered) != 0 {
		t.Errorf("recovered %v, %v", recovered, err)
	}
}

// A journalled call is closed with its run even if the message that made it is
// no longer in the window.
func TestAbandonedCallBeyondTheWindow(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Tools: []tool.Tool{counted(selvage.EffectOnce, ran)}}
	die(t, store, opts, "call count {}", 3)
	chatter := selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("one"), selvage.UserText("two")}}
	if _, err := store.Store.Append(t.Context(), "t", chatter, selvage.Any()); err != nil {
		t.Fatal(err)
	}
	opts.Store, opts.Window = store, 2
	mustRun(t, newRunner(t, opts), "t", "hi")
	head := load(t, store, "t")
	if len(head.OpenCalls) != 0 || ran.Load() != 1 {
		t.Errorf("open calls %v, the tool ran %d times", head.OpenCalls, ran.Load())
	}
	if text := transcript(head.Messages); strings.Count(text, "outcome is unknown") != 1 {
		t.Errorf("nobody is told what became of the call:\n%s", text)
	}

	store, ran = newSpy(), &atomic.Int32{}
	opts.Tools = []tool.Tool{counted(selvage.EffectOnce, ran)}
	die(t, store, opts, "call count {}", 3)
	if _, err := store.Store.Append(t.Context(), "t", chatter, selvage.Any()); err != nil {
		t.Fatal(err)
	}
	opts.Store = store
	if recovered, err := newRunner(t, opts).Recover(t.Context()); err != nil || len(recovered) != 1 || recovered[0].Err != nil {
		t.Errorf("recovered %v, %v", recovered, err)
	}
	head = load(t, store, "t")
	if len(head.OpenCalls) != 0 || head.OpenRun != nil || ran.Load() != 1 {
		t.Errorf("after recovery: open calls %v, run %v, the tool ran %d times", head.OpenCalls, head.OpenRun, ran.Load())
	}
	if text := transcript(head.Messages); strings.Count(text, "outcome is unknown") != 1 {
		t.Errorf("after recovery nobody is told what became of the call:\n%s", text)
	}
	checkComplete(t, store, "t")
}

// Calls that came in with the input are history, not orders.
func TestInboundCallsAreNotRun(t *testing.T) {
	t.Parallel()
	for nth := 2; nth <= 3; nth++ {
		inboundCalls(t, nth)
	}
}

func inboundCalls(t *testing.T, nth int) {
	t.Helper()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, Tools: []tool.Tool{counted(selvage.EffectNone, ran)}}
	store.before = refuse(nth, true, fmt.Errorf("dead: %w", selvage.ErrClosed))
	in := runner.Input{Messages: []selvage.Message{{Role: selvage.RoleAssistant, Step: 1, ToolCalls: []selvage.ToolCall{{ID: "x", Name: "count"}}},
		selvage.UserText("hi")}}
	if _, err := newRunner(t, opts).Run(t.Context(), "t", in); !errors.Is(err, selvage.ErrClosed) {
		t.Fatal(err)
	}
	store.before = nil
	recovered, err := newRunner(t, opts).Recover(t.Context())
	if err != nil || len(recovered) != 1 || recovered[0].Result.Text != "You said: hi" || ran.Load() != 0 {
		t.Errorf("recovered %+v, %v; the tool ran %d times", recovered, err, ran.Load())
	}
}
