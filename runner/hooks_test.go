package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// everywhere is a hook that calls f at every moment.
func everywhere(name string, f selvage.HookFunc) selvage.Hook {
	return selvage.Hook{Name: name, RunStart: f, StepStart: f, BeforeInference: f, AfterInference: f, StepEnd: f,
		BeforeTool: f, AfterTool: f, RunEnd: f}
}

// Hooks are called at each moment in order, in the order given, and shown what
// there is to see.
func TestMoments(t *testing.T) {
	t.Parallel()
	var got []string
	watch := func(name string) selvage.Hook {
		return everywhere(name, func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
			line := fmt.Sprintf("%s %s step %d", name, at.Moment, at.Step)
			if at.Messages != nil {
				line += fmt.Sprintf(" %d messages", len(at.Messages))
			}
			if at.Tools != nil {
				line += " offers " + at.Tools[0].Name
			}
			if at.Reply != nil {
				line += fmt.Sprintf(" reply %q", at.Reply.Text())
			}
			if at.Call != nil {
				line += " call " + at.Call.Name
			}
			if at.Tool != nil {
				line += " " + string(at.Tool.Effect)
			}
			if at.Result != nil {
				line += " result " + at.Result.Content.Text()
			}
			if at.Outcome != nil {
				line += " " + string(at.Outcome.Kind)
			}
			if at.ThreadID != "t" || at.Run.ID == "" || at.Run.Spec == nil {
				line += " incomplete"
			}
			got = append(got, line)
			return selvage.Effects{}, nil
		})
	}
	r := newRunner(t, runner.Options{Store: newSpy(), Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)},
		Hooks: []selvage.Hook{watch("a"), watch("b")}})
	mustRun(t, r, "t", oneCall)
	want := []string{
		`run_start step 0`,
		`step_start step 1`, `before_inference step 1 1 messages offers echo`,
		`after_inference step 1 reply ""`, `step_end step 1 reply ""`,
		`before_tool step 1 call echo none`, `after_tool step 1 call echo none result a`,
		`step_start step 2`, `before_inference step 2 3 messages offers echo`,
		`after_inference step 2 reply "Done: a"`, `step_end step 2 reply "Done: a"`,
		`run_end step 2 completed`,
	}
	var both []string
	for _, w := range want {
		both = append(both, "a "+w, "b "+w)
	}
	if diff := cmp.Diff(both, got); diff != "" {
		t.Errorf("moments (-want +got):\n%s", diff)
	}
}

// at is a hook that has effects at one moment.
func at(m selvage.Moment, e selvage.Effects) selvage.Hook {
	return everywhere("h", func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
		if at.Moment == m {
			return e, nil
		}
		return selvage.Effects{}, nil
	})
}

// A hook stops a run at once, or after the calls that were already asked for.
func TestHookStops(t *testing.T) {
	t.Parallel()
	tests := map[selvage.Moment]string{
		selvage.MomentRunStart:        "user: " + oneCall + "\n",
		selvage.MomentStepStart:       "user: " + oneCall + "\n",
		selvage.MomentBeforeInference: "user: " + oneCall + "\n",
		selvage.MomentAfterInference:  "user: " + oneCall + "\nassistant:  [echo {\"text\":\"a\"}]\ntool: a\n",
		selvage.MomentStepEnd:         "user: " + oneCall + "\nassistant:  [echo {\"text\":\"a\"}]\ntool: a\n",
		selvage.MomentBeforeTool:      "user: " + oneCall + "\nassistant:  [echo {\"text\":\"a\"}]\ntool: a\n",
		selvage.MomentAfterTool:       "user: " + oneCall + "\nassistant:  [echo {\"text\":\"a\"}]\ntool: a\n",
	}
	for m, want := range tests {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			ended := false
			last := selvage.Hook{Name: "last", RunEnd: func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
				ended = at.Outcome.Code == "enough"
				return selvage.Effects{}, nil
			}}
			r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)},
				Hooks: []selvage.Hook{at(m, selvage.Effects{Stop: &selvage.Stop{Code: "enough", Detail: "it is"}}), last}})
			result := mustRun(t, r, "t", oneCall)
			if o := result.Outcome; o.Kind != selvage.OutcomeStopped || o.Code != "enough" || o.Detail != "it is" {
				t.Errorf("outcome %v", o)
			}
			if got := transcript(load(t, store, "t").Messages); got != want {
				t.Errorf("thread:\n%swant:\n%s", got, want)
			}
			if !ended {
				t.Error("the hook at run_end was not called with the outcome")
			}
			checkChain(t, store, "t")
		})
	}
}

