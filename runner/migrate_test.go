package runner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
)

// planSpecs are the specs of a program that has known n shapes of one key: a
// name, and since version 1 an object with the name in it.
func planSpecs(t testing.TB, n int) *state.Specs {
	t.Helper()
	spec := state.Spec{Name: "plan", Version: n}
	if n > 0 {
		spec.Migrations = map[int]state.MigrateFunc{0: func(v state.Value) (state.Value, error) {
			doc, err := state.Patch{state.Set("/name", v)}.Apply(state.Document{})
			return doc.Root(), err
		}}
	}
	specs, err := state.NewSpecs(spec)
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

// plan appends a plan as version 0 of the program wrote it.
func plan(t testing.TB, s selvage.Store, runs ...selvage.RunUpdate) {
	t.Helper()
	if _, err := s.Append(t.Context(), "t", selvage.ChangeSet{Runs: runs, Messages: []selvage.Message{selvage.UserText("recall")},
		Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set("/plan", state.String("trip"))}}}}, selvage.New()); err != nil {
		t.Fatal(err)
	}
}

// The first change of a run brings the state to the shape that the program
// knows, and no later one does.
func TestMigrate(t *testing.T) {
	t.Parallel()
	store := newSpy()
	plan(t, store.Store)
	r := newRunner(t, runner.Options{Store: store, State: planSpecs(t, 1)})
	mustRun(t, r, "t", "hi")
	mustRun(t, r, "t", "hi")
	if got := load(t, store, "t").State.String(); got != `{"__specs":{"plan":1},"plan":{"name":"trip"}}` {
		t.Errorf("state %s", got)
	}
	first, rest, _ := strings.Cut(store.schedule(), "\n")
	if first != "user_message: user, patch runner:migrate, run running" || strings.Contains(rest, "migrate") {
		t.Errorf("the changes are\n%s\n%s", first, rest)
	}
	verify(t, store, "t")
}

// A state that is handed in has the shape that its program knows.
func TestMigrateHandedIn(t *testing.T) {
	t.Parallel()
	for handed, want := range map[string]string{
		`{"plan":{"name":"new"}}`:                `{"__specs":{"plan":1},"plan":{"name":"new"}}`,
		`{"__specs":{"plan":0},"plan":"former"}`: `{"__specs":{"plan":1},"plan":{"name":"former"}}`,
	} {
		doc, err := state.Parse([]byte(handed))
		if err != nil {
			t.Fatal(err)
		}
		store := newSpy()
		in := runner.Text("hi")
		in.State = &doc
		if _, err := newRunner(t, runner.Options{Store: store, State: planSpecs(t, 1)}).Run(t.Context(), "t", in); err != nil {
			t.Fatal(err)
		}
		if got := load(t, store, "t").State.String(); got != want {
			t.Errorf("%s became %s, want %s", handed, got, want)
		}
	}
}

// State of a newer program is refused before anything is written.
func TestMigrateNewer(t *testing.T) {
	t.Parallel()
	store := newSpy()
	mustRun(t, newRunner(t, runner.Options{Store: store, State: planSpecs(t, 1)}), "t", "hi")
	before := load(t, store, "t").Thread.Version
	_, err := newRunner(t, runner.Options{Store: store, State: planSpecs(t, 0)}).Run(t.Context(), "t", runner.Text("hi"))
	if !errors.Is(err, state.ErrSpecVersion) || !errors.Is(err, selvage.ErrUnsupported) {
		t.Errorf("an older program: %v", err)
	}
	if v := load(t, store, "t").Thread.Version; v != before {
		t.Errorf("it wrote version %d", v)
	}
}

// A run that is taken over from an older program goes on in the new shape.
func TestMigrateRecovered(t *testing.T) {
	t.Parallel()
	store := newSpy()
	spec := selvage.RunSpec{Model: newModel(t).Name()}
	plan(t, store.Store, selvage.RunUpdate{ID: "r", Spec: &spec, Status: selvage.RunRunning})
	all, err := newRunner(t, runner.Options{Store: store, State: planSpecs(t, 1)}).Recover(t.Context())
	if err != nil || len(all) != 1 || all[0].Difference != "" || all[0].Err != nil {
		t.Fatalf("recovered %v, %v", all, err)
	}
	if got := load(t, store, "t").State.String(); got != `{"__specs":{"plan":1},"plan":{"name":"trip"}}` {
		t.Errorf("state %s", got)
	}
	verify(t, store, "t")
}
