package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// One call waits, another has its result: the loop goes on, the model reads
// what stands in for a result, and what came late when it comes.
func TestSomeWait(t *testing.T) {
	t.Parallel()
	for _, mode := range []selvage.ToolCalls{selvage.ToolCallsSequential, selvage.ToolCallsParallel, selvage.ToolCallsBatch} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			store, ran := newSpy(), &atomic.Int32{}
			m := &recorder{Model: newModel(t)}
			opts := runner.Options{Store: store, Model: m, ToolCalls: mode, Tools: []tool.Tool{gated(selvage.EffectOnce, ran), echoTool("echo", selvage.EffectNone)}}
			waits := suspended(t, newRunner(t, opts), "t", `call echo {"text":"a"} && deploy {"to":"prod"}`)
			if waits.Steps != 2 || len(waits.Tickets) != 1 || waits.Text != "" {
				t.Errorf("it waits with %+v", waits)
			}
			want := "user: call echo {\"text\":\"a\"} && deploy {\"to\":\"prod\"}\nassistant:  [echo {\"text\":\"a\"}] [deploy {\"to\":\"prod\"}]\ntool: a\ntool: [waiting for a decision]\n"
			if got := transcript(m.requests[1].Messages); got != want {
				t.Errorf("the model was given\n%swant\n%s", got, want)
			}
			if text := transcript(load(t, store, "t").Messages); strings.Contains(text, "tool: [waiting for") {
				t.Errorf("what stands in is recorded:\n%s", text)
			}
			decide(t, store, waits.RunID, approve, waits.Tickets[0].Ticket.ID)
			result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
			if err != nil || result.Outcome.Kind != selvage.OutcomeCompleted || result.Steps != 3 || ran.Load() != 1 ||
				result.Text != "Done: a; deployed to prod" {
				t.Errorf("resumed: %+v, %v; ran %d times", result, err, ran.Load())
			}
			got := transcript(m.requests[2].Messages)
			want = strings.Replace(want, "[waiting for a decision]", "deployed to prod", 1) + "assistant: Done: a; [waiting for a decision]\n(user): [The result of deploy has arrived; it stands at its call "
			if !strings.HasPrefix(got, want) {
				t.Errorf("then the model was given\n%swant\n%s", got, want)
			}
			checkComplete(t, store, "t")
			verify(t, store, "t")
		})
	}
}

// In sequence, a suspended call stops the turn: those behind it run when it was
// decided, and are not taken for begun.
func TestSequenceStopsAtTheFirst(t *testing.T) {
	t.Parallel()
	asks := tool.New("asks", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
		if c.Decision == nil {
			return "", tool.Suspend(selvage.Ticket{Message: "Well?"})
		}
		return "asked", nil
	}, tool.Options{Effect: selvage.EffectNone})
	for _, first := range []string{`deploy {"to":"x"}`, "asks {}"} {
		store, ran, n := newSpy(), &atomic.Int32{}, &atomic.Int32{}
		opts := runner.Options{Store: store, Tools: []tool.Tool{gated(selvage.EffectNone, ran), asks, counted(selvage.EffectOnce, n)}}
		waits := suspended(t, newRunner(t, opts), "t", "call count {} && "+first+" && count {}")
		if n.Load() != 1 || len(waits.Tickets) != 1 {
			t.Errorf("%s: it waits for %+v; counted %d", first, waits.Tickets, n.Load())
		}
		if goes, err := newRunner(t, opts).Recover(t.Context()); err != nil || len(goes) != 0 {
			t.Errorf("%s: recovered %v, %v", first, goes, err)
		}
		decide(t, store, waits.RunID, approve, "")
		result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
		if err != nil || !strings.HasPrefix(result.Text, "Done: 1; ") || !strings.HasSuffix(result.Text, "; 2") || n.Load() != 2 {
			t.Errorf("%s: resumed %+v, %v; counted %d", first, result, err, n.Load())
		}
		checkComplete(t, store, "t")
	}
}

