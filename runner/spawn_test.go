package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

// spawning is the tool that spawns.
func spawning(t testing.TB) tool.Tool {
	t.Helper()
	spawn, err := builtin.Named("spawn_agent", builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return spawn
}

// spawnedBy lists the runs that a run spawned, oldest first.
func spawnedBy(t testing.TB, store selvage.Store, of selvage.RunID) []selvage.Run {
	t.Helper()
	page, err := store.Runs(t.Context(), selvage.RunQuery{ParentRunID: of, Order: selvage.Ascending})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

// sheetOf is the budget of a run.
func sheetOf(t testing.TB, store selvage.Store, thread selvage.ThreadID, run selvage.RunID) budget.Sheet {
	t.Helper()
	s, err := budget.Book{Store: store, Thread: thread, Run: run}.Sheet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// results are the texts of the results of a thread's calls.
func results(t testing.TB, store selvage.Store, thread selvage.ThreadID) []string {
	t.Helper()
	var texts []string
	for _, m := range load(t, store, thread).Messages {
		if m.Role == selvage.RoleTool {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

const spawnHello = `call spawn_agent {"prompt":"hello"}`

// A spawned run has a thread of its own, knows its parent, and its answer is the
// result of the call.
func TestSpawn(t *testing.T) {
	t.Parallel()
	store := newSpy()
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, Limits: selvage.Limits{Spend: new(selvage.Dollar), Depth: new(3)}})
	in := runner.Text(spawnHello)
	in.Thread = &selvage.ThreadUpdate{UserID: new("alice")}
	result, err := r.Run(t.Context(), "t", in)
	if err != nil || result.Text != "Done: You said: hello" {
		t.Fatalf("%+v, %v", result, err)
	}
	below := spawnedBy(t, store, result.RunID)
	if len(below) != 1 || below[0].Outcome.Kind != selvage.OutcomeCompleted || below[0].Spec.Budget == nil || *below[0].Spec.Budget != (selvage.ChildRun{ThreadID: "t", RunID: result.RunID}) {
		t.Fatalf("children %+v", below)
	}
	child := load(t, store, below[0].ThreadID)
	if child.Thread.ParentID != "t" || child.Thread.UserID != "alice" || child.Thread.Title != "hello" {
		t.Errorf("thread %+v", child.Thread)
	}
	if got := transcript(child.Messages); got != "user: hello\nassistant: You said: hello\n" {
		t.Errorf("its transcript:\n%s", got)
	}
	limits := below[0].Spec.Limits
	if *limits.Depth != 2 || *limits.Turns != runner.DefaultMaxTurns-1 || *limits.Spend >= selvage.Dollar || *limits.Spend <= 0 {
		t.Errorf("its limits: %+v", limits)
	}
	s := sheetOf(t, store, "t", result.RunID)
	if s.Spent().Spend != below[0].Cost || below[0].Cost == 0 || s.Own.Spend != result.Cost || s.Reserved().Spend != 0 || s.Spawns() != 1 {
		t.Errorf("budget %+v, the child cost %s", s, below[0].Cost)
	}
	checkComplete(t, store, "t")
	checkComplete(t, store, below[0].ThreadID)

	again := mustRun(t, r, "t", "hi")
	if _, kept := load(t, store, "t").State.Get(state.At(state.BudgetsKey)); kept || again.Text != "You said: hi" {
		t.Error("the budget outlived its run and the next one")
	}
}

// What the parent may not, its child may not either (rye 52): the call fails and
// the parent goes on.
func TestSpawnRefused(t *testing.T) {
	t.Parallel()
	nested := `call spawn_agent {"prompt":"call spawn_agent {\"prompt\":\"call spawn_agent {\\\"prompt\\\":\\\"hi\\\"}\"}"}`
	tests := map[string]struct {
		limits selvage.Limits
		say    string
		want   string // in the last result
		ran    int
	}{
		"below depth 0":    {selvage.Limits{Depth: new(0)}, spawnHello, "depth_exceeded: 0 generations", 0},
		"below depth 1":    {selvage.Limits{Depth: new(1)}, nested, "Done: depth_exceeded: 0 generations", 1},
		"below depth 2":    {selvage.Limits{Depth: new(2)}, nested, "Done: Done: depth_exceeded: 0 generations", 1},
		"the sixth":        {selvage.Limits{Spawns: new(5)}, `loop 6 spawn_agent {"prompt":"hi"}`, "spawns_exceeded: the run may spawn 5 runs and has spawned 5", 5},
		"none":             {selvage.Limits{Spawns: new(0)}, spawnHello, "spawns_exceeded", 0},
		"after the last":   {selvage.Limits{Turns: new(1)}, spawnHello, "turns_exceeded: 1 of 1 is used", 0},
		"more than left":   {selvage.Limits{Spend: new(selvage.Dollar)}, `call spawn_agent {"prompt":"hi","max_spend":"1.00"}`, "spend_exceeded: the run may spend $1, of which $0.000003 is spent or reserved, and $1 was asked for", 0},
		"tokens":           {selvage.Limits{Tokens: new(int64(100))}, `call spawn_agent {"prompt":"hi","max_tokens":101}`, "tokens_exceeded", 0},
		"another agent":    {selvage.Limits{}, `call spawn_agent {"prompt":"hi","agent":"scout"}`, `there is no agent "scout" here; leave the name out`, 0},
		"an empty prompt":  {selvage.Limits{}, `call spawn_agent {"prompt":" "}`, "the prompt is empty", 0},
		"a bad amount":     {selvage.Limits{}, `call spawn_agent {"prompt":"hi","max_spend":"much"}`, "max_spend: ", 0},
		"less than none":   {selvage.Limits{}, `call spawn_agent {"prompt":"hi","max_spend":-1}`, "may not be negative", 0},
		"more than it may": {selvage.Limits{}, `call spawn_agent {"prompt":"hi","caps":["tool.*"]}`, "tool.*", 0},
		"less than it may": {selvage.Limits{}, `call spawn_agent {"prompt":"call spawn_agent {\"prompt\":\"hi\"}","caps":[]}`, `Done: spawn_agent may not be called in this run, which is not granted tool.spawn_agent`, 1},
		"a failed child":   {selvage.Limits{}, `call spawn_agent {"prompt":"fail permanent"}`, "the agent failed: ", 1},
		"a number":         {selvage.Limits{Spend: new(selvage.Dollar)}, `call spawn_agent {"prompt":"hi","max_spend":0.5}`, "You said: hi", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			result := mustRun(t, newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, Limits: tt.limits}), "t", tt.say)
			if all := results(t, store, "t"); len(all) == 0 || !strings.Contains(all[len(all)-1], tt.want) {
				t.Errorf("results %q, want ... %s", all, tt.want)
			}
			if ran := len(spawnedBy(t, store, result.RunID)); ran != tt.ran {
				t.Errorf("%d children ran, want %d", ran, tt.ran)
			}
			if s := sheetOf(t, store, "t", result.RunID); s.Reserved() != (budget.Amount{}) || len(s.Open()) != 0 {
				t.Errorf("left reserved: %+v", s)
			}
		})
	}
}

// What children spend counts against the limits of their parent.
func TestChildrenSpendTheirParentsMoney(t *testing.T) {
	t.Parallel()
	alone := mustRun(t, newRunner(t, runner.Options{Store: newSpy(), Tools: []tool.Tool{spawning(t)}}), "t", spawnHello)
	store := newSpy()
	limit := alone.Cost + 1 // its own cost is within it, that of the child too, both together are not
	result := mustRun(t, newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, Limits: selvage.Limits{Spend: &limit}}), "t", `loop 2 spawn_agent {"prompt":"hello"}`)
	s := sheetOf(t, store, "t", result.RunID)
	if result.Waiting == nil || result.Waiting.LimitCode != selvage.LimitSpend || result.Waiting.Reason != selvage.WaitLimit {
		t.Fatalf("%+v, budget %+v", result, s)
	}
	if got := string(result.Waiting.Current); got != s.Total().Spend.String() || s.Own.Spend >= limit || s.Spent().Spend == 0 {
		t.Errorf("it waits at %s, budget %+v", got, s)
	}
}

