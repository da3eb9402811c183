package runner_test

import (
	"testing"
	"testing/synctest"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
)

var atLimit = model.Chunk{Finish: model.FinishLength}

// An answer that the token limit cut off is gone on with, three times at most;
// no failure is told, and it is one turn.
func TestTruncated(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		streams [][]any
		text    string
		code    string
		goesOn  int
		tokens  int64
	}{
		{"once", [][]any{{text("o"), tokens(1), atLimit}, {text("k"), tokens(1), stop}}, "ok", "", 1, 2},
		{"always", [][]any{{text("l"), tokens(1), atLimit}, {text("o"), tokens(1), atLimit}, {text("n"), tokens(1), atLimit}, {text("g"), tokens(1), atLimit}},
			"long", runner.CodeLength, 3, 4},
		{"and broken off", [][]any{{text("o"), atLimit}, {text("k"), tokens(1), failing(model.Cut)}, {text("ay"), stop}}, "okay", "", 2, 1},
		{"and refused to go on", [][]any{{text("ok"), atLimit}, {failing(model.Permanent)}}, "ok", runner.CodeLength, 1, 0},
		{"before it said anything", [][]any{{model.Chunk{Reasoning: "hm"}, atLimit}}, "", runner.CodeLength, 0, 0},
	}
	for _, tt := range tests {
		for _, mode := range []runner.OnPartial{runner.Continue, runner.Restart} {
			synctest.Test(t, func(t *testing.T) {
				m := &scripted{streams: tt.streams}
				h := listen(t, newRunner(t, runner.Options{Store: newSpy(), Model: m, OnPartial: mode}).Stream(t.Context(), "t", runner.Text("hi")))
				if h.failed != nil || h.result.Text != tt.text || h.text != tt.text || h.result.Outcome.Code != tt.code || h.result.Steps != 1 {
					t.Errorf("%s: text %q, deltas %q, outcome %v, %d steps, error %v", tt.name, h.result.Text, h.text, h.result.Outcome, h.result.Steps, h.failed)
				}
				if h.goesOn != tt.goesOn || h.retries != 0 || h.result.Usage.OutputTokens != tt.tokens {
					t.Errorf("%s: gone on with %d times, %d retries, usage %v", tt.name, h.goesOn, h.retries, h.result.Usage)
				}
			})
		}
	}
}

// The simulation goes on where its limit stopped it.
func TestTruncatedSimulation(t *testing.T) {
	t.Parallel()
	r := newRunner(t, runner.Options{Store: newSpy(), MaxOutputTokens: 3})
	result := mustRun(t, r, "t", "one two three four five")
	if result.Text != "You said: one two three four five" || result.Outcome.Code != "" || result.Usage.OutputTokens != 7 {
		t.Errorf("%+v", result)
	}
}

// An answer that says and calls nothing is a failure that may pass.
func TestEmptyAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		empty := []any{text(" \n"), tokens(1), stop}
		m := &scripted{streams: [][]any{empty, {text("ok"), stop}}}
		h := listen(t, newRunner(t, runner.Options{Store: newSpy(), Model: m}).Stream(t.Context(), "t", runner.Text("hi")))
		if h.result.Text != "ok" || h.text != "ok" || h.retries != 1 || h.result.Usage.OutputTokens != 1 {
			t.Errorf("%+v", h)
		}
		m = &scripted{streams: [][]any{empty, {stop}, {model.Chunk{Reasoning: "hm"}, stop}, empty}}
		h = listen(t, newRunner(t, runner.Options{Store: newSpy(), Model: m}).Stream(t.Context(), "t", runner.Text("hi")))
		if o := h.result.Outcome; o.Kind != selvage.OutcomeFailed || o.Code != runner.CodeEmpty || h.retries != 3 || h.failed == nil {
			t.Errorf("%+v", h)
		}
	})
}
