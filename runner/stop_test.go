package runner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// turns makes streams: each text is an answer, and one that begins with a tool
// of "echo:" and its argument a call.
func turns(texts ...string) [][]any {
	var streams [][]any
	for _, s := range texts {
		switch {
		case len(s) > 5 && s[:5] == "echo:":
			streams = append(streams, []any{call("echo", s[5:]), stop})
		case len(s) > 5 && s[:5] == "fail:":
			streams = append(streams, []any{call("nothing", s[5:]), stop})
		default:
			streams = append(streams, []any{text(s), stop})
		}
	}
	return streams
}

func TestStopRules(t *testing.T) {
	t.Parallel()
	one, two := 1, 2
	five := int64(5)
	loop := func(n int) selvage.StopRules { return selvage.StopRules{Loop: n} }
	a, b, c := `echo:{"text":"a"}`, `echo:{"text":"b"}`, `echo:{"text":"c"}`
	tests := []struct {
		name    string
		rules   selvage.StopRules
		streams [][]any
		code    string // "" if the run completes
		steps   int
	}{
		{"turns", selvage.StopRules{Turns: &two}, turns(a, b, c, "end"), runner.CodeMaxTurns, 2},
		{"turns, and the answer is the last", selvage.StopRules{Turns: &two}, turns(a, "end"), "", 2},
		{"tokens", selvage.StopRules{Tokens: &five}, [][]any{{call("echo", "{}"), tokens(5), stop}}, runner.CodeTokenBudget, 1},
		{"fewer tokens", selvage.StopRules{Tokens: &five}, [][]any{{call("echo", `{"text":""}`), tokens(4), stop}, {text("end"), stop}}, "", 2},
		{"errors", selvage.StopRules{Errors: &two}, turns("fail:{}", "fail:{}", "end"), runner.CodeConsecutiveErrors, 2},
		{"errors with a success between", selvage.StopRules{Errors: &two}, turns("fail:{}", a, "fail:{}", "end"), "", 4},
		{"one error", selvage.StopRules{Errors: &one}, turns("fail:{}", "end"), runner.CodeConsecutiveErrors, 1},
		{"a tool", selvage.StopRules{Tools: []string{"x", "echo"}}, turns(a, "end"), runner.CodeToolCalled, 1},
		{"another tool", selvage.StopRules{Tools: []string{"x"}}, turns(a, "end"), "", 2},
		{"a text", selvage.StopRules{Contents: []string{"no", "(?i)^the end"}}, turns(a, "The end."), runner.CodeContentMatched, 2},
		{"another text", selvage.StopRules{Contents: []string{"no"}}, turns(a, "The end."), "", 2},
		{"a loop", loop(2), turns(a, a, "end"), runner.CodeLoopDetected, 2},
		{"a loop with a turn between", loop(2), turns(a, b, a, "end"), "", 4},
		{"a wider loop", loop(3), turns(a, b, a, "end"), runner.CodeLoopDetected, 3},
		{"a loop too far apart", loop(3), turns(a, b, c, a, "end"), "", 5},
		{"the same in another order", loop(2), [][]any{{call("echo", `{"text":"a","n":1}`), call("x", "{}"), stop},
			{call("x", "{}"), call("echo", `{ "n": 1, "text": "a" }`), stop}}, runner.CodeLoopDetected, 2},
		{"the first rule wins", selvage.StopRules{Turns: &one, Tools: []string{"echo"}}, turns(a), runner.CodeMaxTurns, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			r := newRunner(t, runner.Options{Store: store, Model: &scripted{streams: tt.streams}, Stop: tt.rules, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}})
			result := mustRun(t, r, "t", "go")
			if o := result.Outcome; o.Code != tt.code || (o.Kind == selvage.OutcomeStopped) != (tt.code != "") || (o.Detail == "") != (tt.code == "") || result.Steps != tt.steps {
				t.Errorf("outcome %+v after %d steps; want %q after %d", o, result.Steps, tt.code, tt.steps)
			}
			checkComplete(t, store, "t") // the calls of the last turn ran
			checkChain(t, store, "t")
		})
	}
}

func TestStopRulesRefused(t *testing.T) {
	t.Parallel()
	none, negative := 0, -time.Second
	for name, rules := range map[string]selvage.StopRules{
		"no turns": {Turns: &none}, "no time": {Timeout: &negative}, "no errors": {Errors: &none}, "a loop of one": {Loop: 1}, "no expression": {Contents: []string{"("}},
		"an empty expression": {Contents: []string{""}},
	} {
		if _, err := runner.New(runner.Options{Model: newModel(t), Stop: rules}); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("%s: New = %v, want it invalid", name, err)
		}
	}
}

// What the rules count they count from the log, so that a run whose process
// died stops where it would have stopped.
func TestStopRulesSurvive(t *testing.T) {
	t.Parallel()
	two := 2
	a, b := `echo:{"text":"a"}`, `echo:{"text":"b"}`
	tests := []struct {
		name   string
		rules  selvage.StopRules
		before [][]any
		dies   int // at the append
		after  [][]any
		code   string
		steps  int
	}{
		{"a loop", selvage.StopRules{Loop: 3}, turns(a, b), 5, turns(a, "end"), runner.CodeLoopDetected, 3},
		{"errors", selvage.StopRules{Errors: &two}, turns("fail:{}", "fail:{}"), 4, turns("fail:{}", "end"), runner.CodeConsecutiveErrors, 2},
		{"errors, all of them recorded", selvage.StopRules{Errors: &two}, turns("fail:{}", "fail:{}"), 6, nil, runner.CodeConsecutiveErrors, 2},
		{"a tool that ran", selvage.StopRules{Tools: []string{"echo"}}, turns(a), 4, nil, runner.CodeToolCalled, 1},
		{"a tool that did not run yet", selvage.StopRules{Tools: []string{"echo"}}, turns(a), 3, nil, runner.CodeToolCalled, 1},
		{"a text", selvage.StopRules{Contents: []string{"end"}}, turns("the end"), 3, nil, runner.CodeContentMatched, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, tools := newSpy(), []tool.Tool{echoTool("echo", selvage.EffectNone)}
			die(t, store, runner.Options{Model: &scripted{streams: tt.before}, Stop: tt.rules, Tools: tools}, "go", tt.dies)
			// The rules are those that the run recorded, not those given here.
			r := newRunner(t, runner.Options{Store: store, Model: &scripted{streams: tt.after}, Tools: tools})
			all, err := r.Recover(t.Context())
			if err != nil || len(all) != 1 || all[0].Err != nil {
				t.Fatalf("recovered %+v, %v", all, err)
			}
			if result := all[0].Result; result.Outcome.Code != tt.code || result.Steps != tt.steps {
				t.Errorf("outcome %+v after %d steps; want %s after %d", result.Outcome, result.Steps, tt.code, tt.steps)
			}
			checkComplete(t, store, "t")
		})
	}
}
