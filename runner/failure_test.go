package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

const oneCall = `call echo {"text":"a"}`

// told is the end of a stream in the order in which it was told: events by
// kind, errors as "error".
func told(t *testing.T, r *runner.Runner, id selvage.ThreadID, in runner.Input) ([]string, error) {
	t.Helper()
	var kinds []string
	var failed error
	for e, err := range r.Stream(t.Context(), id, in) {
		switch {
		case err != nil && failed != nil:
			t.Errorf("a second error was told: %v", err)
		case err != nil:
			failed = err
			kinds = append(kinds, "error")
		case e.Kind == selvage.EventRun && e.Run.Outcome != nil:
			kinds = append(kinds, "run "+string(e.Run.Outcome.Kind))
		case e.Kind == selvage.EventMessage:
			kinds = append(kinds, "message "+string(e.Message.Role))
		case e.Kind == runner.EventDelta, e.Kind == runner.EventCall, e.Kind == selvage.EventRun:
		default:
			kinds = append(kinds, string(e.Kind))
		}
	}
	return kinds, failed
}

// refuse fails every append from the n-th on, or only that one, with err.
func refuse(n int, always bool, err error) func(int, *selvage.ChangeSet) error {
	first := ""
	return func(i int, set *selvage.ChangeSet) error {
		switch {
		case i == n:
			first = set.ID
		case i < n, !always && set.ID != first:
			return nil
		}
		return err
	}
}

var errDown = fmt.Errorf("the disk is gone: %w", selvage.ErrUnavailable)

// A checkpoint that fails ends the run; its end is recorded, with what the
// store did not take before, and told after the error.
func TestCheckpointFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		nth  int
		told []string
		want string // what the thread holds in the end
	}{
		{"assistant turn", 2,
			[]string{"message user", "error", "message assistant", "message tool", "run failed", "end"},
			"user: " + oneCall + "\nassistant:  [echo {\"text\":\"a\"}]\ntool: [interrupted] echo has no result: the run ended first.\n"},
		{"tool results", 3,
			[]string{"message user", "message assistant", "error", "message tool", "run failed", "end"},
			"user: " + oneCall + "\nassistant:  [echo {\"text\":\"a\"}]\ntool: a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newSpy()
				store.before = refuse(tt.nth, false, errDown)
				r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}})
				kinds, err := told(t, r, "t", runner.Text(oneCall))
				if diff := cmp.Diff(tt.told, kinds); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				var failed *runner.FailedError
				var state *runner.StateError
				if !errors.As(err, &failed) || !errors.As(err, &state) || !errors.Is(err, selvage.ErrUnavailable) || failed.Outcome.Code != "unavailable" {
					t.Errorf("error %v: want a FailedError around a StateError of class unavailable", err)
				}
				if diff := cmp.Diff(tt.want, transcript(load(t, store, "t").Messages)); diff != "" {
					t.Errorf("thread (-want +got):\n%s", diff)
				}
				checkChain(t, store, "t")
			})
		})
	}
}

// When the end of a run cannot be recorded, the error is told and the end is
// not, whatever the run came to.
func TestEndNotRecorded(t *testing.T) {
	t.Parallel()
	for say, nth := range map[string]int{"hi": 3, "fail permanent": 2} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newSpy()
				store.before = refuse(nth, true, errDown)
				r := newRunner(t, runner.Options{Store: store})
				kinds, err := told(t, r, "t", runner.Text(say))
				if last := kinds[len(kinds)-1]; last != "error" {
					t.Errorf("told %v: want nothing after the error", kinds)
				}
				var failed *runner.FailedError
				var state *runner.StateError
				if errors.As(err, &failed) || !errors.As(err, &state) || state.Reason != selvage.ReasonRunFinished {
					t.Errorf("error %v: want a bare StateError of run_finished", err)
				}
				if head := load(t, store, "t"); head.OpenRun == nil {
					t.Error("the run is not open: somebody recorded its end")
				}
			})
		})
	}
}

// A run that cannot be recorded is not begun.
func TestNothingBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		store.before = refuse(1, true, errDown)
		r := newRunner(t, runner.Options{Store: store})
		_, err := r.Run(t.Context(), "t", runner.Text("hi"))
		var state *runner.StateError
		if !errors.As(err, &state) {
			t.Errorf("error %v, want a StateError", err)
		}
		if _, err := store.Load(t.Context(), "t", selvage.LoadOptions{}); !errors.Is(err, selvage.ErrNotFound) {
			t.Errorf("load: %v, want not found", err)
		}
	})
}

