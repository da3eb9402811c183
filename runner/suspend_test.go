package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

type deployIn struct {
	To string `json:"to"`
}

// gated is a tool that wants every call to be approved, and counts how often it
// runs.
func gated(effect selvage.Effect, ran *atomic.Int32) tool.Tool {
	opts := tool.Options{Effect: effect, Gate: func(_ context.Context, c *tool.Call) error {
		return tool.Suspend(selvage.Ticket{Reason: selvage.WaitApproval, Message: "May it deploy?", Details: c.Arguments})
	}}
	if effect == selvage.EffectOnce {
		opts.OnUnknown = tool.AskUnknown
	}
	return tool.Func("deploy", "Deploys.", func(_ context.Context, in deployIn) (string, error) {
		ran.Add(1)
		return "deployed to " + in.To, nil
	}, opts)
}

// suspended runs until the run waits, and returns it.
func suspended(t testing.TB, r *runner.Runner, thread selvage.ThreadID, say string) runner.Result {
	t.Helper()
	result, err := r.Run(t.Context(), thread, runner.Text(say))
	if err != nil || result.Waiting == nil {
		t.Fatalf("run %q: %+v, %v: it does not wait", say, result, err)
	}
	return result
}

// decide records a decision and fails the test if it is not recorded.
func decide(t testing.TB, s selvage.Store, run selvage.RunID, d selvage.Decision, target string) {
	t.Helper()
	if got, err := runner.Decide(t.Context(), s, run, d, target); err != nil || got.Status != runner.Recorded {
		t.Fatalf("decide %s on %q: %+v, %v", d.Action, target, got, err)
	}
}

var approve = selvage.Decision{ID: "yes", Action: selvage.DecisionResume, By: "ada"}