// A run spawns agents of other names as they are defined, and hands down its own
// limits.
func TestSpawnAnotherAgent(t *testing.T) {
	t.Parallel()
	store := newSpy()
	var asked []string
	opts := runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, AgentID: "chief", Limits: selvage.Limits{Turns: new(4)}}
	opts.Agents = func(_ context.Context, name string) (runner.Options, error) {
		asked = append(asked, name)
		if name != "scout" {
			return runner.Options{}, fmt.Errorf("there is no agent %q: %w", name, selvage.ErrNotFound)
		}
		return runner.Options{Model: newModel(t), System: "You scout.", MaxTurns: 2}, nil
	}
	result := mustRun(t, newRunner(t, opts), "t", `call spawn_agent {"prompt":"hi","agent":"scout"} && spawn_agent {"prompt":"hi","agent":"cook"}`)
	below := spawnedBy(t, store, result.RunID)
	if len(below) != 1 || below[0].AgentID != "scout" || below[0].Spec.System != "You scout." || len(below[0].Spec.Tools) != 0 || *below[0].Spec.Limits.Turns != 2 {
		t.Fatalf("children %+v", below)
	}
	if got := results(t, store, "t"); got[0] != "You said: hi" || !strings.Contains(got[1], `there is no agent "cook"`) {
		t.Errorf("results %q", got)
	}
	if strings.Join(asked, ",") != "scout,cook" {
		t.Errorf("asked for %q", asked)
	}
}

