package runner_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// writer is a tool that sets /own/a, and appends what a test wants behind the
// run's back before it returns.
func writer(store selvage.Store, interfere func() selvage.ChangeSet) tool.Tool {
	return tool.New("write", "", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		if err := c.Patch(state.Set("/own/a", state.Int(1))); err != nil {
			return "", err
		}
		if _, err := store.Append(ctx, c.ThreadID, interfere(), selvage.Any()); err != nil {
			return "", err
		}
		return "written", nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown})
}

func patchSet(ops ...state.Op) selvage.ChangeSet {
	return selvage.ChangeSet{Patches: []selvage.StatePatch{{Source: "somebody", Ops: ops}}}
}

// What others append during a run is taken in if it does not contradict it.
func TestCompatibleChanges(t *testing.T) {
	t.Parallel()
	title := "renamed"
	replacement, err := state.Parse([]byte(`{"all":"new"}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		set   selvage.ChangeSet
		state string
	}{
		"a title":              {selvage.ChangeSet{Reason: selvage.ReasonThreadUpdated, Thread: &selvage.ThreadUpdate{Title: &title}}, `{"own":{"a":1}}`},
		"a message":            {selvage.ChangeSet{Messages: []selvage.Message{{Role: selvage.RoleSystem, Content: selvage.Text("psst")}}}, `{"own":{"a":1}}`},
		"an empty set":         {selvage.ChangeSet{}, `{"own":{"a":1}}`},
		"state elsewhere":      {patchSet(state.Set("/own/b", state.Int(2))), `{"own":{"a":1,"b":2}}`},
		"another run's change": {selvage.ChangeSet{RunID: "other", Reason: selvage.ReasonStateEdited}, `{"own":{"a":1}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{writer(store.Store, func() selvage.ChangeSet { return tt.set })}})
			result := mustRun(t, r, "t", "call write {}")
			if result.Text != "Done: written" || result.Version != 6 {
				t.Errorf("answer %q at version %d", result.Text, result.Version)
			}
			if got := load(t, store, "t").State.String(); got != tt.state {
				t.Errorf("state %s, want %s", got, tt.state)
			}
			sent := map[string]int{}
			for _, set := range store.sent {
				sent[set.ID]++
			}
			if len(sent) != 5 || len(store.sent) != 6 {
				t.Errorf("%d sets sent %d times; want the one that lost to be sent again under its id", len(sent), len(store.sent))
			}
			verify(t, store, "t")
		})
	}
	// Replaced state is compatible with a delta that changes none.
	t.Run("a snapshot, no patch of the run's", func(t *testing.T) {
		t.Parallel()
		store := newSpy()
		peek := tool.Func("peek", "", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := store.Store.Append(ctx, "t", selvage.ChangeSet{Snapshot: &replacement}, selvage.Any())
			return "peeked", err
		}, tool.Options{Effect: selvage.EffectNone})
		seen := ""
		hook := selvage.Hook{Name: "h", RunEnd: func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
			seen = at.State.String()
			return selvage.Effects{}, nil
		}}
		mustRun(t, newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{peek}, Hooks: []selvage.Hook{hook}}), "t", "call peek {}")
		if seen != `{"all":"new"}` {
			t.Errorf("the run goes on from state %s", seen)
		}
	})
}

// A message that arrives during a run reaches the model with its next
// inference, at its place in the log.
func TestNewMessagesJoin(t *testing.T) {
	t.Parallel()
	store := newSpy()
	m := &recorder{Model: newModel(t)}
	interfere := func() selvage.ChangeSet {
		return selvage.ChangeSet{Messages: []selvage.Message{{Role: selvage.RoleSystem, Content: selvage.Text("psst")}}}
	}
	r := newRunner(t, runner.Options{Store: store, Model: m, Tools: []tool.Tool{writer(store.Store, interfere)}})
	mustRun(t, r, "t", "call write {}")
	const want = "user: call write {}\nassistant:  [write {}]\ntool: written\nsystem: psst\n"
	if got := transcript(m.requests[1].Messages); got != want {
		t.Errorf("the model was given\n%swant\n%s", got, want)
	}
}

