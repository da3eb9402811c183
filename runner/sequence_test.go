package runner_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// Of calls that run one after the other each is decided before the model is
// asked again, wherever the process dies in between.
func TestSequenceIsDecidedWhole(t *testing.T) {
	t.Parallel()
	const say = `call deploy {"to":"a"} && echo {"text":"b"} && deploy {"to":"c"} && deploy {"to":"d"}`
	goesOn := selvage.Decision{Action: selvage.DecisionResume}
	for _, effect := range []selvage.Effect{selvage.EffectNone, selvage.EffectOnce} {
		for _, second := range []selvage.Decision{goesOn, {Action: selvage.DecisionCancel}, {Action: selvage.DecisionResume, Result: []byte(`"by hand"`)}} {
			for dies := range 5 { // at that append after each decision; 0 is never
				name := fmt.Sprintf("%s/%s%s/%d", effect, second.Action, second.Result, dies)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					store, ran := newSpy(), &atomic.Int32{}
					m := &recorder{Model: newModel(t)}
					opts := runner.Options{Store: store, Model: m, Tools: []tool.Tool{gated(effect, ran), echoTool("echo", selvage.EffectNone)}}
					waits := suspended(t, newRunner(t, opts), "t", say)
					for decisions := []selvage.Decision{goesOn, second, goesOn}; waits.Waiting != nil; {
						if len(waits.Tickets) != 1 || len(m.requests) != 1 || waits.Steps != 1 {
							t.Fatalf("with %d decisions to come it waits for %d; the model was asked %d times", len(decisions), len(waits.Tickets), len(m.requests))
						}
						d, n := goesOn, 0 // of a call that was interrupted
						if !waits.Tickets[0].Ticket.Unknown {
							d, decisions, n = decisions[0], decisions[1:], dies
						}
						decide(t, store, waits.RunID, d, "")
						waits = resumedThroughDeath(t, store, opts, waits.RunID, n)
					}
					most := 2
					if dies > 0 {
						most = 3 // an answer was lost
					}
					if waits.Outcome.Kind != selvage.OutcomeCompleted || len(m.requests) < 2 || len(m.requests) > most || !strings.HasPrefix(waits.Text, "Done: deployed to a; b; ") {
						t.Errorf("it ended with %+v; the model was asked %d times, want at most %d", waits, len(m.requests), most)
					}
					checkComplete(t, store, "t")
					verify(t, store, "t")
				})
			}
		}
	}
}

// resumedThroughDeath goes on with a run in a process that dies at its n-th
// append, and then in one that does not.
func resumedThroughDeath(t *testing.T, store *spy, opts runner.Options, id selvage.RunID, n int) runner.Result {
	t.Helper()
	if n > 0 {
		store.mu.Lock()
		done := store.attempts
		store.mu.Unlock()
		store.before = refuse(done+n, true, fmt.Errorf("dead: %w", selvage.ErrClosed))
		result, err := newRunner(t, opts).Resume(t.Context(), id, runner.ResumeOptions{})
		store.before = nil
		if err == nil {
			return result
		}
		if !errors.Is(err, selvage.ErrClosed) {
			t.Fatal(err)
		}
	}
	result, err := newRunner(t, opts).Resume(t.Context(), id, runner.ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}
