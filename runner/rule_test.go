package runner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// parsed reads rules or fails the test.
func parsed(t *testing.T, text string) []rules.Rule {
	t.Helper()
	list, err := rules.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRules(t *testing.T) {
	t.Parallel()
	a := `echo:{"text":"a"}`
	broken, passing := []any{failing(model.Permanent)}, []any{failing(model.Transient)}
	tests := []struct {
		name, rules string
		streams     [][]any
		limits      selvage.Limits
		kind        selvage.OutcomeKind
		code        string
		waits       selvage.WaitReason
	}{
		{name: "none", streams: turns(a, "end"), kind: selvage.OutcomeCompleted},
		{name: "at the start", rules: `[{name: r, event: run_started, do: abort, params: {code: closed}}]`, kind: selvage.OutcomeCancelled, code: "closed"},
		{name: "before a step", rules: `[{name: r, event: before_step, when: {path: run.steps, op: gte, value: 1}, do: skip}]`, streams: turns(a),
			kind: selvage.OutcomeCompleted, code: runner.CodeSkipped},
		{name: "after a step", rules: `[{name: r, event: after_step, when: {path: reply.calls, op: contains, value: echo}, do: fail}]`, streams: turns(a),
			kind: selvage.OutcomeFailed, code: runner.CodeRule},
		{name: "an error", rules: `[{name: r, event: error, when: {path: error.class, op: eq, value: permanent}, do: suspend, params: {reason: error}}]`,
			streams: [][]any{broken}, waits: selvage.WaitError},
		{name: "an error tried again", rules: `[{name: r, event: error, do: retry, params: {attempts: 3, wait: 1ms}}]`,
			streams: append([][]any{broken, broken}, turns("end")...), kind: selvage.OutcomeCompleted},
		{name: "an error gone on after", rules: `[{name: r, event: error, do: continue, params: {message: be shorter}}]`,
			streams: append([][]any{broken}, turns("end")...), kind: selvage.OutcomeCompleted},
		{name: "an error that would pass", rules: `[{name: r, event: error, when: {path: error.again, op: eq, value: true}, do: suspend, params: {reason: error}}]`,
			streams: [][]any{passing}, waits: selvage.WaitError},
		{name: "an error that would pass, given up", rules: `[{name: r, event: error, do: fail, params: {code: "${error.class}_${error.attempt}"}}]`,
			streams: [][]any{passing}, kind: selvage.OutcomeFailed, code: "transient_1"},
		{name: "an error on the second attempt", rules: `[{name: r, event: error, when: {path: error.attempt, op: gte, value: 2}, do: abort, params: {code: twice}}]`,
			streams: [][]any{passing, passing}, kind: selvage.OutcomeCancelled, code: "twice"},
		{name: "an error tried less often", rules: `[{name: r, event: error, do: retry, params: {attempts: 2, wait: 1ms}}]`,
			streams: [][]any{passing, passing}, kind: selvage.OutcomeFailed, code: "transient"},
		{name: "an error without a rule", rules: `[{name: r, event: error, when: {path: error.class, op: eq, value: quota}, do: suspend}]`,
			streams: append([][]any{passing, passing, passing}, turns("end")...), kind: selvage.OutcomeCompleted},
		{name: "another error", rules: `[{name: r, event: error, when: {path: error.class, op: eq, value: quota}, do: suspend}]`,
			streams: [][]any{broken}, kind: selvage.OutcomeFailed, code: "permanent"},
		{name: "a limit", rules: `[{name: r, event: limit, do: fail, params: {code: "${limit.code}"}}]`, limits: selvage.Limits{Turns: new(1)}, streams: turns(a),
			kind: selvage.OutcomeFailed, code: "turns_exceeded"},
		{name: "a limit without a rule", rules: `[{name: r, event: limit, when: {path: limit.code, op: eq, value: x}, do: fail}]`, limits: selvage.Limits{Turns: new(1)},
			streams: turns(a), waits: selvage.WaitLimit},
		{name: "the end", rules: `[{name: r, event: completed, when: {not: {path: reply.text, op: regex, value: DONE}}, do: fail, params: {code: unfinished}}]`,
			streams: turns("end"), kind: selvage.OutcomeFailed, code: "unfinished"},
		{name: "told only", rules: `[{name: r, layer: 3, event: before_step, params: {message: "step ${run.steps}"}}]`, streams: turns(a, "end"), kind: selvage.OutcomeCompleted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			r := newRunner(t, runner.Options{Store: store, Model: &scripted{streams: tt.streams}, Rules: parsed(t, tt.rules), Limits: tt.limits,
				Retry: runner.Retry{Initial: time.Millisecond}, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}})
			result, err := r.Run(t.Context(), "t", runner.Text("go"))
			var failed *runner.FailedError
			if err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			if o := result.Outcome; o.Kind != tt.kind || o.Code != tt.code {
				t.Errorf("outcome %+v, want %s/%s", o, tt.kind, tt.code)
			}
			if w := result.Waiting; (w != nil) != (tt.waits != "") || w != nil && w.Reason != tt.waits {
				t.Errorf("waits for %+v, want %s", w, tt.waits)
			}
			verify(t, store, "t")
		})
	}
}

// A run that a rule suspended waits until somebody has it go on, and then does
// what it was about to.
func TestSuspendedByARule(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"before a step": `[{name: r, event: before_step, do: suspend, params: {message: "${run.id} is to be looked at"}}]`,
		"an error":      `[{name: r, event: error, do: suspend, params: {reason: error}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			streams := turns("end")
			if name == "an error" {
				streams = append([][]any{{failing(model.Permanent)}}, streams...)
			}
			m := &scripted{streams: streams}
			opts := runner.Options{Store: store, Model: m, Rules: parsed(t, text)}
			result := mustRun(t, newRunner(t, opts), "t", "go")
			if result.Waiting == nil {
				t.Fatalf("it does not wait: %+v", result)
			}
			if all, err := newRunner(t, opts).Recover(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("recovered %v, %v; it waits", all, err)
			}
			again, err := newRunner(t, opts).Resume(t.Context(), result.RunID, runner.ResumeOptions{})
			if err != nil || again.Text != "end" || again.RunID != result.RunID {
				t.Errorf("resumed: %+v, %v", again, err)
			}
			verify(t, store, "t")
		})
	}
}

// Rules of layer 3 are told of every failed request, whatever is done about it.
func TestToldOfEveryError(t *testing.T) {
	t.Parallel()
	passing := []any{failing(model.Transient)}
	r := newRunner(t, runner.Options{Store: newSpy(), Model: &scripted{streams: append([][]any{passing, passing}, turns("end")...)}, Retry: runner.Retry{Initial: time.Millisecond},
		Rules: parsed(t, `[{name: r, layer: 3, event: error, params: {message: "${error.attempt}"}}]`)})
	var told []string
	for e, err := range r.Stream(t.Context(), "t", runner.Text("go")) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == runner.EventRule {
			told = append(told, e.Note)
		}
	}
	if got := strings.Join(told, ", "); got != "r: 1, r: 2" {
		t.Errorf("told %s", got)
	}
}
