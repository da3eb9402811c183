package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/tool"
)

// inProcess opens the file of a store, as each process does, and closes it again.
func inProcess(t *testing.T, path string, f func(store selvage.Store)) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f(store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// The whole way of an approval, each step in a process of its own on one file,
// a day after the one before.
func TestApprovalAcrossProcesses(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		d       selvage.Decision
		ran     int32
		outcome selvage.Outcome
		log     string // of what follows the suspension
	}{
		"approved": {approve, 1, selvage.Outcome{Kind: selvage.OutcomeCompleted},
			"decision: call resuming\ndecision: run running\ntool_results_committed: call started\n" +
				"tool_results_committed: tool, call succeeded\nassistant_turn_committed: assistant, run running\nrun_finished: run completed/\n"},
		"denied": {selvage.Decision{ID: "yes", Action: selvage.DecisionAbort, By: "ada"}, 0,
			selvage.Outcome{Kind: selvage.OutcomeCancelled, Code: runner.CodeDenied, Detail: "denied by ada"},
			"decision: tool, internal system, run cancelled/denied, call cancelled\n"},
	}
	for name, tt := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, ran, day := filepath.Join(t.TempDir(), "a.db"), &atomic.Int32{}, 0
			agent := func(store selvage.Store) *runner.Runner {
				day++
				at := time.Now().AddDate(0, 0, day)
				return newRunner(t, runner.Options{Store: store, Now: func() time.Time { return at }, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}})
			}
			var waits runner.Result
			inProcess(t, path, func(store selvage.Store) { waits = suspended(t, agent(store), "t", `call deploy {"to":"prod"}`) })
			inProcess(t, path, func(store selvage.Store) {
				if recovered, err := agent(store).Recover(t.Context()); err != nil || len(recovered) != 0 {
					t.Errorf("recovered %v, %v", recovered, err)
				}
				questions, err := runner.Questions(t.Context(), store, waits.RunID)
				if diff := cmp.Diff(waits.Tickets, questions); err != nil || diff != "" {
					t.Errorf("questions: %v, (-want +got):\n%s", err, diff)
				}
			})
			inProcess(t, path, func(store selvage.Store) { decide(t, store, waits.RunID, tt.d, "") })
			inProcess(t, path, func(store selvage.Store) {
				result, err := agent(store).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
				if result.RunID != waits.RunID || result.Outcome != tt.outcome || (err == nil) != (tt.ran == 1) {
					t.Errorf("resumed: %+v, %v", result, err)
				}
			})
			inProcess(t, path, func(store selvage.Store) {
				again, err := runner.Decide(t.Context(), store, waits.RunID, tt.d, "")
				if err != nil || again.Status != runner.Repeated || ran.Load() != tt.ran {
					t.Errorf("decided again: %+v, %v; ran %d times", again, err, ran.Load())
				}
				want := "user_message: user, run running\nassistant_turn_committed: assistant+calls, run running\ntool_results_committed: run waiting, call suspended\n" + tt.log
				var log strings.Builder
				for _, c := range verify(t, store, "t") {
					set, err := c.Set()
					if err != nil {
						t.Fatal(err)
					}
					log.WriteString(describe(&set) + "\n")
				}
				if diff := cmp.Diff(want, log.String()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				checkComplete(t, store, "t")
			})
		})
	}
}

