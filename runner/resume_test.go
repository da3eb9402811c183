package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// A tool that a hook had withheld is not run by whoever goes on with the run
// either.
func TestWithheldToolStaysWithheld(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Tools: []tool.Tool{counted(selvage.EffectOnce, ran), echoTool("echo", selvage.EffectNone)},
		Hooks: []selvage.Hook{at(selvage.MomentBeforeInference, selvage.Effects{Tools: []string{"echo"}})}}
	die(t, store, opts, `call count {} && echo {"text":"a"}`, 3)
	opts.Store = store
	recovered, err := newRunner(t, opts).Recover(t.Context())
	if err != nil || len(recovered) != 1 || recovered[0].Err != nil {
		t.Fatalf("recovered %v, %v", recovered, err)
	}
	if want := `Done: there is no tool "count"; there are: echo; a`; ran.Load() != 0 || recovered[0].Result.Text != want {
		t.Errorf("the tool ran %d times, answer %q, want %q", ran.Load(), recovered[0].Result.Text, want)
	}
	checkChain(t, store, "t")
}

// What a hook wanted the run to end with is honoured by whoever goes on with
// the run, and the model is not asked again.
func TestStopSurvivesACrash(t *testing.T) {
	t.Parallel()
	tests := []struct {
		moment selvage.Moment
		say    string
		nth    int // the append it died at
		ran    int32
	}{
		{selvage.MomentAfterInference, "call count {}", 3, 2}, // before the result
		{selvage.MomentAfterInference, "call count {}", 4, 1}, // before the end
		{selvage.MomentAfterInference, "hi", 3, 0},
		{selvage.MomentStepEnd, "call count {}", 3, 2},
		{selvage.MomentStepEnd, "call count {}", 4, 1},
		{selvage.MomentBeforeTool, "call count {}", 4, 1},
		{selvage.MomentAfterTool, "call count {}", 4, 1},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %s %d", tt.moment, tt.say, tt.nth), func(t *testing.T) {
			t.Parallel()
			store, ran, m := newSpy(), &atomic.Int32{}, &recorder{Model: newModel(t)}
			opts := runner.Options{Model: m, Tools: []tool.Tool{counted(selvage.EffectNone, ran)}}
			dying := opts
			dying.Hooks = []selvage.Hook{at(tt.moment, selvage.Effects{Stop: &selvage.Stop{Code: "enough", Detail: "it is"}})}
			die(t, store, dying, tt.say, tt.nth)
			opts.Store = store
			recovered, err := newRunner(t, opts).Recover(t.Context())
			if err != nil || len(recovered) != 1 || recovered[0].Err != nil {
				t.Fatalf("recovered %v, %v", recovered, err)
			}
			want := selvage.Outcome{Kind: selvage.OutcomeStopped, Code: "enough", Detail: "it is"}
			if got := recovered[0].Result.Outcome; got != want || len(m.requests) != 1 || ran.Load() != tt.ran {
				t.Errorf("outcome %v, asked %d times, the tool ran %d times; want %v, 1, %d", got, len(m.requests), ran.Load(), want, tt.ran)
			}
			checkChain(t, store, "t")
		})
	}
}

// A hook that speaks for the assistant does not hide the calls of the answer.
func TestHookSpeaksAfterTheAnswer(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Tools: []tool.Tool{counted(selvage.EffectNone, ran)}, Hooks: []selvage.Hook{{Name: "h",
		AfterInference: func(context.Context, selvage.Scene) (selvage.Effects, error) {
			return selvage.Effects{Messages: []selvage.Message{{Role: selvage.RoleAssistant, Content: selvage.Text("hm")}}}, nil
		}}}}
	die(t, store, opts, "call count {}", 3)
	opts.Store = store
	if recovered, err := newRunner(t, opts).Recover(t.Context()); err != nil || len(recovered) != 1 || recovered[0].Result.Text != "Done: 2" {
		t.Errorf("recovered %+v, %v", recovered, err)
	}
	checkComplete(t, store, "t")
}

// A window that is smaller than a turn cuts no call off from its result, in
// the run that makes it nor in the one that goes on with it.
func TestTurnBeyondTheWindow(t *testing.T) {
	t.Parallel()
	store, ran, m := newSpy(), &atomic.Int32{}, &recorder{Model: newModel(t)}
	opts := runner.Options{Model: m, Window: 2, Tools: []tool.Tool{counted(selvage.EffectOnce, ran)}}
	const three = "call count {} && count {} && count {}"
	die(t, store, opts, three, 5) // the third result
	opts.Store = store
	recovered, err := newRunner(t, opts).Recover(t.Context())
	if err != nil || len(recovered) != 1 || recovered[0].Err != nil || ran.Load() != 3 {
		t.Fatalf("recovered %v, %v; the tool ran %d times", recovered, err, ran.Load())
	}
	saw := transcript(m.requests[len(m.requests)-1].Messages)
	if want := "assistant:  [count {}] [count {}] [count {}]\ntool: 1\ntool: 2\ntool: count was interrupted. Its outcome is unknown"; !strings.HasPrefix(saw, want) {
		t.Errorf("the model was shown\n%swant %s...", saw, want)
	}
	checkChain(t, store, "t")

	die(t, store, opts, three, store.attempts+5)
	mustRun(t, newRunner(t, opts), "t", "hi") // abandons it
	if text := transcript(load(t, store, "t").Messages); strings.Count(text, "tool: count was interrupted. Its outcome is unknown") != 2 {
		t.Errorf("want two calls of unknown outcome:\n%s", text)
	}
	checkComplete(t, store, "t")
	result := mustRun(t, newRunner(t, opts), "t", three)
	if want := "Done: 7; 8; 9"; result.Text != want {
		t.Errorf("answer %q, want %q", result.Text, want)
	}
}
