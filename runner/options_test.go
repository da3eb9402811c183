package runner_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// Options that cannot be meant are refused before anything runs.
func TestOptions(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	echo := echoTool("echo", selvage.EffectNone)
	tests := map[string]struct {
		opts runner.Options
		want error
	}{
		"the least":      {runner.Options{Model: m}, nil},
		"no model":       {runner.Options{}, selvage.ErrInvalid},
		"window":         {runner.Options{Model: m, Window: -1}, selvage.ErrInvalid},
		"lease":          {runner.Options{Model: m, LeaseTTL: time.Millisecond}, selvage.ErrInvalid},
		"on active":      {runner.Options{Model: m, OnActive: "shove"}, selvage.ErrInvalid},
		"a tool twice":   {runner.Options{Model: m, Tools: []tool.Tool{echo, echo}}, selvage.ErrInvalid},
		"a broken tool":  {runner.Options{Model: m, Tools: []tool.Tool{echoTool("a b", selvage.EffectNone)}}, selvage.ErrInvalid},
		"no leases":      {runner.Options{Model: m, Store: leaseless{newSpy()}}, selvage.ErrUnsupported},
		"everything set": {runner.Options{Model: m, Store: newSpy(), Tools: []tool.Tool{echo}, OnActive: runner.Reject, LeaseTTL: time.Second, Window: 1}, nil},
	}
	for name, tt := range tests {
		if _, err := runner.New(tt.opts); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// leaseless hides the leases of a store.
type leaseless struct{ *spy }

func (leaseless) Capability(any) bool { return false }
func (leaseless) Unwrap()             {}

// A runner without a store can ask, and nothing else.
func TestNoStore(t *testing.T) {
	t.Parallel()
	r := newRunner(t, runner.Options{})
	if result, err := r.Ask(t.Context(), runner.Text("hi")); err != nil || result.Text != "You said: hi" {
		t.Errorf("ask: %+v, %v", result, err)
	}
	if _, err := r.Run(t.Context(), "t", runner.Text("hi")); !errors.Is(err, selvage.ErrUnsupported) {
		t.Errorf("run: %v", err)
	}
	if _, err := r.Recover(t.Context()); !errors.Is(err, selvage.ErrUnsupported) {
		t.Errorf("recover: %v", err)
	}
}

// A run records what it was resolved to, and what it came to.
func TestRunRecord(t *testing.T) {
	t.Parallel()
	store := newSpy()
	echo := echoTool("echo", selvage.EffectOnce)
	r := newRunner(t, runner.Options{Store: store, System: "be kind", Tools: []tool.Tool{echo}, AgentID: "clerk", MaxTurns: 7})
	in := runner.Text(oneCall)
	in.RunID, in.ParentRunID = "r1", "r0"
	if _, err := r.Run(t.Context(), "t", in); err != nil {
		t.Fatal(err)
	}
	page, err := store.Runs(t.Context(), selvage.RunQuery{})
	if err != nil || len(page.Items) != 1 {
		t.Fatal(page, err)
	}
	run := page.Items[0]
	spec := echo.Spec()
	if run.ID != "r1" || run.ParentRunID != "r0" || run.AgentID != "clerk" || run.Steps != 2 || run.Outcome.Kind != selvage.OutcomeCompleted {
		t.Errorf("run %+v", run)
	}
	if s := run.Spec; s.Model != "sim/echo" || s.System != "be kind" || *s.Limits.Turns != 7 || len(s.Tools) != 1 || s.Tools[0] != spec.Use() {
		t.Errorf("spec %+v", s)
	}
	// Words in: 3 at first, then 3 and the result's one; words out: none, then two.
	if u := run.Usage; u.InputTokens != 7 || u.OutputTokens != 2 || run.Cost != 11*selvage.Dollar/1_000_000 {
		t.Errorf("usage %+v, cost %v", u, run.Cost)
	}
}

// What a thread says about itself can come with the run, but it is not taken
// for somebody else's.
func TestBelonging(t *testing.T) {
	t.Parallel()
	store := newSpy()
	mustRun(t, newRunner(t, runner.Options{Store: store}), "parent", "hi")
	r := newRunner(t, runner.Options{Store: store})
	parent, user, other := selvage.ThreadID("parent"), "ada", "bob"
	in := runner.Text("hi")
	in.Thread = &selvage.ThreadUpdate{ParentID: &parent, UserID: &user}
	for range 2 {
		if _, err := r.Run(t.Context(), "t", in); err != nil {
			t.Fatal(err)
		}
	}
	stranger := selvage.ThreadID("stranger")
	for _, update := range []*selvage.ThreadUpdate{{UserID: &other}, {ParentID: &stranger}} {
		in.Thread = update
		if _, err := r.Run(t.Context(), "t", in); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("%+v: %v, want invalid", update, err)
		}
	}
}

// A message that the thread already holds is not added again.
func TestInboundDeduplication(t *testing.T) {
	t.Parallel()
	store, asked := newSpy(), &recorder{Model: newModel(t)}
	r := newRunner(t, runner.Options{Store: store, Model: asked})
	m := selvage.UserText("hi")
	m.ID = "m1"
	var told []int64
	for range 2 {
		for e, err := range r.Stream(t.Context(), "t", runner.Input{Messages: []selvage.Message{m, m}}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Message != nil {
				told = append(told, e.Message.Seq)
			}
		}
	}
	if !slices.Equal(told, []int64{1, 2, 3}) {
		t.Errorf("messages told: %v, want each once", told)
	}
	if got := transcript(asked.requests[1].Messages); got != "user: hi\nassistant: You said: hi\n" {
		t.Errorf("the model was given\n%s", got)
	}
	if got := transcript(load(t, store, "t").Messages); got != "user: hi\nassistant: You said: hi\nassistant: You said: hi\n" {
		t.Errorf("thread:\n%s", got)
	}
}

// A state that is handed in replaces the thread's, and is not changed by the
// run in the hands of who watches it.
func TestReplacedState(t *testing.T) {
	t.Parallel()
	store := newSpy()
	doc, err := state.Parse([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	in := runner.Text("hi")
	in.State = &doc
	r := newRunner(t, runner.Options{Store: store, Hooks: []selvage.Hook{patching(selvage.MomentStepEnd)}})
	var seen *state.Document
	for e, err := range r.Stream(t.Context(), "t", in) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Snapshot != nil {
			seen = e.Snapshot
		}
	}
	if seen == nil || seen.String() != `{"a":1}` {
		t.Errorf("the event holds %v", seen)
	}
	if got := load(t, store, "t").State.String(); got != `{"a":1,"hook":{"step_end":1}}` {
		t.Errorf("state %s", got)
	}
}