// A run suspends, is approved, and the same run goes on in another runner to
// its end; each step is in the log with its reason.
func TestApproval(t *testing.T) {
	t.Parallel()
	for _, effect := range []selvage.Effect{selvage.EffectNone, selvage.EffectIdempotent, selvage.EffectOnce} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			store, ran := newSpy(), &atomic.Int32{}
			opts := runner.Options{Store: store, Tools: []tool.Tool{gated(effect, ran)}}
			waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"prod"}`)
			if w := waits.Waiting; w.Reason != selvage.WaitApproval || w.Message != "May it deploy?" || len(w.Tickets) != 1 || len(waits.Tickets) != 1 {
				t.Fatalf("it waits for %+v, %+v", w, waits.Tickets)
			}
			q := waits.Tickets[0]
			if q.Call.Name != "deploy" || q.Ticket.ID != waits.Waiting.Tickets[0] || string(q.Ticket.Details) != `{"to":"prod"}` {
				t.Errorf("question %+v", q)
			}
			if again, err := runner.Questions(t.Context(), store, waits.RunID); err != nil || cmp.Diff(waits.Tickets, again) != "" {
				t.Errorf("questions %+v, %v", again, err)
			}
			head := load(t, store, "t")
			if head.OpenRun.Status != selvage.RunWaiting || head.Lease != nil || ran.Load() != 0 {
				t.Errorf("run %+v, lease %v, ran %d times", head.OpenRun, head.Lease, ran.Load())
			}
			again, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
			if err != nil || again.Waiting == nil || again.Version != waits.Version || cmp.Diff(waits.Tickets, again.Tickets) != "" {
				t.Errorf("resumed undecided: %+v, %v", again, err)
			}
			if n := load(t, store, "t").Thread.Version; n != waits.Version {
				t.Errorf("waiting on made version %d", n)
			}
			decide(t, store, waits.RunID, approve, "")
			result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
			if err != nil || result.RunID != waits.RunID || result.Text != "Done: deployed to prod" || ran.Load() != 1 || result.Steps != 2 {
				t.Errorf("resumed: %+v, %v; ran %d times", result, err, ran.Load())
			}
			want := "user_message: user, run running\nassistant_turn_committed: assistant+calls, run running\n" +
				"tool_results_committed: run waiting, call suspended\ndecision: call resuming\ndecision: run running\n"
			if effect == selvage.EffectOnce {
				want += "tool_results_committed: call started\n"
			}
			want += "tool_results_committed: tool, call succeeded\nassistant_turn_committed: assistant, run running\nrun_finished: run completed/\n"
			if diff := cmp.Diff(want, store.schedule()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			checkComplete(t, store, "t")
			verify(t, store, "t")

			second, err := runner.Decide(t.Context(), store, waits.RunID, approve, "")
			if err != nil || second.Status != runner.Repeated || second.Ticket != q.Ticket.ID || second.Run != selvage.RunDone {
				t.Errorf("approved again: %+v, %v", second, err)
			}
			other, err := runner.Decide(t.Context(), store, waits.RunID, selvage.Decision{Action: selvage.DecisionAbort}, q.Ticket.ID)
			if err != nil || other.Status != runner.AlreadyDecided || other.Decision.By != "ada" {
				t.Errorf("denied afterwards: %+v, %v", other, err)
			}
			var done *runner.DoneError
			if _, err := runner.Decide(t.Context(), store, waits.RunID, approve, "nothing"); err != nil {
				t.Errorf("the same decision under another name: %v", err)
			}
			if _, err := runner.Decide(t.Context(), store, waits.RunID, selvage.Decision{Action: selvage.DecisionResume}, "nothing"); !errors.As(err, &done) {
				t.Errorf("a decision nobody asked for: %v", err)
			}
			replay, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
			if !errors.As(err, &done) || !strings.HasSuffix(err.Error(), fmt.Sprintf("run %s is done: completed", waits.RunID)) || !replay.Replayed || replay.Text != result.Text || ran.Load() != 1 {
				t.Errorf("resumed when done: %+v, %v", replay, err)
			}
		})
	}
}

// What a decision says becomes of the call.
func TestDecisions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		d      selvage.Decision
		ran    int32
		result string
		status selvage.CallStatus
	}{
		"run it":              {selvage.Decision{Action: selvage.DecisionResume}, 1, "deployed to prod", selvage.CallSucceeded},
		"with other words":    {selvage.Decision{Action: selvage.DecisionResume, Arguments: json.RawMessage(`{"to":"test"}`)}, 1, "deployed to test", selvage.CallSucceeded},
		"this is what it did": {selvage.Decision{Action: selvage.DecisionResume, Result: json.RawMessage(`"by hand"`)}, 0, "by hand", selvage.CallSucceeded},
		"this, as data":       {selvage.Decision{Action: selvage.DecisionResume, Result: json.RawMessage(`{"ok":true}`)}, 0, `{"ok":true}`, selvage.CallSucceeded},
		"not that":            {selvage.Decision{Action: selvage.DecisionCancel, Reason: "too early"}, 0, "denied: too early", selvage.CallCancelled},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, ran := newSpy(), &atomic.Int32{}
			opts := runner.Options{Store: store, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}}
			waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"prod"}`)
			decide(t, store, waits.RunID, tt.d, waits.Tickets[0].Call.ID)
			result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
			if err != nil || result.Text != "Done: "+tt.result || ran.Load() != tt.ran {
				t.Errorf("resumed: %+v, %v; ran %d times", result, err, ran.Load())
			}
			var last selvage.CallStatus
			for _, a := range store.appended() {
				for _, u := range a.set.Calls {
					last = u.Status
				}
			}
			if last != tt.status {
				t.Errorf("the call %s, want %s", last, tt.status)
			}
			for _, m := range load(t, store, "t").Messages {
				if used := string(m.Metadata[runner.MetadataArguments]); m.Role == selvage.RoleTool && used != string(tt.d.Arguments) {
					t.Errorf("the result says that the call was run with %q", used)
				}
			}
			checkComplete(t, store, "t")
		})
	}
}

// An abort ends a run that waits at once, in a process that has neither its
// model nor its tools.
func TestDeny(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	r := newRunner(t, runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}})
	waits := suspended(t, r, "t", `call deploy {"to":"a"} && deploy {"to":"b"}`)
	deny := selvage.Decision{ID: "no", Action: selvage.DecisionAbort, Reason: "not today", By: "bob"}
	decide(t, store, waits.RunID, deny, waits.Tickets[1].Ticket.ID)
	run, err := runner.FindRun(t.Context(), store, waits.RunID)
	want := selvage.Outcome{Kind: selvage.OutcomeCancelled, Code: runner.CodeDenied, Detail: "denied by bob: not today"}
	if err != nil || run.Status != selvage.RunDone || *run.Outcome != want {
		t.Errorf("run %+v, %v", run, err)
	}
	const text = "tool: denied: not today\ntool: denied: not today\n(system): [The run was cancelled here, before it was complete.]\n"
	if got := transcript(load(t, store, "t").Messages); !strings.HasSuffix(got, text) || ran.Load() != 0 {
		t.Errorf("thread:\n%sran %d times", got, ran.Load())
	}
	last := store.appended()[len(store.appended())-1].set
	if got, want := describe(&last), "decision: tool, tool, internal system, run cancelled/denied, call cancelled, call cancelled"; got != want {
		t.Errorf("it ends with\n%s, want\n%s", got, want)
	}
	if again, err := runner.Decide(t.Context(), store, waits.RunID, deny, waits.Tickets[1].Ticket.ID); err != nil || again.Status != runner.Repeated {
		t.Errorf("denied again: %+v, %v", again, err)
	}
	checkComplete(t, store, "t")
	verify(t, store, "t")
}
