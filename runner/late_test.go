package runner_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// A call that was denied before it asked ends its run when it asks, as one
// that is denied then does.
func TestEarlyAbort(t *testing.T) {
	t.Parallel()
	store := newSpy()
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{holding(func(c *tool.Call) error {
		_, err := runner.Decide(context.Background(), store, c.RunID, selvage.Decision{Action: selvage.DecisionAbort, Reason: "no"}, "early")
		return err
	})}})
	result, err := r.Run(t.Context(), "t", runner.Text(`call hold {}`))
	if result.Outcome.Kind != selvage.OutcomeCancelled || result.Outcome.Code != runner.CodeDenied || err == nil {
		t.Errorf("%+v, %v", result, err)
	}
	checkComplete(t, store, "t")
}

// holding asks under a ticket that can be named beforehand.
func holding(before func(*tool.Call) error) tool.Tool {
	return tool.Func("hold", "Asks.", func(context.Context, struct{}) (string, error) { return "held", nil },
		tool.Options{Effect: selvage.EffectNone, Gate: func(_ context.Context, c *tool.Call) error {
			if err := before(c); err != nil {
				return err
			}
			return tool.Suspend(selvage.Ticket{ID: "early", Message: "may it?"})
		}})
}

// A request to cancel that a checkpoint takes in ends the call that begins
// after it.
func TestCancelTakenInByACheckpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		asked := false
		store.before = func(_ int, set *selvage.ChangeSet) error {
			if set.Reason != selvage.ReasonAssistantTurn || asked {
				return nil
			}
			asked = true
			_, err := runner.Cancel(context.Background(), store.Store, set.RunID, "enough")
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{waiting("wait", selvage.EffectNone)}})
		result, err := r.Run(ctx, "t", runner.Text(`call wait {}`))
		if took := time.Since(began); took > 5*time.Second || result.Outcome.Kind != selvage.OutcomeCancelled || err == nil || !strings.Contains(err.Error(), "enough") {
			t.Errorf("after %s: %+v, %v", took, result, err)
		}
	})
}

// Arguments that were decided hold for the call until it is over, whatever it
// waits for besides.
func TestDecidedArgumentsStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		opts := runner.Options{Store: store, Tools: []tool.Tool{tool.Func("deploy", "Deploys.", func(ctx context.Context, in deployIn) (string, error) {
			if err := runner.Sleep(ctx, "rest", time.Hour); err != nil {
				return "", err
			}
			return "deployed to " + in.To, nil
		}, tool.Options{Effect: selvage.EffectNone, Gate: func(context.Context, *tool.Call) error { return tool.Suspend(selvage.Ticket{}) }})}}
		waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"prod"}`)
		decide(t, store, waits.RunID, selvage.Decision{Action: selvage.DecisionResume, Arguments: json.RawMessage(`{"to":"test"}`)}, "")
		if result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{}); err != nil || result.Waiting == nil {
			t.Fatalf("%+v, %v", result, err)
		}
		time.Sleep(2 * time.Hour)
		result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
		if err != nil || result.Text != "Done: deployed to test" {
			t.Errorf("%+v, %v", result, err)
		}
		checkComplete(t, store, "t")
	})
}

// A decision that comes again when its call is over already changes nothing and
// is told so, also while the run goes on.
func TestDecidedAgainInAnOpenRun(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{gated(selvage.EffectNone, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"a"} && deploy {"to":"b"}`)
	if len(waits.Tickets) != 2 {
		t.Fatalf("%+v", waits.Tickets)
	}
	first := waits.Tickets[0].Ticket.ID
	decide(t, store, waits.RunID, approve, first)
	if again, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{}); err != nil || again.Waiting == nil || ran.Load() != 1 {
		t.Fatalf("%+v, %v, ran %d", again, err, ran.Load())
	}
	version := load(t, store, "t").Thread.Version
	got, err := runner.Decide(t.Context(), store, waits.RunID, approve, first)
	if err != nil || got.Status != runner.Repeated {
		t.Errorf("again: %+v, %v", got, err)
	}
	got, err = runner.Decide(t.Context(), store, waits.RunID, selvage.Decision{Action: selvage.DecisionAbort}, first)
	if err != nil || got.Status != runner.AlreadyDecided || got.Decision.By != "ada" {
		t.Errorf("otherwise: %+v, %v", got, err)
	}
	if now := load(t, store, "t").Thread.Version; now != version {
		t.Errorf("it made versions up to %d from %d", now, version)
	}
}

// Of what has come for a call by itself and a decision that is recorded at the
// same moment one counts: the decision, if that was recorded first.
func TestDecisionBeatsTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, ran := newSpy(), &atomic.Int32{}
		until := time.Now().Add(time.Hour)
		opts := runner.Options{Store: store, Tools: []tool.Tool{tool.Func("deploy", "Deploys.", func(context.Context, deployIn) (string, error) {
			ran.Add(1)
			return "deployed", nil
		}, tool.Options{Effect: selvage.EffectNone, Gate: func(context.Context, *tool.Call) error {
			return tool.Suspend(selvage.Ticket{Until: &until})
		}})}}
		waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"prod"}`)
		time.Sleep(2 * time.Hour)
		store.before = func(_ int, set *selvage.ChangeSet) error {
			if len(set.Calls) == 0 || set.Calls[0].Status != selvage.CallResuming {
				return nil
			}
			store.before = nil
			got, err := runner.Decide(context.Background(), store.Store, waits.RunID, selvage.Decision{Action: selvage.DecisionCancel, Reason: "too late"}, "")
			if err != nil || got.Status != runner.Recorded {
				t.Errorf("%+v, %v", got, err)
			}
			return nil
		}
		result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
		if err != nil || result.Text != "Done: denied: too late" || ran.Load() != 0 {
			t.Errorf("%+v, %v; it ran %d times", result, err, ran.Load())
		}
		checkComplete(t, store, "t")
		verify(t, store, "t")
	})
}

// A signal that was taken for a call which somebody decided on meanwhile is
// left for the next that waits for it.
func TestDecisionLeavesTheSignal(t *testing.T) {
	t.Parallel()
	store := newSpy()
	opts := runner.Options{Store: store, Tools: []tool.Tool{tool.Func("hear", "Hears.", func(context.Context, struct{}) (string, error) { return "heard", nil },
		tool.Options{Effect: selvage.EffectNone, Gate: func(context.Context, *tool.Call) error {
			return tool.Suspend(selvage.Ticket{Signal: "go", Mode: selvage.ResumeResult})
		}})}}
	waits := suspended(t, newRunner(t, opts), "t", `call hear {} && hear {}`)
	if err := runner.Signal(t.Context(), store, waits.RunID, "go", json.RawMessage(`"said"`)); err != nil {
		t.Fatal(err)
	}
	store.before = func(_ int, set *selvage.ChangeSet) error {
		if len(set.Calls) == 0 || set.Calls[0].Status != selvage.CallResuming {
			return nil
		}
		store.before = nil
		_, err := runner.Decide(context.Background(), store.Store, waits.RunID, selvage.Decision{Action: selvage.DecisionCancel, Reason: "no"}, set.Calls[0].CallID)
		return err
	}
	result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	if err != nil || result.Text != "Done: denied: no; said" {
		t.Errorf("%+v, %v", result, err)
	}
	checkComplete(t, store, "t")
}