// An append whose outcome is unknown is sent again under its id until the store
// tells: nothing is recorded twice, and the run does not notice.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for nth := 1; nth <= 5; nth++ {
		for _, happened := range []bool{true, false} {
			t.Run(fmt.Sprintf("append %d, happened %v", nth, happened), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store := newSpy()
					again := 0
					fault := func(n int, set *selvage.ChangeSet) error {
						if n >= nth && n < nth+3 {
							again++
							return fmt.Errorf("the line broke: %w", selvage.ErrUnknownOutcome)
						}
						return nil
					}
					if store.before = fault; happened {
						store.before, store.after = nil, fault
					}
					r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}})
					result := mustRun(t, r, "t", oneCall)
					if result.Text != "Done: a" || again != 3 {
						t.Errorf("answer %q after %d faults", result.Text, again)
					}
					ids := map[string]bool{}
					for _, set := range store.sent {
						ids[set.ID] = true
					}
					if head := load(t, store, "t"); head.Thread.Version != 5 || len(ids) != 5 || len(head.Messages) != 4 {
						t.Errorf("version %d, %d change-set ids, %d messages: want 5, 5, 4", head.Thread.Version, len(ids), len(head.Messages))
					}
				})
			})
		}
	}
}

// A checkpoint that was given up on may have happened after all. The end of the
// run finds it in the log and records nothing twice.
func TestGivenUpButRecorded(t *testing.T) {
	t.Parallel()
	for nth, want := range map[int][]string{
		2: {"message user", "error", "message assistant", "message tool", "run failed", "end"},
		3: {"message user", "message assistant", "error", "message tool", "run failed", "end"},
	} {
		t.Run(fmt.Sprintf("append %d", nth), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newSpy()
				store.after = refuse(nth, false, fmt.Errorf("the line broke: %w", selvage.ErrUnknownOutcome))
				r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}})
				kinds, err := told(t, r, "t", runner.Text(oneCall))
				if !errors.Is(err, selvage.ErrUnknownOutcome) {
					t.Errorf("error %v", err)
				}
				if diff := cmp.Diff(want, withoutCalls(kinds)); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				head := load(t, store, "t")
				if len(head.Messages) != 3 || head.OpenRun != nil || len(head.OpenCalls) != 0 {
					t.Errorf("thread:\n%s open run %v, open calls %v", transcript(head.Messages), head.OpenRun, head.OpenCalls)
				}
				verify(t, store, "t")
			})
		})
	}
}

func withoutCalls(kinds []string) []string {
	var rest []string
	for _, k := range kinds {
		if k != string(selvage.EventToolCall) {
			rest = append(rest, k)
		}
	}
	return rest
}

// What is recorded when an append fails for good in the middle is a consistent
// thread, which the next run goes on from.
func TestPrefixIsConsistent(t *testing.T) {
	t.Parallel()
	for nth := 1; nth <= 5; nth++ {
		t.Run(fmt.Sprintf("append %d", nth), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newSpy()
				store.before = refuse(nth, true, errDown)
				r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}})
				if _, err := r.Run(t.Context(), "t", runner.Text(oneCall)); err == nil {
					t.Fatal("no error")
				}
				if n := len(store.appended()); n != nth-1 {
					t.Fatalf("%d changes, want %d", n, nth-1)
				}
				store.before = nil
				result := mustRun(t, r, "t", "hi")
				if result.Text != "You said: hi" {
					t.Errorf("answer %q", result.Text)
				}
				checkChain(t, store, "t")
			})
		})
	}
}

// Long and malformed text of a tool is made to fit.
func TestResultIsMadeToFit(t *testing.T) {
	t.Parallel()
	store := newSpy()
	long := tool.Func("long", "", func(context.Context, struct{}) (string, error) {
		return "\xff" + strings.Repeat("x", 2<<20), nil
	}, tool.Options{Effect: selvage.EffectNone})
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{long}})
	mustRun(t, r, "t", "call long {}")
	text := load(t, store, "t").Messages[2].Text()
	if !strings.HasPrefix(text, "\uFFFDxxx") || len(text) > 1<<20+100 || !strings.HasSuffix(text, "more bytes]") {
		t.Errorf("result of %d bytes, %.20q...%.60q", len(text), text, text[len(text)-60:])
	}
}

// An error may quote bytes that are no text. The end of the run is recorded
// all the same.
func TestFailureThatIsNoText(t *testing.T) {
	t.Parallel()
	store := newSpy()
	m := &scripted{streams: [][]any{{&model.Error{Class: model.Permanent, Err: errors.New("bad \xff byte")}}}}
	r := newRunner(t, runner.Options{Store: store, Model: m})
	var failed *runner.FailedError
	if _, err := r.Run(t.Context(), "t", runner.Text("hello")); !errors.As(err, &failed) || failed.Outcome.Kind != selvage.OutcomeFailed {
		t.Fatalf("Run = %v, want a recorded failure", err)
	}
	head, err := store.Load(t.Context(), "t", selvage.LoadOptions{})
	if err != nil || head.OpenRun != nil {
		t.Errorf("the run is still open: %+v, %v", head.OpenRun, err)
	}
}