// recorder keeps what a model is asked.
type recorder struct {
	model.Model
	requests []model.Request
}

func (m *recorder) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	m.requests = append(m.requests, req)
	return m.Model.Stream(ctx, req)
}

// What contradicts a run ends it: what it said and did is recorded, what it
// was about to change is not.
func TestIncompatibleChanges(t *testing.T) {
	t.Parallel()
	replacement, err := state.Parse([]byte(`{"all":"new"}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		set   selvage.ChangeSet
		state string
	}{
		"the same place":  {patchSet(state.Set("/own/a", state.Int(2))), `{"own":{"a":2}}`},
		"a place above":   {patchSet(state.Set("/own", state.Int(2))), `{"own":2}`},
		"replaced state":  {selvage.ChangeSet{Snapshot: &replacement}, `{"all":"new"}`},
		"then a good one": {patchSet(state.Set("/own/a", state.Int(2)), state.Set("/b", state.Int(3))), `{"b":3,"own":{"a":2}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{writer(store.Store, func() selvage.ChangeSet { return tt.set })}})
			result, err := r.Run(t.Context(), "t", runner.Text("call write {}"))
			var incompatible *runner.IncompatibleError
			if !errors.As(err, &incompatible) || incompatible.Version != 3 || !errors.Is(err, selvage.ErrConflict) {
				t.Fatalf("error %v: want a contradiction at version 3", err)
			}
			if o := result.Outcome; o.Kind != selvage.OutcomeFailed || o.Code != "conflict" {
				t.Errorf("outcome %v", o)
			}
			head := load(t, store, "t")
			if got := head.State.String(); got != tt.state {
				t.Errorf("state %s, want %s", got, tt.state)
			}
			last := head.Messages[len(head.Messages)-1]
			if text := transcript(head.Messages); !strings.Contains(text, "tool: It ran, but its changes to the state contradict what somebody else has recorded meanwhile (") ||
				!strings.HasSuffix(text, "). None of them was made. Its result was:\nwritten\n") || string(last.Metadata[runner.MetadataFailed]) != "true" || len(head.OpenCalls) > 0 || head.OpenRun != nil {
				t.Errorf("what happened is not recorded:\n%s calls %v run %v", text, head.OpenCalls, head.OpenRun)
			}
			verify(t, store, "t")
		})
	}
}

// A run that somebody else has ended records nothing more.
func TestRunEndedBySomebodyElse(t *testing.T) {
	t.Parallel()
	store := newSpy()
	interfere := func() selvage.ChangeSet {
		run := load(t, store, "t").OpenRun.ID
		return selvage.ChangeSet{Reason: selvage.ReasonRunFinished, Runs: []selvage.RunUpdate{{ID: run, Status: selvage.RunDone,
			Outcome: &selvage.Outcome{Kind: selvage.OutcomeCancelled}}}}
	}
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{writer(store.Store, interfere)}})
	_, err := r.Run(t.Context(), "t", runner.Text("call write {}"))
	var failed *runner.FailedError
	if errors.As(err, &failed) || !errors.Is(err, selvage.ErrConflict) {
		t.Errorf("error %v: want a bare conflict", err)
	}
	if v := load(t, store, "t").Thread.Version; v != 3 {
		t.Errorf("version %d, want 3", v)
	}
}

