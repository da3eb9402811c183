package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// cancelNote is what tells the next run that one was cancelled.
const cancelNote = "(system): [The run was cancelled here, before it was complete.]\n"

// A run that another process leads ends soon after it was cancelled, whatever
// is at work, with the reason and one note.
func TestCancelWhereItIsLed(t *testing.T) {
	t.Parallel()
	for _, say := range []string{"sleep 1h", "stream 100000", "call idle {}", "call idle {} && idle {}", "fail rate_limited"} {
		for _, mode := range []selvage.ToolCalls{"", selvage.ToolCallsParallel} {
			t.Run(say+string(mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store := newSpy()
					r := newRunner(t, runner.Options{Store: store, ToolCalls: mode, Retry: runner.Retry{Initial: time.Minute, Max: time.Minute},
						Tools: []tool.Tool{waiting("idle", selvage.EffectNone)}})
					began, told := time.Now(), make(chan struct{})
					time.AfterFunc(10*time.Second, func() {
						defer close(told)
						id := load(t, store, "t").OpenRun.ID
						got, err := runner.Cancel(t.Context(), store, id, "enough")
						if err != nil || got.Status != runner.CancelRequested || got.Owner == nil {
							t.Errorf("%+v, %v", got, err)
						}
						if again, err := runner.Cancel(t.Context(), store, id, "more than enough"); err != nil || again.Status != runner.CancelRepeated {
							t.Errorf("cancelled again: %+v, %v", again, err)
						}
					})
					result, err := r.Run(t.Context(), "t", runner.Text(say))
					<-told
					want := selvage.Outcome{Kind: selvage.OutcomeCancelled, Detail: "enough"}
					if result.Outcome != want || !errors.Is(err, context.Canceled) || time.Since(began) > 12*time.Second {
						t.Errorf("outcome %+v after %s: %v", result.Outcome, time.Since(began), err)
					}
					head := load(t, store, "t")
					if text := transcript(head.Messages); !strings.HasSuffix(text, cancelNote) || strings.Count(text, cancelNote) != 1 {
						t.Errorf("thread:\n%s", text)
					}
					if again, err := runner.Cancel(t.Context(), store, result.RunID, ""); err != nil || again.Status != runner.CancelRepeated {
						t.Errorf("cancelled when it was: %+v, %v", again, err)
					}
					checkComplete(t, store, "t")
					verify(t, store, "t")
				})
			})
		}
	}
}

// A request that is there when a checkpoint is made ends the run there, and
// what was done is recorded.
func TestCancelAtACheckpoint(t *testing.T) {
	t.Parallel()
	store := newSpy()
	self := tool.New("self", "", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		_, err := runner.Cancel(ctx, store, c.RunID, "myself")
		return "asked for it", err
	}, tool.Options{Effect: selvage.EffectNone})
	result, err := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{self}}).Run(t.Context(), "t", runner.Text("call self {}"))
	if result.Outcome.Kind != selvage.OutcomeCancelled || !strings.Contains(err.Error(), "myself") || result.Steps != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	if text := transcript(load(t, store, "t").Messages); !strings.HasSuffix(text, "tool: asked for it\n"+cancelNote) {
		t.Errorf("thread:\n%s", text)
	}
}

// A run that waits, or that nobody leads, is cancelled without a runner.
func TestCancelWhatNobodyLeads(t *testing.T) {
	t.Parallel()
	ran := &atomic.Int32{}
	opts := runner.Options{Tools: []tool.Tool{gated(selvage.EffectOnce, ran), counted(selvage.EffectOnce, ran)}}
	tests := map[string]func(store *spy){
		"it waits": func(store *spy) {
			opts := opts
			opts.Store = store
			suspended(t, newRunner(t, opts), "t", `call deploy {"to":"x"} && count {}`)
		},
		"its process is dead": func(store *spy) { die(t, store, opts, "call count {}", 3) },
	}
	for name, begin := range tests {
		store := newSpy()
		begin(store)
		id := load(t, store, "t").OpenRun.ID
		got, err := runner.Cancel(t.Context(), store, id, "over")
		if err != nil || got.Status != runner.CancelDone || got.Owner != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		run, err := runner.FindRun(t.Context(), store, id)
		want := selvage.Outcome{Kind: selvage.OutcomeCancelled, Detail: "over"}
		if err != nil || run.Outcome == nil || *run.Outcome != want {
			t.Errorf("%s: %+v, %v", name, run, err)
		}
		head := load(t, store, "t")
		if text := transcript(head.Messages); !strings.HasSuffix(text, cancelNote) || head.Lease != nil {
			t.Errorf("%s: lease %v, thread:\n%s", name, head.Lease, text)
		}
		if again, err := runner.Cancel(t.Context(), store, id, ""); err != nil || again.Status != runner.CancelRepeated {
			t.Errorf("%s: cancelled again: %+v, %v", name, again, err)
		}
		checkComplete(t, store, "t")
		verify(t, store, "t")
	}
	store := newSpy()
	done := mustRun(t, newRunner(t, runner.Options{Store: store}), "t", "hi")
	var over *runner.DoneError
	if _, err := runner.Cancel(t.Context(), store, done.RunID, ""); !errors.As(err, &over) || !strings.HasSuffix(err.Error(), "is done: completed") {
		t.Errorf("a run that is done: %v", err)
	}
	if err := runner.Signal(t.Context(), store, done.RunID, "s", nil); !errors.As(err, &over) {
		t.Errorf("a signal to a run that is done: %v", err)
	}
	if _, err := runner.Cancel(t.Context(), store, "no such", ""); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("no such run: %v", err)
	}
}

