package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// Of many who decide at once one is recorded, and the others are told who was
// faster.
func TestDecisionsRace(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"prod"}`)
	var recorded, told atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			d := selvage.Decision{Action: selvage.DecisionResume, By: fmt.Sprint("racer ", i)}
			got, err := runner.Decide(t.Context(), store, waits.RunID, d, waits.Tickets[0].Ticket.ID)
			switch {
			case err != nil:
				t.Error(err)
			case got.Status == runner.Recorded:
				recorded.Add(1)
			case got.Status == runner.AlreadyDecided && strings.HasPrefix(got.Decision.By, "racer ") && got.Decision.By != d.By:
				told.Add(1)
			default:
				t.Errorf("racer %d is told %+v", i, got)
			}
		})
	}
	all.Wait()
	if recorded.Load() != 1 || told.Load() != 7 {
		t.Errorf("%d recorded, %d told", recorded.Load(), told.Load())
	}
	// So do those who go on with it: one does, the others find it done.
	var completed atomic.Int32
	for range 4 {
		all.Go(func() {
			_, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
			var done *runner.DoneError
			if err == nil {
				completed.Add(1)
			} else if !errors.As(err, &done) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if completed.Load() != 1 || ran.Load() != 1 {
		t.Errorf("%d completed it, ran %d times", completed.Load(), ran.Load())
	}
	checkComplete(t, store, "t")
}

// meddled is a store in which something happens before it is read.
type meddled struct {
	*spy
	loads atomic.Int32
	when  int32 // before this read, from 1
	do    func()
}

func (m *meddled) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	if m.loads.Add(1) == m.when {
		m.do()
	}
	return m.spy.Load(ctx, id, opts)
}

// A denial reads the thread more than once. Whenever an approval comes in
// between, one of them counts, and the other is told so.
func TestApprovedWhileItIsDenied(t *testing.T) {
	t.Parallel()
	for when, raced := int32(1), true; raced; when++ {
		store, ran := newSpy(), &atomic.Int32{}
		opts := runner.Options{Store: store, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}}
		waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"prod"}`)
		ticket := waits.Tickets[0].Ticket.ID
		raced = false
		var approved runner.Decided
		slow := &meddled{spy: store, when: when, do: func() {
			raced = true
			var err error
			if approved, err = runner.Decide(t.Context(), store, waits.RunID, selvage.Decision{Action: selvage.DecisionResume, By: "ann"}, ticket); err != nil {
				t.Errorf("approved before read %d: %v", when, err)
			}
		}}
		got, err := runner.Decide(t.Context(), slow, waits.RunID, selvage.Decision{Action: selvage.DecisionAbort, By: "bob"}, ticket)
		if err != nil {
			t.Fatal(err)
		}
		counts := map[runner.DecidedStatus]int{got.Status: 1}
		counts[approved.Status]++
		if raced && (counts[runner.Recorded] != 1 || counts[runner.AlreadyDecided] != 1) {
			t.Errorf("approved before read %d: %+v; denied: %+v; want one of them to count", when, approved, got)
		}
	}
}

// A decision that comes before its question is kept until it is asked, one
// that nobody ever asks for changes nothing, and a second one is told of the
// first.
func TestEarlyDecision(t *testing.T) {
	t.Parallel()
	store := newSpy()
	var early []runner.Decided
	send := func(ctx context.Context, c *tool.Call, d selvage.Decision, target string) error {
		got, err := runner.Decide(ctx, store, c.RunID, d, target)
		early = append(early, got)
		return err
	}
	asks := tool.New("asks", "", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		if c.Decision != nil {
			return "asked " + c.Decision.By, nil
		}
		err := errors.Join(send(ctx, c, approve, "the-ticket"), send(ctx, c, approve, "the-ticket"),
			send(ctx, c, selvage.Decision{ID: "no", Action: selvage.DecisionCancel}, "the-ticket"), send(ctx, c, approve, "nothing"))
		if err != nil {
			return "", err
		}
		return "", tool.Suspend(selvage.Ticket{ID: "the-ticket"})
	}, tool.Options{Effect: selvage.EffectIdempotent})
	result := mustRun(t, newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{asks}}), "t", "call asks {}")
	if result.Text != "Done: asked ada" || result.Waiting != nil {
		t.Errorf("%+v", result)
	}
	var got []string
	for _, d := range early {
		got = append(got, string(d.Status)+" "+string(d.Decision.Action))
	}
	if want := "buffered resume, repeated resume, already_decided resume, buffered resume"; strings.Join(got, ", ") != want {
		t.Errorf("told %s, want %s", strings.Join(got, ", "), want)
	}
	if state := load(t, store, "t").State.String(); strings.Contains(state, "the-ticket") {
		t.Errorf("the early decision was not taken up: %s", state)
	}
	mustRun(t, newRunner(t, runner.Options{Store: store}), "t", "hi")
	if state := load(t, store, "t").State.String(); state != "{}" {
		t.Errorf("the next run begins with %s", state)
	}
	checkComplete(t, store, "t")
	verify(t, store, "t")
}

