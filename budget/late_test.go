package budget_test

import (
	"errors"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/store/inmem"
)

// A child that began after all, when its reservation had been released, is
// booked with what it spent; one that spent nothing stays released.
func TestSettleWhatWasReleased(t *testing.T) {
	t.Parallel()
	store := inmem.New(inmem.Options{})
	begin(t, store, "t", parent, selvage.Limits{Spend: dollars("10")}, nil)
	b := budget.Book{Store: store, Thread: "t", Run: parent}
	for i, cost := range []string{"1", "0"} {
		child := childOf(i)
		if _, err := b.Reserve(t.Context(), child, budget.Bounds{Spend: dollars("2")}, budget.Bounds{}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Release(t.Context(), child.RunID); err != nil {
			t.Fatal(err)
		}
		begin(t, store, child.ThreadID, child.RunID, selvage.Limits{}, &selvage.ChildRun{ThreadID: "t", RunID: parent})
		end(t, store, child.ThreadID, child.RunID, cost)
		for range 2 {
			if err := budget.Ended(t.Context(), store, child.RunID); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := sheet(t, b)
	if s.Spent().Spend != selvage.Dollar || s.Spawns() != 1 || s.Children["c0"].Status != budget.Settled || s.Children["c1"].Status != budget.Released {
		t.Errorf("budget %+v", s)
	}
}

// Who leads the run no more changes nothing.
func TestFence(t *testing.T) {
	t.Parallel()
	store := inmem.New(inmem.Options{})
	begin(t, store, "t", parent, selvage.Limits{Spend: dollars("10")}, nil)
	lease, err := store.Acquire(t.Context(), "t", selvage.Owner{Name: "one"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	b := budget.Book{Store: store, Thread: "t", Run: parent, Fence: lease.Fence()}
	if _, err := b.Reserve(t.Context(), childOf(0), budget.Bounds{Spend: dollars("1")}, budget.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := store.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Acquire(t.Context(), "t", selvage.Owner{Name: "other"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	_, reserved := b.Reserve(t.Context(), childOf(1), budget.Bounds{Spend: dollars("1")}, budget.Bounds{})
	_, released := b.Release(t.Context(), childOf(0).RunID)
	if !errors.Is(reserved, selvage.ErrFenced) || !errors.Is(released, selvage.ErrFenced) {
		t.Errorf("reserved: %v, released: %v", reserved, released)
	}
	if s := sheet(t, b); s.Reserved().Spend != selvage.Dollar || s.Spawns() != 1 {
		t.Errorf("budget %+v", s)
	}
}