// An abort ends a run whose process is dead, in any process.
// What an answer has used counts also if its process died in the middle of it
// and nobody goes on with the run.
func TestCancelInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	for step, want := range []selvage.Money{0, 70} { // at step 0 the answer is recorded, with what it used
		store := newSpy()
		die(t, store, runner.Options{}, "hi", 2)
		head := load(t, store, "t")
		streams, _ := selvage.As[selvage.StreamCheckpoints](store)
		used := selvage.Usage{InputTokens: 5, OutputTokens: 3}
		if err := streams.Put(t.Context(), selvage.StreamCheckpoint{ThreadID: "t", RunID: head.OpenRun.ID, Epoch: 1, Step: step,
			Text: "so far", RunUsage: used, RunCost: 70}); err != nil {
			t.Fatal(err)
		}
		if _, err := runner.Cancel(t.Context(), store, head.OpenRun.ID, "over"); err != nil {
			t.Fatal(err)
		}
		if run, err := runner.FindRun(t.Context(), store, head.OpenRun.ID); err != nil || run.Cost != want || (run.Usage == used) != (want > 0) {
			t.Errorf("%+v, %v", run, err)
		}
		verify(t, store, "t")
	}
}

func TestDenyWhatNobodyLeads(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{gated(selvage.EffectOnce, ran), echoTool("echo", selvage.EffectNone)}}
	die(t, store, opts, `call deploy {"to":"x"} && echo {"text":"a"}`, 4)
	id := load(t, store, "t").OpenRun.ID
	decide(t, store, id, selvage.Decision{Action: selvage.DecisionAbort}, "")
	if run, err := runner.FindRun(t.Context(), store, id); err != nil || run.Outcome == nil || run.Outcome.Code != runner.CodeDenied {
		t.Errorf("%+v, %v", run, err)
	}
	checkComplete(t, store, "t")
	verify(t, store, "t")
}

// An abort of one call ends a run that is led elsewhere too, as denied.
func TestDenyWhereItIsLed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, ran := newSpy(), &atomic.Int32{}
		nap := tool.Func("nap", "", func(context.Context, struct{}) (string, error) {
			time.Sleep(time.Minute)
			return "slept", nil
		}, tool.Options{Effect: selvage.EffectNone})
		r := newRunner(t, runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{gated(selvage.EffectOnce, ran), nap}})
		time.AfterFunc(10*time.Second, func() {
			id := load(t, store, "t").OpenRun.ID
			// It is not asked yet: the batch still runs.
			got, err := runner.Decide(t.Context(), store, id, selvage.Decision{Action: selvage.DecisionAbort, Reason: "no"}, load(t, store, "t").Messages[1].ToolCalls[0].ID)
			if err != nil || got.Status != runner.Buffered {
				t.Errorf("%+v, %v", got, err)
			}
		})
		result, _ := r.Run(t.Context(), "t", runner.Text(`call deploy {"to":"x"} && nap {}`))
		if result.Outcome.Code != runner.CodeDenied || ran.Load() != 0 {
			t.Errorf("%+v; ran %d times", result, ran.Load())
		}
		checkComplete(t, store, "t")
	})

	store, ran := newSpy(), &atomic.Int32{}
	m := &scripted{streams: [][]any{{call("deploy", `{"to":"x"}`), call("echo", `{"text":"a"}`), stop}, {text("let me "), text("see"), stop}}}
	r := newRunner(t, runner.Options{Store: store, Model: m, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{gated(selvage.EffectOnce, ran), echoTool("echo", selvage.EffectNone)}})
	for e := range r.Stream(t.Context(), "t", runner.Text("hi")) {
		if e.Kind == runner.EventDelta && e.Text == "see" {
			decide(t, store, e.RunID, selvage.Decision{Action: selvage.DecisionAbort, Reason: "no", By: "bob"}, "")
		}
		if e.Result != nil && (e.Result.Outcome.Code != runner.CodeDenied || e.Result.Outcome.Detail != "denied by bob: no") {
			t.Errorf("%+v", e.Result)
		}
	}
	if text := transcript(load(t, store, "t").Messages); !strings.Contains(text, "tool: denied: no\n"+cancelNote) || ran.Load() != 0 {
		t.Errorf("thread:\n%s", text)
	}
	checkComplete(t, store, "t")
}