// A decision that comes while the model answers takes effect in the same run,
// before the model is asked again, and the run need not wait for it.
func TestDecisionWhileItStreams(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	m := &scripted{streams: [][]any{{call("deploy", `{"to":"x"}`), call("echo", `{"text":"a"}`), stop}, {text("let me "), text("see"), stop}, {text("done"), stop}}}
	r := newRunner(t, runner.Options{Store: store, Model: m, Tools: []tool.Tool{gated(selvage.EffectOnce, ran), echoTool("echo", selvage.EffectNone)}, ToolCalls: selvage.ToolCallsParallel})
	decided := false
	for e, err := range r.Stream(t.Context(), "t", runner.Text("hi")) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == runner.EventDelta && !decided {
			decided = true
			decide(t, store, e.RunID, approve, "")
		}
		if e.Result != nil && (e.Result.Waiting != nil || e.Result.Text != "done") {
			t.Errorf("%+v", e.Result)
		}
	}
	if strings.Contains(store.schedule(), "run waiting") || ran.Load() != 1 {
		t.Errorf("ran %d times:\n%s", ran.Load(), store.schedule())
	}
	checkComplete(t, store, "t")
}

// A decision that is recorded just before the run waits does not get lost: the
// run goes on by itself.
func TestDecisionBeforeItWaits(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	store.before = func(_ int, set *selvage.ChangeSet) error {
		if len(set.Runs) == 1 && set.Runs[0].Status == selvage.RunWaiting {
			store.before = nil
			d := selvage.Decision{ID: "early", Action: selvage.DecisionResume}
			if got, err := runner.Decide(t.Context(), store.Store, set.RunID, d, set.Calls[0].CallID); err != nil || got.Status != runner.Buffered {
				t.Errorf("%+v, %v", got, err)
			}
		}
		return nil
	}
	result := mustRun(t, newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}}), "t", `call deploy {"to":"x"}`)
	if result.Text != "Done: deployed to x" || ran.Load() != 1 {
		t.Errorf("%+v; ran %d times", result, ran.Load())
	}
	verify(t, store, "t")
}

// Decisions that cannot be are refused, and change nothing.
func TestBadDecisions(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"a"} && deploy {"to":"b"}`)
	yes := selvage.DecisionResume
	tests := map[string]struct {
		run    selvage.RunID
		d      selvage.Decision
		target string
		code   string
	}{
		"2 calls wait for a decision, name one of them": {waits.RunID, selvage.Decision{Action: yes}, "", "invalid"},
		`there is no run "r"`:                           {"r", selvage.Decision{Action: yes}, "", "not_found"},
		`"perhaps" is not an action`:                    {waits.RunID, selvage.Decision{Action: "perhaps"}, "x", "invalid"},
		"neither result nor arguments":                  {waits.RunID, selvage.Decision{Action: selvage.DecisionCancel, Result: json.RawMessage("1")}, "x", "invalid"},
		"not both":                                      {waits.RunID, selvage.Decision{Action: yes, Result: json.RawMessage("1"), Arguments: json.RawMessage("{}")}, "x", "invalid"},
		"not a JSON object":                             {waits.RunID, selvage.Decision{Action: yes, Arguments: json.RawMessage("[1]")}, "x", "invalid"},
		"slashes and control characters":                {waits.RunID, selvage.Decision{Action: yes}, "a/b", "invalid"},
		"exceeds 1048576 bytes":                         {waits.RunID, selvage.Decision{Action: yes, Reason: strings.Repeat("x", 2<<20)}, "x", "too_large"},
	}
	version := load(t, store, "t").Thread.Version
	for want, tt := range tests {
		if _, err := runner.Decide(t.Context(), store, tt.run, tt.d, tt.target); err == nil || !strings.Contains(err.Error(), want) || selvage.Code(err) != tt.code {
			t.Errorf("%v (%s), want %s %q", err, selvage.Code(err), tt.code, want)
		}
	}
	for want, err := range map[string]error{
		"it is not JSON":       runner.Signal(t.Context(), store, waits.RunID, "s", json.RawMessage("{")),
		"may not be empty":     runner.Signal(t.Context(), store, waits.RunID, "", nil),
		`there is no run "no"`: runner.Signal(t.Context(), store, "no", "s", nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("signal: %v, want %q", err, want)
		}
	}
	if v := load(t, store, "t").Thread.Version; v != version {
		t.Errorf("what was refused made version %d", v)
	}
}

// A call that has ended is not opened again, by whatever is decided.
func TestTerminalCallsStay(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"a"} && deploy {"to":"b"}`)
	first := waits.Tickets[0].Call.ID
	decide(t, store, waits.RunID, approve, first)
	if _, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{}); err != nil || ran.Load() != 1 {
		t.Fatalf("%v; ran %d times", err, ran.Load())
	}
	if got, err := runner.Decide(t.Context(), store, waits.RunID, selvage.Decision{Action: selvage.DecisionResume}, first); err != nil || got.Status != runner.AlreadyDecided || got.Decision.By != "ada" {
		t.Errorf("decided again: %+v, %v", got, err)
	}
	if again, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{}); err != nil || again.Waiting == nil || ran.Load() != 1 {
		t.Errorf("%+v, %v; ran %d times", again, err, ran.Load())
	}
	store = newSpy()
	opts = runner.Options{Store: store, Tools: []tool.Tool{gated(selvage.EffectOnce, ran), counted(selvage.EffectOnce, new(atomic.Int32))}}
	waits = suspended(t, newRunner(t, opts), "t", `call count {} && deploy {"to":"b"}`)
	ended := load(t, store, "t").Messages[1].ToolCalls[0].ID
	if got, err := runner.Decide(t.Context(), store, waits.RunID, approve, ended); err == nil || !strings.HasSuffix(err.Error(), "has ended: it succeeded") {
		t.Errorf("a decision about what is done: %+v, %v", got, err)
	}
}