// A run goes on as what it was: its model, limits, cost, mode and words are
// those that it recorded, whatever the runner is set to now.
func TestResumedIsTheSame(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	m := &recorder{Model: newModel(t)}
	opts := runner.Options{Store: store, Model: m, System: "be brief", MaxTurns: 7, ToolCalls: selvage.ToolCallsBatch, MaxOutputTokens: 99,
		Price: &model.Price{Input: 1_000_000, Output: 1_000_000}, Tools: []tool.Tool{gated(selvage.EffectNone, ran), echoTool("echo", selvage.EffectNone)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"x"}`)
	before, err := runner.FindRun(t.Context(), store, waits.RunID)
	if err != nil || before.Status != selvage.RunWaiting || before.Waiting == nil {
		t.Fatalf("%+v, %v", before, err)
	}
	decide(t, store, waits.RunID, approve, "")
	var status []selvage.RunStatus
	start := func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
		status = append(status, at.Run.Status)
		if at.Run.Cost != before.Cost || at.Run.Steps != 1 || at.Run.Usage != before.Usage {
			t.Errorf("it goes on as %+v", at.Run)
		}
		if ran.Load() != 0 {
			t.Error("the call ran before the run's start")
		}
		return selvage.Effects{}, nil
	}
	other := opts
	other.System, other.MaxTurns, other.ToolCalls, other.MaxOutputTokens = "be long", 1, "", 1
	other.Hooks = []selvage.Hook{{Name: "h", RunStart: start}}
	result, err := newRunner(t, other).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	if err != nil || result.Outcome.Kind != selvage.OutcomeCompleted || result.Cost <= before.Cost || result.Steps != 2 {
		t.Errorf("resumed: %+v, %v", result, err)
	}
	for _, req := range m.requests {
		if req.System != "be brief" || len(req.Tools) != 2 || req.MaxOutputTokens != 99 {
			t.Errorf("the model was asked with %q, %d tools, %d tokens", req.System, len(req.Tools), req.MaxOutputTokens)
		}
	}
	after, err := runner.FindRun(t.Context(), store, waits.RunID)
	if diff := cmp.Diff(before.Spec, after.Spec); err != nil || diff != "" || after.Waiting != nil || len(status) != 1 {
		t.Errorf("the run became %+v, %v; started %v", after, err, status)
	}
}

// A runner that lacks what a run is made of says so, and who has it; the run
// goes on waiting.
func TestResumeLacks(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, AgentID: "deployer", Tools: []tool.Tool{gated(selvage.EffectNone, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"x"}`)
	decide(t, store, waits.RunID, approve, "")
	version := load(t, store, "t").Thread.Version
	bare := newRunner(t, runner.Options{Store: store, AgentID: "deployer"})
	_, err := bare.Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	var lacks *runner.CannotResumeError
	if !errors.As(err, &lacks) || lacks.Lacks != "it needs tool deploy, which is not here" || lacks.Needs != "model sim/echo, the tools deploy, agent deployer" || !errors.Is(err, selvage.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if recovered, err := bare.Recover(t.Context()); err != nil || len(recovered) != 0 || load(t, store, "t").Thread.Version != version {
		t.Errorf("recovered %v, %v", recovered, err)
	}
	if _, err := newRunner(t, opts).Resume(t.Context(), "none", runner.ResumeOptions{}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("no run: %v", err)
	}
	if _, err := newRunner(t, runner.Options{}).Resume(t.Context(), "none", runner.ResumeOptions{}); !errors.Is(err, selvage.ErrUnsupported) {
		t.Errorf("no store: %v", err)
	}
	// Naming the run as input goes on with it too.
	in := runner.Text("ignored")
	in.RunID = waits.RunID
	if result, err := newRunner(t, opts).Run(t.Context(), "t", in); err != nil || result.Text != "Done: deployed to x" {
		t.Errorf("named: %+v, %v", result, err)
	}
}

// Recovering takes up what was decided or whose time has come, and leaves
// alone what still waits.
func TestRecoverTakesUpWhatCanGoOn(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	now := time.Now()
	until := now.Add(time.Hour)
	naps := tool.New("naps", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
		if c.Decision == nil {
			return "", tool.Suspend(selvage.Ticket{Reason: selvage.WaitBackground, Until: &until})
		}
		return "woken by " + c.Decision.By, nil
	}, tool.Options{Effect: selvage.EffectNone})
	hears := tool.Func("hears", "", func(context.Context, struct{}) (string, error) {
		return "", tool.Suspend(selvage.Ticket{Reason: selvage.WaitExternalEvent, Signal: "bell", Mode: selvage.ResumeResult})
	}, tool.Options{Effect: selvage.EffectNone})
	opts := runner.Options{Store: store, Now: func() time.Time { return now }, Tools: []tool.Tool{gated(selvage.EffectNone, ran), naps, hears}}
	r := newRunner(t, opts)
	for thread, say := range map[selvage.ThreadID]string{"decided": `call deploy {"to":"x"}`, "asks": `call deploy {"to":"y"}`, "naps": "call naps {}", "hears": "call hears {}"} {
		waits := suspended(t, r, thread, say)
		switch thread {
		case "decided":
			decide(t, store, waits.RunID, approve, "")
		case "naps":
			if w := waits.Waiting; w.Until == nil || !w.Until.Equal(until.Truncate(time.Millisecond)) {
				t.Errorf("it waits for %+v", w)
			}
		case "hears":
			if err := runner.Signal(t.Context(), store, waits.RunID, "bell", json.RawMessage(`"ding"`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	told := func() map[selvage.ThreadID]string {
		recovered, err := r.Recover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[selvage.ThreadID]string{}
		for _, one := range recovered {
			got[one.ThreadID] = one.Result.Text
		}
		return got
	}
	if diff := cmp.Diff(map[selvage.ThreadID]string{"decided": "Done: deployed to x", "hears": "Done: ding"}, told()); diff != "" {
		t.Errorf("recovered (-want +got):\n%s", diff)
	}
	now = until.Add(time.Second)
	if diff := cmp.Diff(map[selvage.ThreadID]string{"naps": "Done: woken by clock"}, told()); diff != "" {
		t.Errorf("recovered later (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[selvage.ThreadID]string{}, told()); diff != "" {
		t.Errorf("recovered again (-want +got):\n%s", diff)
	}
}

// A new message to a thread whose run waits begins a new run, and ends the one
// that waited.
func TestNewRunSupersedesTheWaiting(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, Tools: []tool.Tool{gated(selvage.EffectNone, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"x"}`)
	mustRun(t, newRunner(t, opts), "t", "never mind")
	run, err := runner.FindRun(t.Context(), store, waits.RunID)
	if err != nil || run.Outcome == nil || run.Outcome.Code != runner.CodeSuperseded {
		t.Errorf("%+v, %v", run, err)
	}
	var done *runner.DoneError
	if _, err := runner.Decide(t.Context(), store, waits.RunID, approve, ""); !errors.As(err, &done) {
		t.Errorf("decided too late: %v", err)
	}
	checkComplete(t, store, "t")
}

// A suspended call is found though its message is far beyond the window, in
// this process and in another, and the model is told what it came to.
func TestSuspendedBeyondTheWindow(t *testing.T) {
	t.Parallel()
	for _, turns := range []int{9, 110} { // the latter are more than a page of messages
		suspendedBeyondTheWindow(t, turns)
	}
}

func suspendedBeyondTheWindow(t *testing.T, turns int) {
	t.Helper()
	store, ran := newSpy(), &atomic.Int32{}
	m := &scripted{streams: [][]any{{call("deploy", `{"to":"x"}`), call("echo", `{"text":"a"}`), stop}}}
	for range turns {
		m.streams = append(m.streams, []any{call("echo", `{"text":"b"}`), stop})
	}
	m.streams = append(m.streams, []any{text("I wait"), stop}, []any{text("thanks"), stop})
	seen := &recorder{Model: m}
	opts := runner.Options{Store: store, Model: seen, Window: 4, MaxTurns: -1, ToolCalls: selvage.ToolCallsParallel,
		Tools: []tool.Tool{gated(selvage.EffectOnce, ran), echoTool("echo", selvage.EffectNone)}}
	waits := suspended(t, newRunner(t, opts), "t", "hi")
	if len(waits.Tickets) != 1 || string(waits.Tickets[0].Call.Arguments) != `{"to":"x"}` || waits.Steps != turns+2 {
		t.Fatalf("it waits with %+v", waits)
	}
	decide(t, store, waits.RunID, approve, "")
	result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	if err != nil || result.Text != "thanks" || ran.Load() != 1 {
		t.Errorf("resumed: %+v, %v; ran %d times", result, err, ran.Load())
	}
	last := seen.requests[len(seen.requests)-1].Messages
	if got := transcript(last); !strings.Contains(got, "deployed to x") || !strings.Contains(got, "has arrived") {
		t.Errorf("the model was given\n%s", got)
	}
	checkComplete(t, store, "t")
	verify(t, store, "t")
}

// What a call did of its steps before its process died is not done again.
func TestStepsSurviveACrash(t *testing.T) {
	t.Parallel()
	store := newSpy()
	var first, second atomic.Int32
	steps := tool.Func("steps", "", func(ctx context.Context, _ struct{}) (int32, error) {
		a, err := runner.Step(ctx, "first", func(context.Context) (int32, error) { return 10 * first.Add(1), nil })
		if err != nil {
			return 0, err
		}
		b, err := runner.Step(ctx, "second", func(context.Context) (int32, error) { return second.Add(1), nil })
		return a + b, err
	}, tool.Options{Effect: selvage.EffectIdempotent})
	opts := runner.Options{Tools: []tool.Tool{steps}}
	die(t, store, opts, "call steps {}", 4) // the result of the second step
	opts.Store = store
	recovered, err := newRunner(t, opts).Recover(t.Context())
	if err != nil || len(recovered) != 1 || recovered[0].Result.Text != "Done: 12" || first.Load() != 1 || second.Load() != 2 {
		t.Errorf("recovered %+v, %v; the first ran %d times, the second %d", recovered, err, first.Load(), second.Load())
	}
	if got := load(t, store, "t").State; got.Len() != 0 {
		t.Errorf("state %s", got)
	}
	checkComplete(t, store, "t")
	verify(t, store, "t")
}

// Steps of calls that run together do not get into each other's way, and
// their errors are the tool's.
func TestStepsTogether(t *testing.T) {
	t.Parallel()
	type in struct {
		N int `json:"n"`
	}
	var failed atomic.Int32
	steps := tool.Func("steps", "", func(ctx context.Context, in in) (int, error) {
		if _, err := runner.Step(ctx, "fails once", func(context.Context) (int, error) {
			if failed.Add(1) == 1 {
				return 0, errors.New("not yet")
			}
			return 0, nil
		}); err != nil && err.Error() != "not yet" {
			return 0, err
		}
		return runner.Step(ctx, "n", func(context.Context) (int, error) { return in.N, nil })
	}, tool.Options{Effect: selvage.EffectIdempotent})
	store := newSpy()
	r := newRunner(t, runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{steps}})
	if result := mustRun(t, r, "t", `call steps {"n":1} && steps {"n":2} && steps {"n":3}`); result.Text != "Done: 1; 2; 3" {
		t.Errorf("answer %q", result.Text)
	}
	if got := load(t, store, "t").State; got.Len() != 0 {
		t.Errorf("state %s", got)
	}
	if _, err := runner.Step(t.Context(), "outside", func(context.Context) (int, error) { return 0, nil }); !errors.Is(err, selvage.ErrUnsupported) {
		t.Errorf("a step of no call: %v", err)
	}
	verify(t, store, "t")
}

// A step that cannot be recorded ends the run, and counts as not taken.
func TestStepNotRecorded(t *testing.T) {
	t.Parallel()
	store := newSpy()
	store.before = refuse(3, false, &selvage.InvalidError{Reason: "no"})
	var told error
	steps := tool.Func("steps", "", func(ctx context.Context, _ struct{}) (int, error) {
		_, told = runner.Step(ctx, "a", func(context.Context) (int, error) { return 1, nil })
		return 0, told
	}, tool.Options{Effect: selvage.EffectIdempotent})
	_, err := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{steps}}).Run(t.Context(), "t", runner.Text("call steps {}"))
	var state *runner.StateError
	if !errors.As(err, &state) || !errors.As(told, &state) {
		t.Errorf("the run: %v, the step: %v", err, told)
	}
	checkComplete(t, store, "t")
}

// The result of a step is where it was recorded, and nowhere after the call.
func TestStepIsCommittedAlone(t *testing.T) {
	t.Parallel()
	store := newSpy()
	seen := ""
	steps := tool.New("steps", "", func(ctx context.Context, c *tool.Call, _ struct{}) (int, error) {
		n, err := runner.Step(ctx, "a", func(context.Context) (int, error) { return 7, nil })
		v, _ := load(t, store, "t").State.Get(state.At(state.CallsKey, c.ID))
		seen = string(v.AppendJSON(nil))
		return n, err
	}, tool.Options{Effect: selvage.EffectIdempotent})
	mustRun(t, newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{steps}}), "t", "call steps {}")
	if !strings.Contains(seen, `"a":7`) {
		t.Errorf("recorded %s", seen)
	}
	if want := "tool_results_committed: patch runner:step\ntool_results_committed: tool, patch runner:call_end\n"; !strings.Contains(store.schedule(), want) {
		t.Errorf("log:\n%s", store.schedule())
	}
}
