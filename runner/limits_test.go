package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// slowEcho repeats a text after ten seconds.
var slowEcho = tool.Func("echo", "", func(_ context.Context, in echoIn) (string, error) {
	time.Sleep(10 * time.Second)
	return in.Text, nil
}, tool.Options{Effect: selvage.EffectNone})

const loopNine = `loop 9 echo {"text":"a"}`

// A limit trips when as much as it is used, between two turns; zero allows
// nothing and nil everything (rye 43, 44, 46). The run waits and says for what.
// One of which nothing is kept is stopped.
func TestLimits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		opts  runner.Options
		want  selvage.Waiting // without the message
		stop  string          // the code where nothing is kept
		steps int
	}{
		"turns":            {runner.Options{MaxTurns: 2}, selvage.Waiting{LimitCode: "turns_exceeded", Current: "2", Max: "2"}, "max_turns", 2},
		"turns as a limit": {runner.Options{MaxTurns: 2, Limits: selvage.Limits{Turns: new(3)}}, selvage.Waiting{LimitCode: "turns_exceeded", Current: "3", Max: "3"}, "max_turns", 3},
		"no turns":         {runner.Options{Limits: selvage.Limits{Turns: new(0)}}, selvage.Waiting{LimitCode: "turns_exceeded", Current: "0", Max: "0"}, "max_turns", 0},
		"any turns":        {runner.Options{MaxTurns: -1}, selvage.Waiting{}, "", 10},
		"tokens":           {runner.Options{Limits: selvage.Limits{Tokens: new(int64(5))}}, selvage.Waiting{LimitCode: "tokens_exceeded", Current: "9", Max: "5"}, "max_tokens", 2}, // 4 words, then 5 more
		"no tokens":        {runner.Options{Limits: selvage.Limits{Tokens: new(int64(0))}}, selvage.Waiting{LimitCode: "tokens_exceeded", Current: "0", Max: "0"}, "max_tokens", 0},
		"spend":            {runner.Options{Limits: selvage.Limits{Spend: new(selvage.Dollar * 4 / 1_000_000)}}, selvage.Waiting{LimitCode: "spend_exceeded", Current: "0.000004", Max: "0.000004"}, "max_spend", 1},
		"duration":         {runner.Options{Limits: selvage.Limits{Duration: new(25 * time.Second)}}, selvage.Waiting{LimitCode: "duration_exceeded", Current: "30s", Max: "25s"}, "max_duration", 3},
		"the first of all": {runner.Options{Limits: selvage.Limits{Turns: new(1), Tokens: new(int64(1)), Spend: new(selvage.Money(1)), Duration: new(time.Second)}},
			selvage.Waiting{LimitCode: "turns_exceeded", Current: "1", Max: "1"}, "max_turns", 1},
		"enough of all": {runner.Options{Limits: selvage.Limits{Tokens: new(int64(1e6)), Spend: new(selvage.Dollar), Duration: new(time.Hour)}}, selvage.Waiting{}, "", 10},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newSpy()
				tt.opts.Store, tt.opts.Tools = store, []tool.Tool{slowEcho}
				r := newRunner(t, tt.opts)
				result := mustRun(t, r, "t", loopNine)
				if result.Steps != tt.steps {
					t.Errorf("%d steps, want %d", result.Steps, tt.steps)
				}
				if tt.stop == "" {
					if result.Waiting != nil || result.Outcome.Kind != selvage.OutcomeCompleted {
						t.Errorf("%+v", result)
					}
				} else {
					checkWaits(t, store, &result, tt.want)
				}
				asked, err := r.Ask(t.Context(), runner.Text(loopNine))
				if err != nil || asked.Waiting != nil || asked.Outcome.Code != tt.stop || asked.Steps != tt.steps || tt.stop != "" && asked.Outcome.Kind != selvage.OutcomeStopped {
					t.Errorf("asked: %+v, %v", asked, err)
				}
			})
		})
	}
}

// checkWaits holds that a run waits for a limit to be raised, and that what is
// recorded of it says the same as the result.
func checkWaits(t *testing.T, store *spy, result *runner.Result, want selvage.Waiting) {
	t.Helper()
	if result.Waiting == nil || result.Outcome != (selvage.Outcome{}) || result.Text != "" {
		t.Fatalf("it does not wait: %+v", result)
	}
	got := *result.Waiting
	if got.Message == "" {
		t.Error("it does not say why")
	}
	got.Message, want.Reason = "", selvage.WaitLimit
	if got.Reason != want.Reason || got.LimitCode != want.LimitCode || got.Current != want.Current || got.Max != want.Max {
		t.Errorf("it waits for %+v, want %+v", got, want)
	}
	head := load(t, store, result.ThreadID)
	run := head.OpenRun
	switch {
	case run == nil || run.Status != selvage.RunWaiting:
		t.Fatalf("recorded %+v", run)
	case run.Waiting.LimitCode != want.LimitCode || run.Waiting.Current != want.Current || run.Waiting.Max != want.Max:
		t.Errorf("recorded %+v, want %+v", run.Waiting, want)
	case run.Usage != result.Usage || run.Cost != result.Cost || run.Steps != result.Steps || head.Thread.Version != result.Version:
		t.Errorf("recorded %+v at %d, told %+v", run, head.Thread.Version, result)
	}
	if head.Lease != nil {
		t.Errorf("a run that waits holds its thread: %+v", head.Lease)
	}
	changes := store.appended()
	if last := changes[len(changes)-1].set; last.Reason != selvage.ReasonToolResults && result.Steps > 0 {
		t.Errorf("it was suspended by a change of reason %s", last.Reason)
	}
}

// A run that is complete with the turn in which it reaches a limit is complete.
func TestLimitReachedByTheLastTurn(t *testing.T) {
	t.Parallel()
	opts := runner.Options{Store: newSpy(), Limits: selvage.Limits{Turns: new(1), Tokens: new(int64(1)), Spend: new(selvage.Money(1))}}
	if result := mustRun(t, newRunner(t, opts), "t", "hi"); result.Outcome.Kind != selvage.OutcomeCompleted || result.Text != "You said: hi" {
		t.Errorf("%+v", result)
	}
}

// Rules end a run, limits make it wait; of the two the rule is asked first.
func TestStopRulesGoBeforeLimits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rules selvage.StopRules
		code  string
		steps int
	}{
		"turns":   {selvage.StopRules{Turns: new(2)}, runner.CodeMaxTurns, 2},
		"tokens":  {selvage.StopRules{Tokens: new(int64(5))}, runner.CodeTokenBudget, 2},
		"timeout": {selvage.StopRules{Timeout: new(25 * time.Second)}, runner.CodeTimeout, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newSpy()
				opts := runner.Options{Store: store, Stop: tt.rules, Tools: []tool.Tool{slowEcho}, Limits: selvage.Limits{Turns: new(tt.steps)}}
				if name == "timeout" {
					opts.Limits = selvage.Limits{}
				}
				result := mustRun(t, newRunner(t, opts), "t", loopNine)
				if result.Outcome.Kind != selvage.OutcomeStopped || result.Outcome.Code != tt.code || result.Steps != tt.steps {
					t.Errorf("%+v", result)
				}
				checkChain(t, store, "t")
			})
		})
	}
}