// Somebody who is faster between load and append only makes the run look again.
func TestPrepareRaces(t *testing.T) {
	t.Parallel()
	for name, pre := range map[string]selvage.Precondition{"a thread that appears": selvage.New(), "a thread that moves on": selvage.Any()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			if pre.IsAny() {
				if _, err := store.Store.Append(t.Context(), "t", selvage.ChangeSet{}, selvage.New()); err != nil {
					t.Fatal(err)
				}
			}
			store.before = func(n int, set *selvage.ChangeSet) error {
				if n > 1 {
					return nil
				}
				_, err := store.Store.Append(t.Context(), "t", patchSet(state.Set("/a", state.Int(1))), pre)
				return err
			}
			result := mustRun(t, newRunner(t, runner.Options{Store: store}), "t", "hi")
			if result.Text != "You said: hi" || len(verify(t, store, "t")) != int(result.Version) {
				t.Errorf("answer %q at version %d", result.Text, result.Version)
			}
		})
	}
}

// A contradiction that shows only when the end is recorded makes the run a
// failed one, and that is recorded.
func TestContradictedEnd(t *testing.T) {
	t.Parallel()
	store := newSpy()
	hook := selvage.Hook{Name: "h", RunEnd: func(ctx context.Context, at selvage.Scene) (selvage.Effects, error) {
		_, err := store.Store.Append(ctx, "t", patchSet(state.Set("/own/a", state.Int(2))), selvage.Any())
		return selvage.Effects{Patch: state.Patch{state.Set("/own/a", state.Int(1))}}, err
	}}
	result, err := newRunner(t, runner.Options{Store: store, Hooks: []selvage.Hook{hook}}).Run(t.Context(), "t", runner.Text("hi"))
	var failed *runner.FailedError
	if !errors.As(err, &failed) || !errors.Is(err, selvage.ErrConflict) || result.Outcome.Code != "conflict" {
		t.Errorf("outcome %v, error %v", result.Outcome, err)
	}
	head := load(t, store, "t")
	if head.OpenRun != nil || head.State.String() != `{"own":{"a":2}}` {
		t.Errorf("open run %v, state %s", head.OpenRun, head.State)
	}
}

// A thread that is deleted under a run ends it.
func TestThreadDeleted(t *testing.T) {
	t.Parallel()
	store := newSpy()
	remove := tool.Func("remove", "", func(ctx context.Context, _ struct{}) (string, error) {
		return "", store.Delete(ctx, "t", selvage.DeleteReject)
	}, tool.Options{Effect: selvage.EffectNone})
	_, err := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{remove}}).Run(t.Context(), "t", runner.Text("call remove {}"))
	var bare *runner.StateError
	if !errors.As(err, &bare) || !errors.Is(err, selvage.ErrGone) {
		t.Errorf("error %v, want gone", err)
	}
	if _, err := newRunner(t, runner.Options{Store: store}).Run(t.Context(), "t", runner.Text("hi")); !errors.Is(err, selvage.ErrGone) {
		t.Errorf("a deleted thread: %v, want gone", err)
	}
}

// After changes of others the run goes on from all that is recorded, what it
// has recorded itself included.
func TestStateAfterAbsorbing(t *testing.T) {
	t.Parallel()
	store := newSpy()
	quiet := tool.New("quiet", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
		return "", c.Patch(state.Set("/own/b", state.Int(1)))
	}, tool.Options{Effect: selvage.EffectNone})
	peek := tool.Func("peek", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := store.Store.Append(ctx, "t", patchSet(state.Set("/theirs", state.Int(1))), selvage.Any())
		return "", err
	}, tool.Options{Effect: selvage.EffectNone})
	seen := ""
	hook := selvage.Hook{Name: "h", RunEnd: func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
		seen = at.State.String()
		return selvage.Effects{}, nil
	}}
	m := &scripted{streams: [][]any{{call("quiet", "{}"), stop}, {call("peek", "{}"), stop}, {text("ok"), stop}}}
	mustRun(t, newRunner(t, runner.Options{Store: store, Model: m, Tools: []tool.Tool{quiet, peek}, Hooks: []selvage.Hook{hook}}), "t", "hi")
	if want := `{"own":{"b":1},"theirs":1}`; seen != want || load(t, store, "t").State.String() != want {
		t.Errorf("the run ends with state %s, want %s", seen, want)
	}
}