// Together, each decision takes effect when it is there; as a batch, with the
// last one.
func TestOneOfTwoDecisions(t *testing.T) {
	t.Parallel()
	tests := map[selvage.ToolCalls]int32{selvage.ToolCallsParallel: 1, selvage.ToolCallsBatch: 0}
	for mode, want := range tests {
		store, ran := newSpy(), &atomic.Int32{}
		opts := runner.Options{Store: store, ToolCalls: mode, Tools: []tool.Tool{gated(selvage.EffectIdempotent, ran)}}
		waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"a"} && deploy {"to":"b"}`)
		if len(waits.Tickets) != 2 || len(waits.Waiting.Tickets) != 2 {
			t.Fatalf("%s: it waits for %+v", mode, waits.Waiting)
		}
		decide(t, store, waits.RunID, selvage.Decision{Action: selvage.DecisionResume}, waits.Tickets[1].Ticket.ID)
		version := load(t, store, "t").Thread.Version
		half, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
		if err != nil || half.Waiting == nil || ran.Load() != want || len(half.Tickets) != 1 {
			t.Errorf("%s: resumed with one of two: %+v, %v; ran %d times", mode, half, err, ran.Load())
		}
		if want == 0 && load(t, store, "t").Thread.Version != version {
			t.Errorf("%s: nothing could go on, and something was recorded", mode)
		}
		decide(t, store, waits.RunID, selvage.Decision{Action: selvage.DecisionResume}, waits.Tickets[0].Ticket.ID)
		result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
		if err != nil || result.Outcome.Kind != selvage.OutcomeCompleted || ran.Load() != 2 {
			t.Errorf("%s: resumed: %+v, %v; ran %d times", mode, result, err, ran.Load())
		}
		checkComplete(t, store, "t")
	}
}

// Also in a run that is led, a batch goes on when the last of its calls is
// decided.
func TestBatchIsHeldWhileItRuns(t *testing.T) {
	t.Parallel()
	for mode, want := range map[selvage.ToolCalls]int32{selvage.ToolCallsParallel: 1, selvage.ToolCallsBatch: 0} {
		store, ran := newSpy(), &atomic.Int32{}
		m := &scripted{streams: [][]any{{call("deploy", `{"to":"a"}`), call("deploy", `{"to":"b"}`), call("echo", `{"text":"c"}`), stop},
			{text("let me "), text("see"), stop}, {text("one is there"), stop}}}
		r := newRunner(t, runner.Options{Store: store, Model: m, ToolCalls: mode, Tools: []tool.Tool{gated(selvage.EffectIdempotent, ran), echoTool("echo", selvage.EffectNone)}})
		for e, err := range r.Stream(t.Context(), "t", runner.Text("hi")) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == runner.EventDelta && e.Text == "see" {
				decide(t, store, e.RunID, approve, load(t, store, "t").OpenCalls[0].ID)
			}
			if e.Result != nil && e.Result.Waiting == nil {
				t.Errorf("%s: it does not wait: %+v", mode, e.Result)
			}
		}
		if ran.Load() != want {
			t.Errorf("%s: ran %d times, want %d", mode, ran.Load(), want)
		}
	}
}

// A ticket says what a decision has to look like, and is held to it before
// anything is recorded.
func TestTicketSchema(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"string","enum":["red","blue"]}`)
	ask := tool.Func("ask", "", func(context.Context, struct{}) (string, error) {
		return "", tool.Suspend(selvage.Ticket{ID: "color", Reason: selvage.WaitUserInput, Mode: selvage.ResumeResult, Schema: schema})
	}, tool.Options{Effect: selvage.EffectNone})
	store := newSpy()
	opts := runner.Options{Store: store, Tools: []tool.Tool{ask}}
	waits := suspended(t, newRunner(t, opts), "t", "call ask {}")
	if waits.Waiting.Reason != selvage.WaitUserInput || waits.Waiting.Tickets[0] != "color" {
		t.Errorf("it waits for %+v", waits.Waiting)
	}
	version := load(t, store, "t").Thread.Version
	for result, want := range map[string]string{
		"":         "ticket color wants the result of the call",
		`"green"`:  "value must be one of 'red', 'blue'",
		`7`:        "got number, want string",
		`{"a":1,}`: "it is not JSON",
	} {
		d := selvage.Decision{Action: selvage.DecisionResume}
		if result != "" {
			d.Result = json.RawMessage(result)
		}
		if _, err := runner.Decide(t.Context(), store, waits.RunID, d, "color"); err == nil || !strings.Contains(err.Error(), want) || selvage.Code(err) != "invalid" {
			t.Errorf("result %s: %v, want %s", result, err, want)
		}
	}
	if v := load(t, store, "t").Thread.Version; v != version {
		t.Errorf("refused decisions made version %d", v)
	}
	decide(t, store, waits.RunID, selvage.Decision{Action: selvage.DecisionResume, Result: json.RawMessage(`"red"`)}, "color")
	result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	if err != nil || result.Text != "Done: red" {
		t.Errorf("resumed: %+v, %v", result, err)
	}
}

