package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// mixed is the first answer of a model one of whose calls waits and the other
// does not, so that the model is asked again while the first waits.
var mixed = []any{call("echo", `{"text":"a"}`), call("slow", `{"to":"x"}`), stop}

// slowly asks first, and then takes three seconds, of which it notes the end.
func slowly(ended *atomic.Int64, ran *atomic.Int32) tool.Tool {
	return tool.Func("slow", "", func(context.Context, deployIn) (string, error) {
		ran.Add(1)
		time.Sleep(3 * time.Second)
		ended.Store(time.Now().UnixNano())
		return "slowly done", nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.AskUnknown, Gate: func(context.Context, *tool.Call) error {
		return tool.Suspend(selvage.Ticket{Message: "May it?"})
	}})
}

// A decision that comes in the middle of an answer does not wait for its end:
// the call goes on beside it, and the model reads of it with its next request.
func TestDecidedWhileItAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		d      selvage.Decision
		result string
	}{
		"approved": {selvage.Decision{Action: selvage.DecisionResume}, "slowly done"},
		"denied":   {selvage.Decision{Action: selvage.DecisionCancel, Reason: "no"}, "denied: no"},
		"answered": {selvage.Decision{Action: selvage.DecisionResume, Result: []byte(`"by hand"`)}, "by hand"},
	}
	for name, tt := range tests {
		for _, mode := range []selvage.ToolCalls{selvage.ToolCallsSequential, selvage.ToolCallsParallel, selvage.ToolCallsBatch} {
			t.Run(fmt.Sprintf("%s/%s", name, mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store, ended, ran := newSpy(), &atomic.Int64{}, &atomic.Int32{}
					m := &recorder{Model: &scripted{streams: [][]any{mixed, {text("let "), 3 * time.Second, text("me "), time.Second, text("see"), time.Minute, text("."), stop}, {text("done"), stop}}}}
					r := newRunner(t, runner.Options{Store: store, Model: m, ToolCalls: mode, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone), slowly(ended, ran)}})
					began, settled := time.Now(), time.Duration(0)
					time.AfterFunc(2*time.Second, func() { decide(t, store, load(t, store, "t").OpenRun.ID, tt.d, "") })
					said := make(map[string]time.Duration)
					for e, err := range r.Stream(t.Context(), "t", runner.Text("hi")) {
						if err != nil {
							t.Fatal(err)
						}
						if e.Kind == runner.EventDelta {
							said[e.Text] = time.Since(began)
						}
						if e.Kind == selvage.EventMessage && e.Message != nil && e.Message.Role == selvage.RoleTool && e.Message.Text() == tt.result {
							settled = time.Since(began)
						}
						if e.Result != nil && e.Result.Text != "done" {
							t.Errorf("%+v", e.Result)
						}
					}
					if settled == 0 || settled > 7*time.Second || said["me "] != 3*time.Second || said["see"] != 4*time.Second {
						t.Errorf("the result is recorded after %s, and what it said meanwhile is told after %v", settled, said)
					}
					last := m.requests[len(m.requests)-1].Messages
					if got := transcript(last); len(m.requests) != 3 || !strings.Contains(got, "tool: "+tt.result+"\nassistant: let me see.\n(user): [The result of slow has arrived") {
						t.Errorf("of %d requests the last was\n%s", len(m.requests), got)
					}
					checkComplete(t, store, "t")
					verify(t, store, "t")
				})
			})
		}
	}
}

// Wherever the process dies around a call that goes on beside an answer, the
// call is carried out once, and the model is told of its result.
func TestDiesWhileDecided(t *testing.T) {
	t.Parallel()
	for n := 4; n <= 8; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, ended, ran := newSpy(), &atomic.Int64{}, &atomic.Int32{}
				first := &recorder{Model: &scripted{streams: [][]any{mixed, {text("let me "), 20 * time.Second, text("see"), stop}, {text("done"), stop}}}}
				opts := runner.Options{Store: store, Model: first, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone), slowly(ended, ran)}}
				time.AfterFunc(2*time.Second, func() { decide(t, store.Store, load(t, store, "t").OpenRun.ID, approve, "") })
				// The conflict with the decision is one more append.
				store.before = refuse(n, true, fmt.Errorf("dead: %w", selvage.ErrClosed))
				if _, err := newRunner(t, opts).Run(t.Context(), "t", runner.Text("hi")); err == nil {
					return // it needed fewer
				} else if !errors.Is(err, selvage.ErrClosed) {
					t.Fatal(err)
				}
				store.before = nil
				m := &recorder{Model: &scripted{streams: [][]any{{text("see"), stop}, {text("done"), stop}}}}
				opts.Model = m
				all, err := newRunner(t, opts).Recover(t.Context())
				if err != nil || len(all) != 1 || all[0].Err != nil {
					t.Fatalf("recovered %v, %v", all, err)
				}
				result := all[0].Result
				if result.Waiting != nil && result.Tickets[0].Ticket.Unknown { // it died after the effect
					decide(t, store, result.RunID, selvage.Decision{Action: selvage.DecisionResume, Result: []byte(`"slowly done"`)}, "")
					if result, err = newRunner(t, opts).Resume(t.Context(), result.RunID, runner.ResumeOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				told := false
				for _, request := range append(first.requests, m.requests...) {
					told = told || strings.Contains(transcript(request.Messages), "tool: slowly done")
				}
				if result.Outcome.Kind != selvage.OutcomeCompleted || n >= 7 && result.Steps != 3 || ran.Load() != 1 || !told {
					t.Errorf("%+v; ran %d times; told %v", result, ran.Load(), told)
				}
				checkComplete(t, store, "t")
				verify(t, store, "t")
			})
		})
	}
}

// An end that is asked for in the middle of an answer ends it at once, with a
// call that goes on beside it or without; what there is of it is kept and
// counted.
func TestEndedWhileItAnswers(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"denied": 0, "cancelled": 0, "cancelled beside a call": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, ended, ran := newSpy(), &atomic.Int64{}, &atomic.Int32{}
				r := newRunner(t, runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone), slowly(ended, ran)},
					Model: &scripted{streams: [][]any{mixed, {text("let me "), time.Hour, text("see"), stop}}}})
				time.AfterFunc(2*time.Second, func() {
					id := load(t, store, "t").OpenRun.ID
					d := approve
					if name == "denied" {
						d = selvage.Decision{Action: selvage.DecisionAbort, Reason: "no"}
					}
					if name != "cancelled" {
						decide(t, store, id, d, "")
					}
					time.Sleep(after)
					if name != "denied" {
						if _, err := runner.Cancel(t.Context(), store, id, "enough"); err != nil {
							t.Error(err)
						}
					}
				})
				began := time.Now()
				result, _ := r.Run(t.Context(), "t", runner.Text("hi"))
				if result.Outcome.Kind != selvage.OutcomeCancelled || time.Since(began) > 8*time.Second || result.Usage.OutputTokens == 0 {
					t.Errorf("%+v after %s", result, time.Since(began))
				}
				streams, _ := selvage.As[selvage.StreamCheckpoints](store)
				if kept, err := streams.Get(t.Context(), "t", result.RunID); err != nil || kept.Text != "let me " || kept.Usage.OutputTokens == 0 {
					t.Errorf("kept %+v, %v", kept, err)
				}
				checkComplete(t, store, "t")
				verify(t, store, "t")
			})
		})
	}
}
