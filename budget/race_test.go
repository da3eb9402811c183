package budget_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
)

const racers = 50

// race has fifty children ask for a unit each at the same time. Those that get
// one run and spend it. It returns how many were refused, and what else went
// wrong.
func race(ctx context.Context, store selvage.Store) (refused int, failures []error) {
	b := budget.Book{Store: store, Thread: "t", Run: parent}
	results := make([]error, racers)
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() { results[i] = live(ctx, b, childOf(i)) })
	}
	all.Wait()
	for _, err := range results {
		var no *budget.RefusedError
		switch {
		case errors.As(err, &no) && no.Code == selvage.LimitSpend:
			refused++
		case err != nil:
			failures = append(failures, err)
		}
	}
	return refused, failures
}

// live is the life of a child: it may have been begun by a process that died.
func live(ctx context.Context, b budget.Book, child selvage.ChildRun) error {
	if _, err := b.Reserve(ctx, child, budget.Bounds{Spend: dollars("1")}, budget.Bounds{}); err != nil {
		return err
	}
	err := tryBegin(ctx, b.Store, child.ThreadID, child.RunID, selvage.Limits{Spend: dollars("1")}, &selvage.ChildRun{ThreadID: b.Thread, RunID: b.Run})
	if err != nil {
		return err
	}
	if err := tryEnd(ctx, b.Store, child.ThreadID, child.RunID, "1"); err != nil {
		return err
	}
	return budget.Ended(ctx, b.Store, child.RunID)
}

// checkTen holds that exactly ten ran, and that they spent all there was.
func checkTen(t *testing.T, store selvage.Store, refused int) {
	t.Helper()
	s := sheet(t, budget.Book{Store: store, Thread: "t", Run: parent})
	if s.Total().Spend != 10*selvage.Dollar || s.Reserved().Spend != 0 || s.Spawns() != 10 || *s.Left().Spend != 0 || refused != racers-10 {
		t.Errorf("spent %s, reserved %s, spawned %d, left %s, refused %d", s.Total().Spend, s.Reserved().Spend, s.Spawns(), *s.Left().Spend, refused)
	}
	all := 200
	page, err := store.Runs(t.Context(), selvage.RunQuery{Limit: &all})
	if err != nil {
		t.Fatal(err)
	}
	ran, cost := 0, selvage.Money(0)
	for _, run := range page.Items {
		if run.ID != parent {
			ran++
			cost += run.Cost
		}
	}
	if ran != 10 || cost != 10*selvage.Dollar {
		t.Errorf("%d children ran and cost %s", ran, cost)
	}
}

// Of fifty children that race for a budget of ten units exactly ten run.
func TestRace(t *testing.T) {
	t.Parallel()
	for name, backend := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := backend(t)()
			begin(t, store, "t", parent, selvage.Limits{Spend: dollars("10")}, nil)
			refused, failures := race(t.Context(), store)
			if failures != nil {
				t.Fatal(failures)
			}
			checkTen(t, store, refused)
		})
	}
}

// Wherever the process dies in the middle of the race: when another has gone
// on, ten have run, and the totals add up.
func TestRaceAfterACrash(t *testing.T) {
	t.Parallel()
	steps := map[string]int{"inmem": 1, "sqlite": 7}
	for name, backend := range backends {
		for at := 1; at <= 42; at += steps[name] { // ten lives have four appends each
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/%v", name, at, after), func(t *testing.T) {
					t.Parallel()
					reopen := backend(t)
					store := reopen()
					begin(t, store, "t", parent, selvage.Limits{Spend: dollars("10")}, nil)
					_, failures := race(t.Context(), &mortal{Store: store, left: at, after: after})
					for _, err := range failures {
						if !errors.Is(err, selvage.ErrClosed) {
							t.Fatal(err)
						}
					}
					store = reopen()
					b := budget.Book{Store: store, Thread: "t", Run: parent}
					s := sheet(t, b)
					if held := s.Total().Add(s.Reserved()); held.Spend > 10*selvage.Dollar {
						t.Errorf("after the crash %s is spent or reserved", held.Spend)
					}
					if err := b.Reconcile(t.Context()); err != nil {
						t.Fatal(err)
					}
					refused, failures := race(t.Context(), store)
					if failures != nil {
						t.Fatal(failures)
					}
					checkTen(t, store, refused)
				})
			}
		}
	}
}