// A ticket that cannot be makes its call fail, and the model reads why.
func TestBadTickets(t *testing.T) {
	t.Parallel()
	for want, ticket := range map[string]selvage.Ticket{
		`"maybe" is not a way to go on`:     {Mode: "maybe"},
		"the schema is not a JSON Schema":   {Schema: json.RawMessage(`{"type":7}`)},
		"its ticket takes":                  {Message: strings.Repeat("x", 70<<10)},
		"slashes and control characters":    {ID: "a/b"},
		"its ticket cannot be: json: error": {Details: json.RawMessage(`{`)},
	} {
		bad := tool.Func("bad", "", func(context.Context, struct{}) (string, error) { return "", tool.Suspend(ticket) }, tool.Options{Effect: selvage.EffectNone})
		result, err := newRunner(t, runner.Options{Store: newSpy(), Tools: []tool.Tool{bad}}).Run(t.Context(), "t", runner.Text("call bad {}"))
		if err != nil || result.Waiting != nil || !strings.Contains(result.Text, want) {
			t.Errorf("answer %q, %v: want %q", result.Text, err, want)
		}
	}
	// Where nothing is kept nobody can be asked.
	result, err := newRunner(t, runner.Options{Tools: []tool.Tool{gated(selvage.EffectNone, new(atomic.Int32))}}).Ask(t.Context(), runner.Text(`call deploy {"to":"x"}`))
	if err != nil || !strings.Contains(result.Text, "nobody can be asked") {
		t.Errorf("asked: %+v, %v", result, err)
	}
}

// A hook has a call wait as a gate does, is shown the decision, and is not
// asked again to have it wait.
func TestHookSuspends(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	var seen []string
	hook := selvage.Hook{Name: "h", BeforeTool: func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
		if at.Decision != nil {
			seen = append(seen, at.Decision.By)
		}
		return selvage.Effects{Suspend: &selvage.Ticket{Message: "May it?"}}, nil
	}, AfterTool: func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
		seen = append(seen, fmt.Sprintf("%s after %s", at.Result.Content[0].Text, at.Decision.By))
		return selvage.Effects{}, nil
	}}
	opts := runner.Options{Store: store, Hooks: []selvage.Hook{hook}, Tools: []tool.Tool{counted(selvage.EffectOnce, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", "call count {}")
	if strings.Contains(store.schedule(), "call started") {
		t.Errorf("it is journalled as begun:\n%s", store.schedule())
	}
	decide(t, store, waits.RunID, approve, "")
	result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	if err != nil || result.Text != "Done: 1" || ran.Load() != 1 {
		t.Errorf("resumed: %+v, %v; ran %d times", result, err, ran.Load())
	}
	if diff := cmp.Diff([]string{"ada", "1 after ada"}, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}
