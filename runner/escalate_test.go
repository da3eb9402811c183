package runner_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// A limit is put to people with a proposal: approved, the run goes on within the
// raised limit; denied, it is over. Either is decided once (rye A8).
func TestEscalatedLimit(t *testing.T) {
	t.Parallel()
	store := newSpy()
	opts := runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}, Limits: selvage.Limits{Turns: new(3)}}
	first := mustRun(t, newRunner(t, opts), "t", loopNine)
	w := first.Waiting
	if w == nil || w.Reason != selvage.WaitLimit || w.Escalation.Proposed != "6" || w.Escalation.Ticket == "" {
		t.Fatalf("it waits for %+v", w)
	}
	plainly := func() error {
		_, err := newRunner(t, opts).Resume(t.Context(), first.RunID, runner.ResumeOptions{})
		return err
	}
	var limit *runner.LimitError
	if err := plainly(); !errors.As(err, &limit) {
		t.Fatalf("undecided it goes on: %v", err)
	}
	for name, d := range map[string]selvage.Decision{
		"leave out":   {Action: selvage.DecisionCancel},
		"a result":    {Action: selvage.DecisionResume, Result: []byte(`1`)},
		"arguments":   {Action: selvage.DecisionResume, Arguments: []byte(`{}`)},
		"no decision": {Action: "raise"},
	} {
		if _, err := runner.Decide(t.Context(), store, first.RunID, d, ""); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	approve := func(id, target string) runner.Decided {
		t.Helper()
		got, err := runner.Decide(t.Context(), store, first.RunID, selvage.Decision{ID: id, Action: selvage.DecisionResume, By: id}, target)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := approve("ann", ""); got.Status != runner.Recorded || got.Ticket != w.Escalation.Ticket {
		t.Errorf("%+v", got)
	}
	again := func(when string) {
		t.Helper()
		if got := approve("ann", w.Escalation.Ticket); got.Status != runner.Repeated {
			t.Errorf("%s, again: %+v", when, got)
		}
		if got := approve("bob", w.Escalation.Ticket); got.Status != runner.AlreadyDecided || got.Decision.By != "ann" || !strings.Contains(got.String(), "already decided by ann") {
			t.Errorf("%s, by another: %+v", when, got)
		}
	}
	again("decided")
	recovered, err := newRunner(t, opts).Recover(t.Context())
	if err != nil || len(recovered) != 1 || recovered[0].Result.Waiting == nil || recovered[0].Result.Steps != 6 {
		t.Fatalf("recovered %v, %v", recovered, err)
	}
	next := recovered[0].Result.Waiting.Escalation
	if next.Proposed != "12" || next.Ticket == w.Escalation.Ticket {
		t.Errorf("then it is proposed: %+v", next)
	}
	again("at the next limit")
	if got := approve("ann", ""); got.Status != runner.Repeated || got.Ticket != w.Escalation.Ticket {
		t.Errorf("a decision that was made raised another limit: %+v", got)
	}
	if err := plainly(); !errors.As(err, &limit) {
		t.Errorf("undecided it goes on: %v", err)
	}
	if all, err := newRunner(t, opts).Recover(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("recovered %v, %v; it waits", all, err)
	}
	if got := approve("eve", next.Ticket); got.Status != runner.Recorded {
		t.Errorf("%+v", got)
	}
	last, err := newRunner(t, opts).Resume(t.Context(), first.RunID, runner.ResumeOptions{})
	if err != nil || last.Text != "Done." || last.Steps != 10 {
		t.Errorf("%+v, %v", last, err)
	}
	again("done")
	checkComplete(t, store, "t")
	verify(t, store, "t")
}

func TestDeniedLimit(t *testing.T) {
	t.Parallel()
	store := newSpy()
	opts := runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}, Limits: selvage.Limits{Spend: new(selvage.Money(10_000))}}
	first := mustRun(t, newRunner(t, opts), "t", loopNine)
	if w := first.Waiting; w == nil || w.Escalation.Proposed != "0.00002" && w.Escalation.Proposed != "0.000020" {
		t.Fatalf("it waits for %+v", w)
	}
	deny := selvage.Decision{ID: "d", Action: selvage.DecisionAbort, Reason: "enough"}
	for i, want := range []runner.DecidedStatus{runner.Recorded, runner.Repeated} {
		if got, err := runner.Decide(t.Context(), store, first.RunID, deny, ""); err != nil || got.Status != want || got.Run != selvage.RunDone {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
	}
	run, err := runner.FindRun(t.Context(), store, first.RunID)
	if err != nil || run.Outcome == nil || run.Outcome.Kind != selvage.OutcomeCancelled || run.Outcome.Code != runner.CodeDenied {
		t.Errorf("%+v, %v", run, err)
	}
	checkComplete(t, store, "t")
	verify(t, store, "t")
}

// A rule says by how much, or that nobody is asked.
func TestEscalationByRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]selvage.Amount{
		`[{name: r, event: limit, do: escalate, params: {factor: 5}}]`: "10",
		`[{name: r, event: limit, do: suspend}]`:                       "",
	} {
		opts := runner.Options{Store: newSpy(), Rules: parsed(t, text), Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}, Limits: selvage.Limits{Turns: new(2)}}
		result := mustRun(t, newRunner(t, opts), "t", loopNine)
		if result.Waiting == nil || result.Waiting.Escalation.Proposed != want {
			t.Errorf("%s: %+v", text, result.Waiting)
		}
	}
}

// A run that waits at a limit is left alone when a call of it is decided: it
// still exceeds the limit.
func TestRecoverAtALimit(t *testing.T) {
	t.Parallel()
	store := newSpy()
	opts := runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Limits: selvage.Limits{Turns: new(1)},
		Tools: []tool.Tool{gated(selvage.EffectOnce, new(atomic.Int32)), echoTool("echo", selvage.EffectNone)}}
	first := mustRun(t, newRunner(t, opts), "t", `call echo {"text":"a"} && deploy {"to":"prod"}`)
	if first.Waiting == nil || first.Waiting.LimitCode == "" || len(first.Tickets) != 1 {
		t.Fatalf("%+v", first)
	}
	decide(t, store, first.RunID, approve, first.Tickets[0].Ticket.ID)
	if all, err := newRunner(t, opts).Recover(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("recovered %v, %v", all, err)
	}
}

// A rule says by what a limit is to be raised, and how far at most. What would
// not let the run go on is not proposed.
func TestProposals(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]selvage.Amount{
		"{}":                            "6",
		"{factor: 5}":                   "15",
		"{amount: 4}":                   "7",
		`{amount: "0.50"}`:              "6", // no turns
		"{ceiling: 5}":                  "5",
		"{ceiling: 3}":                  "",
		"{factor: 5, ceiling: 9}":       "9",
		"{amount: 2, ceiling: 100}":     "5",
		`{amount: "${limit.current}"}`:  "6",
		`{ceiling: "${limit.nothing}"}`: "6",
		"{amount: 9223372036854775807}": "9223372036854775807",
	} {
		opts := runner.Options{Store: newSpy(), Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}, Limits: selvage.Limits{Turns: new(3)},
			Rules: parsed(t, "[{name: r, event: limit, do: escalate, params: "+params+"}]")}
		w := mustRun(t, newRunner(t, opts), "t", loopNine).Waiting
		if w == nil || w.Escalation.Proposed != want || (w.Escalation.Ticket == "") != (want == "") {
			t.Errorf("%s: it waits for %+v, want %q proposed", params, w, want)
		}
	}
}