// A hook that fails or panics ends the run; at its end it changes nothing.
func TestHookFails(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, m := range []selvage.Moment{selvage.MomentRunStart, selvage.MomentStepStart, selvage.MomentBeforeInference, selvage.MomentAfterInference,
		selvage.MomentStepEnd, selvage.MomentBeforeTool, selvage.MomentAfterTool, selvage.MomentRunEnd} {
		for name, fail := range map[string]func() (selvage.Effects, error){
			"error": func() (selvage.Effects, error) { return selvage.Effects{}, boom },
			"panic": func() (selvage.Effects, error) { panic(boom) },
			"patch": func() (selvage.Effects, error) {
				return selvage.Effects{Patch: state.Patch{state.Increment("/nothing", state.Int(1))}}, nil
			},
			"patch of what is the run's": func() (selvage.Effects, error) {
				return selvage.Effects{Patch: state.Patch{state.Set("/__run", state.Int(1))}}, nil
			},
		} {
			t.Run(string(m)+" "+name, func(t *testing.T) {
				t.Parallel()
				store := newSpy()
				hook := everywhere("h", func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
					if at.Moment == m {
						return fail()
					}
					return selvage.Effects{}, nil
				})
				r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}, Hooks: []selvage.Hook{hook}})
				result, err := r.Run(t.Context(), "t", runner.Text(oneCall))
				want := selvage.Outcome{Kind: selvage.OutcomeFailed, Code: runner.CodeHook}
				if m == selvage.MomentRunEnd {
					want = selvage.Outcome{Kind: selvage.OutcomeCompleted}
				}
				if result.Outcome.Kind != want.Kind || result.Outcome.Code != want.Code || (err == nil) != (want.Kind == selvage.OutcomeCompleted) {
					t.Errorf("outcome %v, error %v", result.Outcome, err)
				}
				if name == "error" && m != selvage.MomentRunEnd && !errors.Is(err, boom) {
					t.Errorf("error %v hides its cause", err)
				}
				checkChain(t, store, "t")
			})
		}
	}
}

// A hook answers a call in place of its tool, which does not run.
func TestHookAnswersACall(t *testing.T) {
	t.Parallel()
	ran := false
	danger := tool.Func("danger", "", func(context.Context, struct{}) (string, error) {
		ran = true
		return "", nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown})
	refused := tool.Failed("not allowed")
	store := newSpy()
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{danger},
		Hooks: []selvage.Hook{at(selvage.MomentBeforeTool, selvage.Effects{Answer: &refused})}})
	result := mustRun(t, r, "t", "call danger {}")
	if ran || result.Text != "Done: not allowed" {
		t.Errorf("tool ran: %v, answer %q", ran, result.Text)
	}
	m := load(t, store, "t").Messages[2]
	if string(m.Metadata[runner.MetadataFailed]) != "true" {
		t.Errorf("the result is not marked as failed: %v", m.Metadata)
	}
	checkChain(t, store, "t")
}

// Hooks take tools away from the model; a call to one that was not offered is
// refused.
func TestHookFiltersTools(t *testing.T) {
	t.Parallel()
	m := &recorder{Model: newModel(t)}
	keep := func(name string, names ...string) selvage.Hook {
		return selvage.Hook{Name: name, BeforeInference: func(context.Context, selvage.Scene) (selvage.Effects, error) {
			return selvage.Effects{Tools: append([]string{}, names...)}, nil
		}}
	}
	tools := []tool.Tool{echoTool("a", selvage.EffectNone), echoTool("b", selvage.EffectNone), echoTool("c", selvage.EffectNone)}
	r := newRunner(t, runner.Options{Model: m, Tools: tools, Hooks: []selvage.Hook{keep("x", "a", "b"), keep("y", "b", "c")}})
	result, err := r.Ask(t.Context(), runner.Text(`call a {"text":"1"} && b {"text":"2"}`))
	if err != nil {
		t.Fatal(err)
	}
	if offered := m.requests[0].Tools; len(offered) != 1 || offered[0].Name != "b" {
		t.Errorf("the model was offered %v, want b", offered)
	}
	if want := `Done: there is no tool "a"; there are: b; 2`; result.Text != want {
		t.Errorf("answer %q, want %q", result.Text, want)
	}
	r = newRunner(t, runner.Options{Model: m, Tools: tools, Hooks: []selvage.Hook{keep("none")}})
	if _, err := r.Ask(t.Context(), runner.Text("hi")); err != nil || len(m.requests[len(m.requests)-1].Tools) != 0 {
		t.Errorf("error %v, offered %v: want no tool", err, m.requests[len(m.requests)-1].Tools)
	}
}

// What hooks say is internal: the model reads it, the user does not.
func TestHookSays(t *testing.T) {
	t.Parallel()
	store, m := newSpy(), &recorder{Model: newModel(t)}
	r := newRunner(t, runner.Options{Store: store, Model: m,
		Hooks: []selvage.Hook{at(selvage.MomentRunStart, selvage.Effects{Messages: []selvage.Message{{Content: selvage.Text("be brief")}}})}})
	mustRun(t, r, "t", "hi")
	if got := transcript(m.requests[0].Messages); got != "user: hi\n(system): be brief\n" {
		t.Errorf("the model was given\n%s", got)
	}
	page, err := store.Messages(t.Context(), "t", selvage.MessageQuery{})
	if err != nil || slices.ContainsFunc(page.Items, func(m selvage.Message) bool { return strings.Contains(m.Text(), "brief") }) {
		t.Errorf("the user is shown %v, %v", page.Items, err)
	}
}

// Two hooks must be told apart, or their patches could not be.
func TestHookNames(t *testing.T) {
	t.Parallel()
	for _, hooks := range [][]selvage.Hook{{{}}, {{Name: "a"}, {Name: "a"}}} {
		if _, err := runner.New(runner.Options{Model: newModel(t), Hooks: hooks}); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("hooks %v: %v, want invalid", hooks, err)
		}
	}
}
