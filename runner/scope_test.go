package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// The keys of the tests: one of each scope.
type keys struct {
	total, budget, draft state.Key[int64]
	specs                *state.Specs
}

func newKeys(t testing.TB) keys {
	t.Helper()
	k, err := makeKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func makeKeys() (keys, error) {
	k := keys{
		total:  state.NewKey[int64](state.Spec{Name: "total", Reducer: state.ReduceSum}),
		budget: state.NewKey[int64](state.Spec{Name: "budget", Scope: state.ScopeRun, Reducer: state.ReduceSum}),
		draft:  state.NewKey[int64](state.Spec{Name: "draft", Scope: state.ScopeToolCall}),
	}
	var err error
	k.specs, err = state.NewSpecs(k.total.Spec(), k.budget.Spec(), k.draft.Spec())
	return k, err
}

// spend is a tool that adds to a key of each scope.
func (k keys) spend() tool.Tool {
	return tool.New("spend", "", func(_ context.Context, c *tool.Call, in struct {
		N int64 `json:"n"`
	}) (int64, error) {
		if err := tool.Update(c, k.total, in.N); err != nil {
			return 0, err
		}
		if err := tool.Update(c, k.budget, in.N); err != nil {
			return 0, err
		}
		if err := tool.Set(c, k.draft, in.N); err != nil {
			return 0, err
		}
		n, _, err := tool.Get(c, k.budget)
		return n, err
	}, tool.Options{Effect: selvage.EffectNone})
}

// Thread state stays, run state goes when the next run is prepared, and what a
// call keeps for itself goes when it ends.
func TestScopes(t *testing.T) {
	t.Parallel()
	k, store := newKeys(t), newSpy()
	r := newRunner(t, runner.Options{Store: store, State: k.specs, Tools: []tool.Tool{k.spend()}})
	// The second call sees what the first one did.
	if result := mustRun(t, r, "t", `call spend {"n":1} && spend {"n":2}`); result.Text != "Done: 1; 3" {
		t.Errorf("answer %q", result.Text)
	}
	if got := load(t, store, "t").State.String(); got != `{"budget":3,"total":3}` {
		t.Errorf("state after the run: %s", got)
	}
	if result := mustRun(t, r, "t", `call spend {"n":4}`); result.Text != "Done: 4" {
		t.Errorf("answer %q: the budget of the run before is still there", result.Text)
	}
	if got := load(t, store, "t").State.String(); got != `{"budget":4,"total":7}` {
		t.Errorf("state after the second run: %s", got)
	}
}

// Keys of scope run are measured on the state as rebuilt from the log, so that
// they do not outlive a crash or hide in a state that is handed in.
func TestRunScopeAfterCrash(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	handed, err := state.Parse([]byte(`{"budget":9,"__calls":{"x":{"draft":1}},"kept":1}`))
	if err != nil {
		t.Fatal(err)
	}
	crashed := func(s selvage.Store) {
		if _, err := s.Append(t.Context(), "t", selvage.ChangeSet{RunID: "dead", Reason: selvage.ReasonUserMessage,
			Runs:     []selvage.RunUpdate{{ID: "dead", Status: selvage.RunRunning}},
			Messages: []selvage.Message{selvage.UserText("hello")},
			Patches:  []selvage.StatePatch{{Ops: state.Patch{state.Set("/budget", state.Int(5)), state.Set("/__calls/x/draft", state.Int(1)), state.Set("/kept", state.Int(1))}}},
		}, selvage.New()); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		before func(selvage.Store)
		in     *state.Document
		first  string // change of the run
	}{
		"left by a crash":   {crashed, nil, "user_message: user, patch runner:prepare, run failed/abandoned, run running"},
		"handed in":         {func(selvage.Store) {}, &handed, "user_message: user, snapshot, run running"},
		"handed in instead": {crashed, &handed, "user_message: user, snapshot, run failed/abandoned, run running"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			tt.before(store.Store)
			in := runner.Text("hi")
			in.State = tt.in
			r := newRunner(t, runner.Options{Store: store, State: k.specs})
			if _, err := r.Run(t.Context(), "t", in); err != nil {
				t.Fatal(err)
			}
			if first, _, _ := strings.Cut(store.schedule(), "\n"); first != tt.first {
				t.Errorf("the run begins with\n%s, want\n%s", first, tt.first)
			}
			if got := load(t, store, "t").State.String(); got != `{"kept":1}` {
				t.Errorf("state %s", got)
			}
			verify(t, store, "t")
		})
	}
}

// A call that fails changes nothing.
func TestFailedCallChangesNothing(t *testing.T) {
	t.Parallel()
	store := newSpy()
	half := tool.New("half", "", func(_ context.Context, c *tool.Call, _ struct{}) (selvage.ToolResult, error) {
		return tool.Failed("no"), c.Patch(state.Set("/a", state.Int(1)))
	}, tool.Options{Effect: selvage.EffectNone})
	crash := tool.New("crash", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
		if err := c.Patch(state.Set("/b", state.Int(1))); err != nil {
			return "", err
		}
		panic("ouch")
	}, tool.Options{Effect: selvage.EffectNone})
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{half, crash}})
	if result := mustRun(t, r, "t", "call half {} && crash {}"); result.Text != "Done: no; crash crashed: ouch" {
		t.Errorf("answer %q", result.Text)
	}
	if got := load(t, store, "t").State.String(); got != "{}" {
		t.Errorf("state %s", got)
	}
}
