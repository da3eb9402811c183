package runner_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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
	for n := 3; n <= 48; n += 5 {
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