// Wherever a process dies that leads a run and its child, the next one has the
// same child go on: it has one run that was told one thing, and the totals add
// up.
func TestSpawnAfterACrash(t *testing.T) {
	t.Parallel()
	opts := runner.Options{Tools: []tool.Tool{spawning(t)}, Limits: selvage.Limits{Spend: new(selvage.Dollar)}}
	whole := newSpy()
	opts.Store = whole
	want := mustRun(t, newRunner(t, opts), "t", spawnHello)
	for n := 2; n <= len(whole.appended()); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			store, opts := newSpy(), opts
			store.before = dead(n)
			opts.Store = store
			_, err := newRunner(t, opts).Run(t.Context(), "t", runner.Text(spawnHello))
			store.before = nil
			if err == nil && load(t, store, "t").OpenRun != nil {
				t.Fatal("it did not die")
			}
			if _, err := newRunner(t, opts).Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			head := load(t, store, "t")
			if got := head.Messages[len(head.Messages)-1].Text(); got != want.Text {
				t.Errorf("it answers %q, want %q", got, want.Text)
			}
			page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t"})
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("runs %+v, %v", page.Items, err)
			}
			below := spawnedBy(t, store, page.Items[0].ID)
			if len(below) != 1 {
				t.Fatalf("%d children", len(below))
			}
			if got := transcript(load(t, store, below[0].ThreadID).Messages); got != "user: hello\nassistant: You said: hello\n" {
				t.Errorf("the child:\n%s", got)
			}
			s := sheetOf(t, store, "t", page.Items[0].ID)
			if s.Spawns() != 1 || len(s.Open()) != 0 || s.Spent().Spend != below[0].Cost {
				t.Errorf("budget %+v, the child cost %s", s, below[0].Cost)
			}
			checkComplete(t, store, "t")
			checkComplete(t, store, below[0].ThreadID)
		})
	}
}

// dead refuses the n-th append and all after it, as the store of a process
// that died.
func dead(n int) func(int, *selvage.ChangeSet) error {
	return func(nth int, _ *selvage.ChangeSet) error {
		if nth >= n {
			return fmt.Errorf("dead: %w", selvage.ErrClosed)
		}
		return nil
	}
}

// A child has the limits that it is due also if the process died between
// putting its budget aside and its beginning.
func TestSpawnLimitsAfterDeath(t *testing.T) {
	t.Parallel()
	limits := selvage.Limits{Turns: new(20), Depth: new(1), Spawns: new(3), Spend: new(selvage.Dollar)}
	for n := 3; n < 12; n++ {
		store := newSpy()
		opts := runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, Limits: limits}
		store.before = dead(n)
		_, err := newRunner(t, opts).Run(t.Context(), "t", runner.Text(spawnHello))
		store.before = nil
		head := load(t, store, "t")
		if err == nil && head.OpenRun != nil {
			t.Fatalf("%d: it did not die", n)
		}
		if _, err := newRunner(t, opts).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t"})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("runs %+v, %v", page.Items, err)
		}
		below := spawnedBy(t, store, page.Items[0].ID)
		if len(below) != 1 {
			t.Fatalf("%d: %d children", n, len(below))
		}
		if l := below[0].Spec.Limits; l.Turns == nil || *l.Turns != 19 || l.Depth == nil || *l.Depth != 0 || l.Spawns == nil || *l.Spawns != 2 {
			t.Errorf("%d: the child may %+v", n, l)
		}
	}
}
