package runner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/runner"
)

// A run goes on under the rules that it began under, whatever rules the process
// has that goes on with it.
func TestRulesAreThoseOfTheRun(t *testing.T) {
	t.Parallel()
	began := `[{name: twice, event: before_step, when: {all: [{path: run.steps, op: in, value: [1, 2]}, {not: {path: run.id, op: eq, value: null}}]}, do: suspend, params: {message: "after ${run.steps}"}}]`
	for name, here := range map[string]string{"none": "[]", "the same": began, "others": `[{name: never, event: before_step, do: fail}]`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			opts := runner.Options{Store: store, Tools: echoTools(), Rules: parsed(t, began)}
			waits := mustRun(t, newRunner(t, opts), "t", loopNine)
			opts.Rules = parsed(t, here)
			for _, want := range []string{"after 1", "after 2", ""} {
				if got := waits.Waiting; (got != nil) != (want != "") || got != nil && got.Message != want {
					t.Fatalf("it waits for %+v, want %q", got, want)
				}
				if want == "" {
					break
				}
				var err error
				if waits, err = newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			verify(t, store, "t")
		})
	}
}

// A run that recorded no rules has none, and one whose rules are not understood
// is not gone on with.
func TestRulesOfAnotherProgram(t *testing.T) {
	t.Parallel()
	for recorded, want := range map[string]string{
		`[{"name":"r","event":"before_dawn","do":"skip"}]`:               `its rules are not understood here: rules[0].event: "before_dawn" is not an event`,
		`[{"name":"r","event":"before_step","do":"skip","unless":true}]`: `unknown field "unless"`,
		`7`: "its rules are not understood here",
		``:  "",
	} {
		store := newSpy()
		store.before = func(_ int, set *selvage.ChangeSet) error {
			if len(set.Runs) == 1 && set.Runs[0].Spec != nil {
				spec := set.Runs[0].Spec.Clone()
				if spec.Rules = nil; recorded != "" {
					spec.Rules = []byte(recorded)
				}
				set.Runs[0].Spec = &spec
			}
			return nil
		}
		suspends := runner.Options{Store: store, Rules: parsed(t, `[{name: r, event: before_step, do: suspend}]`)}
		waits := mustRun(t, newRunner(t, suspends), "t", "hi")
		suspends.Rules = parsed(t, `[{name: r, event: before_step, do: fail}]`)
		_, err := newRunner(t, suspends).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
		var cannot *runner.CannotResumeError
		if (want != "") != errors.As(err, &cannot) || cannot != nil && !strings.Contains(cannot.Lacks, want) || want == "" && err != nil {
			t.Errorf("rules %s: %v, want %q", recorded, err, want)
		}
	}
}

// Rules that are too many to be recorded are refused.
func TestTooManyRules(t *testing.T) {
	t.Parallel()
	many := []rules.Rule{{Name: "r", Event: rules.Completed, Do: rules.Fail, Params: map[string]string{"message": strings.Repeat("x", 65<<10)}}}
	if _, err := runner.New(runner.Options{Model: newModel(t), Rules: many}); !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), "at most 65536 are recorded") {
		t.Errorf("%v", err)
	}
}

// What of the conversation the model is given is what the run recorded, also in
// a process whose own runs are given more, or less.
func TestWindowIsThatOfTheRun(t *testing.T) {
	t.Parallel()
	for name, here := range map[string]runner.Options{
		"more":     {},
		"less":     {Window: 2},
		"in words": {Context: selvage.ContextRules{Messages: 3, Summarise: true}},
	} {
		for _, began := range []runner.Options{{Window: 4}, {Context: selvage.ContextRules{Messages: 4}}, {}} {
			store := newSpy()
			for i := range 4 {
				mustRun(t, newRunner(t, runner.Options{Store: store}), "t", fmt.Sprint("message ", i))
			}
			began.Tools, here.Tools = echoTools(), echoTools()
			die(t, store, began, "context", 4*3+2)
			here.Store = store
			all, err := newRunner(t, here).Recover(t.Context())
			want := "Context: 4 messages"
			if began.Window+began.Context.Messages == 0 {
				want = `Context: 9 messages, first "message 0"`
			}
			if err != nil || len(all) != 1 || !strings.HasPrefix(all[0].Result.Text, want) {
				t.Errorf("%s: %v, %v: want %s", name, all, err, want)
			}
		}
	}
}
