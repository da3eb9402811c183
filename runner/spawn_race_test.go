package runner_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/tool"
)

// unit is what a child costs that is told hi: a word in, three out.
const unit = selvage.Money(7_000)

// raceOf is a run that spawns fifty children at once, each of which costs a unit,
// and has ten units for them.
func raceOf(t testing.TB, store selvage.Store) (runner.Options, string) {
	say := "call " + strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`spawn_agent {"prompt":"hi","max_spend":"%s"} && `, unit), 50), " && ")
	own := selvage.Money(len(strings.Fields(say))) * 1_000
	return runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, ToolCalls: selvage.ToolCallsParallel,
		Limits: selvage.Limits{Spend: new(own + 10*unit)}}, say
}

// checkRace holds that ten of fifty ran, that the others were refused, and that
// all there was is spent.
func checkRace(t *testing.T, store selvage.Store) {
	t.Helper()
	run := load(t, store, "t").OpenRun
	if run == nil || run.Waiting == nil || run.Waiting.LimitCode != selvage.LimitSpend {
		t.Fatalf("it does not wait for money: %+v", run)
	}
	ran := spawnedBy(t, store, run.ID)
	for _, child := range ran {
		if child.Cost != unit || child.Outcome == nil || child.Outcome.Kind != selvage.OutcomeCompleted {
			t.Errorf("a child: %+v", child)
		}
	}
	s := sheetOf(t, store, "t", run.ID)
	if len(ran) != 10 || s.Spawns() != 10 || s.Spent().Spend != 10*unit || s.Reserved().Spend != 0 || *s.Left().Spend != 0 {
		t.Errorf("%d ran, budget: %d spawned, %s spent, %s reserved, %s left", len(ran), s.Spawns(), s.Spent().Spend, s.Reserved().Spend, *s.Left().Spend)
	}
	answered, refused := 0, 0
	for _, text := range results(t, store, "t") {
		switch {
		case text == "You said: hi":
			answered++
		case strings.HasPrefix(text, selvage.LimitSpend):
			refused++
		}
	}
	if answered != 10 || refused != 40 {
		t.Errorf("%d were answered and %d refused", answered, refused)
	}
}

// Of fifty children that race for the money of ten, ten run.
func TestFiftyChildrenRace(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	opts, say := raceOf(t, store)
	mustRun(t, newRunner(t, opts), "t", say)
	checkRace(t, store)
}

// Wherever the process dies in the middle of the race: ten have run when
// another has gone on.
func TestFiftyChildrenRaceAfterACrash(t *testing.T) {
	t.Parallel()
	for n := 3; n <= 48; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			store.before = dead(n)
			opts, say := raceOf(t, store)
			if _, err := newRunner(t, opts).Run(t.Context(), "t", runner.Text(say)); !errors.Is(err, selvage.ErrClosed) {
				t.Fatalf("it did not die: %v", err)
			}
			store.before = nil
			if _, err := newRunner(t, opts).Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkRace(t, store)
		})
	}
}

// begins reports whether a change is the first of a spawned run.
func begins(set *selvage.ChangeSet) bool {
	return set.ParentRunID != "" && len(set.Runs) > 0 && set.Runs[len(set.Runs)-1].Spec != nil
}

// Every third of fifty that race cannot begin, and the process dies besides,
// anywhere: nothing stays set aside, and what is spent is what those cost that
// ran.
func TestFiftyOfWhichSomeNeverBegin(t *testing.T) {
	t.Parallel()
	for n := 3; n <= 63; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			var begun atomic.Int32
			store.before = func(nth int, set *selvage.ChangeSet) error {
				if err := dead(n)(nth, set); err != nil {
					return err
				}
				if begins(set) && begun.Add(1)%3 == 0 {
					return fmt.Errorf("refused: %w", selvage.ErrTooLarge)
				}
				return nil
			}
			opts, say := raceOf(t, store)
			_, err := newRunner(t, opts).Run(t.Context(), "t", runner.Text(say))
			if died := errors.Is(err, selvage.ErrClosed); died != (store.attempts >= n) {
				t.Fatalf("%d appends: %v", store.attempts, err)
			}
			store.before = nil
			if _, err := newRunner(t, opts).Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t"})
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("%+v, %v", page.Items, err)
			}
			ran, cost := spawnedBy(t, store, page.Items[0].ID), selvage.Money(0)
			for _, child := range ran {
				cost += child.Cost
			}
			s := sheetOf(t, store, "t", page.Items[0].ID)
			if len(s.Open()) != 0 || s.Spawns() != len(ran) || s.Spent().Spend != cost || cost > 10*unit || len(ran) < 5 {
				t.Errorf("%d ran and cost %s, budget: %d spawned, %s spent, %s reserved", len(ran), cost, s.Spawns(), s.Spent().Spend, s.Reserved().Spend)
			}
		})
	}
}
