package budget_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/store/inmem"
)

func bookOf(t *testing.T, limits selvage.Limits) budget.Book {
	t.Helper()
	store := inmem.New(inmem.Options{})
	begin(t, store, "t", parent, limits, nil)
	return budget.Book{Store: store, Thread: "t", Run: parent}
}

// What is left is what is neither spent nor reserved; what a child settles is
// free again (rye 48).
func TestReserveAndSettle(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spend: dollars("3.00")})
	if _, err := b.Reserve(t.Context(), childOf(1), budget.Bounds{Spend: dollars("2.00")}, budget.Bounds{}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Reserve(t.Context(), childOf(2), budget.Bounds{Spend: dollars("1.50")}, budget.Bounds{})
	var no *budget.RefusedError
	want := budget.RefusedError{Run: parent, Code: selvage.LimitSpend, Current: "2", Max: "3", Asked: "1.5"}
	if !errors.As(err, &no) || *no != want || !errors.Is(err, selvage.ErrInvalid) {
		t.Fatalf("error %v, want %v", err, &want)
	}
	begin(t, b.Store, "t-c1", "c1", selvage.Limits{}, &selvage.ChildRun{ThreadID: "t", RunID: parent})
	end(t, b.Store, "t-c1", "c1", "0.50")
	for range 2 { // whoever ended it may not know that somebody has settled
		if err := budget.Ended(t.Context(), b.Store, "c1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Reserve(t.Context(), childOf(2), budget.Bounds{Spend: dollars("1.50")}, budget.Bounds{}); err != nil {
		t.Fatal(err)
	}
	s := sheet(t, b)
	if s.Spent().Spend != *dollars("0.50") || s.Reserved().Spend != *dollars("1.50") || *s.Left().Spend != selvage.Dollar {
		t.Errorf("spent %s, reserved %s, left %s", s.Spent().Spend, s.Reserved().Spend, *s.Left().Spend)
	}
}

// The same child reserves once, whatever it asks for the second time.
func TestReserveIsRepeatable(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spend: dollars("3"), Spawns: new(1)})
	for _, ask := range []string{"2", "2", "3"} {
		e, err := b.Reserve(t.Context(), childOf(1), budget.Bounds{Spend: dollars(ask)}, budget.Bounds{})
		if err != nil || *e.Reserved.Spend != 2*selvage.Dollar {
			t.Fatalf("asked for %s: %+v, %v", ask, e, err)
		}
	}
	if s := sheet(t, b); s.Reserved().Spend != 2*selvage.Dollar || s.Spawns() != 1 {
		t.Errorf("reserved %s, spawned %d", s.Reserved().Spend, s.Spawns())
	}
}

// Who asks for nothing gets what is left, of each thing the parent is bounded
// in, and is refused if that is nothing.
func TestReserveWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spend: dollars("3"), Tokens: new(int64(100))})
	spent(t, b.Store, "t", parent, "1.25")
	e, err := b.Reserve(t.Context(), childOf(1), budget.Bounds{Tokens: new(int64(30))}, budget.Bounds{})
	if err != nil || *e.Reserved.Spend != *dollars("1.75") || *e.Reserved.Tokens != 30 {
		t.Fatalf("%+v, %v", e, err)
	}
	_, err = b.Reserve(t.Context(), childOf(2), budget.Bounds{}, budget.Bounds{})
	if err == nil || !strings.Contains(err.Error(), "spend_exceeded: the run may spend $3, of which $3 is spent or reserved, and nothing is left") {
		t.Errorf("error %v", err)
	}
	_, err = b.Reserve(t.Context(), childOf(2), budget.Bounds{Spend: new(selvage.Money(0)), Tokens: new(int64(71))}, budget.Bounds{})
	if err == nil || !strings.Contains(err.Error(), "tokens_exceeded: the run may use tokens up to 100, of which 30 is spent or reserved, and 71 was asked for") {
		t.Errorf("error %v", err)
	}
	for _, most := range []string{"0.5", "7"} {
		other := bookOf(t, selvage.Limits{Spend: dollars("3")})
		want := min(*dollars(most), 3*selvage.Dollar)
		if e, err := other.Reserve(t.Context(), childOf(1), budget.Bounds{}, budget.Bounds{Spend: dollars(most)}); err != nil || *e.Reserved.Spend != want {
			t.Errorf("at most %s: %+v, %v", most, e, err)
		}
	}
	free := bookOf(t, selvage.Limits{})
	if e, err := free.Reserve(t.Context(), childOf(1), budget.Bounds{}, budget.Bounds{}); err != nil || e.Reserved != (budget.Bounds{}) {
		t.Errorf("of an unbounded run: %+v, %v", e, err)
	}
}

// A child that spent more than it had reserved is booked with its reservation,
// and that is noted (rye 50).
func TestSettleClamps(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spend: dollars("3")})
	if _, err := b.Reserve(t.Context(), childOf(1), budget.Bounds{Spend: dollars("1")}, budget.Bounds{}); err != nil {
		t.Fatal(err)
	}
	for _, actual := range []string{"1.05", "0.02"} { // the first counts
		e, err := b.Settle(t.Context(), "c1", budget.Amount{Spend: *dollars(actual), Tokens: 7})
		if err != nil || e.Spent != (budget.Amount{Spend: selvage.Dollar, Tokens: 7}) || e.Over == nil || e.Over.Spend != *dollars("0.05") {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	if left := sheet(t, b).Left(); *left.Spend != 2*selvage.Dollar {
		t.Errorf("left %s", *left.Spend)
	}
	if _, err := b.Settle(t.Context(), "c2", budget.Amount{}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("settled a stranger: %v", err)
	}
}

// Spawns are counted by their reservations, so that a process that comes later
// counts on; a child that never began does not count (rye 52).
func TestSpawns(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spawns: new(5)})
	for i := range 5 {
		if _, err := b.Reserve(t.Context(), childOf(i), budget.Bounds{}, budget.Bounds{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Reserve(t.Context(), childOf(5), budget.Bounds{}, budget.Bounds{})
	var no *budget.RefusedError
	if !errors.As(err, &no) || no.Code != selvage.LimitSpawns || no.Current != "5" || no.Max != "5" {
		t.Fatalf("the sixth: %v", err)
	}
	if _, err := b.Release(t.Context(), "c3"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reserve(t.Context(), childOf(5), budget.Bounds{}, budget.Bounds{}); err != nil {
		t.Errorf("in place of one that never began: %v", err)
	}
	if _, err := b.Reserve(t.Context(), childOf(3), budget.Bounds{}, budget.Bounds{}); err == nil {
		t.Error("the one that was released began after all, as the sixth")
	}
}

// A reservation is raised within what is left, also twice.
func TestRaise(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spend: dollars("3")})
	for i, ask := range []string{"1", "1"} {
		if _, err := b.Reserve(t.Context(), childOf(i), budget.Bounds{Spend: dollars(ask)}, budget.Bounds{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if e, err := b.Raise(t.Context(), "c0", budget.Bounds{Spend: dollars("2")}); err != nil || *e.Reserved.Spend != 2*selvage.Dollar {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	if _, err := b.Raise(t.Context(), "c0", budget.Bounds{Spend: dollars("2.000000001")}); !errors.Is(err, selvage.ErrInvalid) {
		t.Errorf("raised beyond what is left: %v", err)
	}
	if _, err := b.Raise(t.Context(), "c7", budget.Bounds{}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("raised what a stranger holds: %v", err)
	}
}

// What a grandchild spends counts once in each run above it, also when its
// parent ends first (rye 48, A7).
func TestCascade(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"the grandchild", "the child"} {
		t.Run(first+" ends first", func(t *testing.T) {
			t.Parallel()
			b := bookOf(t, selvage.Limits{Spend: dollars("10")})
			child, grandchild := childOf(1), childOf(2)
			if _, err := b.Reserve(t.Context(), child, budget.Bounds{Spend: dollars("5")}, budget.Bounds{}); err != nil {
				t.Fatal(err)
			}
			begin(t, b.Store, child.ThreadID, child.RunID, selvage.Limits{Spend: dollars("5")}, &selvage.ChildRun{ThreadID: "t", RunID: parent})
			below := budget.Book{Store: b.Store, Thread: child.ThreadID, Run: child.RunID}
			if _, err := below.Reserve(t.Context(), grandchild, budget.Bounds{Spend: dollars("2")}, budget.Bounds{}); err != nil {
				t.Fatal(err)
			}
			begin(t, b.Store, grandchild.ThreadID, grandchild.RunID, selvage.Limits{Spend: dollars("2")}, &child)
			ends := []func(){
				func() { end(t, b.Store, grandchild.ThreadID, grandchild.RunID, "0.7") },
				func() { end(t, b.Store, child.ThreadID, child.RunID, "0.1") },
			}
			ids := []selvage.RunID{grandchild.RunID, child.RunID}
			if first == "the child" {
				ends[0], ends[1] = ends[1], ends[0]
				ids[0], ids[1] = ids[1], ids[0]
			}
			ends[0]()
			if err := budget.Ended(t.Context(), b.Store, ids[0]); err != nil {
				t.Fatal(err)
			}
			if s := sheet(t, b); s.Reserved().Spend != 5*selvage.Dollar || s.Spent().Spend != 0 {
				t.Errorf("while one is open: reserved %s, spent %s", s.Reserved().Spend, s.Spent().Spend)
			}
			ends[1]()
			if err := budget.Ended(t.Context(), b.Store, ids[1]); err != nil {
				t.Fatal(err)
			}
			if s := sheet(t, b); s.Reserved().Spend != 0 || s.Spent().Spend != *dollars("0.8") {
				t.Errorf("at the end: reserved %s, spent %s", s.Reserved().Spend, s.Spent().Spend)
			}
			if s := sheet(t, below); s.Total().Spend != *dollars("0.8") {
				t.Errorf("the child: %s", s.Total().Spend)
			}
		})
	}
}

// What died is seen to: of a child that ended what it spent is kept, one that
// never began gives everything back, an open one keeps what it has (rye 51).
func TestReconcile(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spend: dollars("3")})
	for i := range 3 {
		if _, err := b.Reserve(t.Context(), childOf(i), budget.Bounds{Spend: dollars("1")}, budget.Bounds{}); err != nil {
			t.Fatal(err)
		}
	}
	up := &selvage.ChildRun{ThreadID: "t", RunID: parent}
	begin(t, b.Store, "t-c0", "c0", selvage.Limits{}, up)
	end(t, b.Store, "t-c0", "c0", "0.3")
	begin(t, b.Store, "t-c1", "c1", selvage.Limits{}, up)
	if err := b.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := sheet(t, b)
	if s.Spent().Spend != *dollars("0.3") || s.Reserved().Spend != selvage.Dollar || len(s.Open()) != 1 || s.Children["c2"].Status != budget.Released {
		t.Errorf("%+v", s)
	}
}

// A budget may be looked at when its run is over, but nothing reserved.
func TestBudgetOfADoneRun(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spend: dollars("3")})
	if _, err := b.Reserve(t.Context(), childOf(1), budget.Bounds{Spend: dollars("1")}, budget.Bounds{}); err != nil {
		t.Fatal(err)
	}
	end(t, b.Store, "t", parent, "0.25")
	if _, err := b.Reserve(t.Context(), childOf(2), budget.Bounds{}, budget.Bounds{}); !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), "not open") {
		t.Errorf("error %v", err)
	}
	if s := sheet(t, b); s.Own.Spend != *dollars("0.25") || s.Reserved().Spend != selvage.Dollar {
		t.Errorf("%+v", s)
	}
	nowhere := budget.Book{Store: b.Store, Thread: "t", Run: "nobody"}
	if _, err := nowhere.Sheet(t.Context()); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// Budgets leave the state when nobody needs them any more.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spend: dollars("3")})
	if _, err := b.Reserve(t.Context(), childOf(1), budget.Bounds{Spend: dollars("1")}, budget.Bounds{}); err != nil {
		t.Fatal(err)
	}
	left := func(thread selvage.ThreadID) string {
		t.Helper()
		doc, err := b.Store.State(t.Context(), "t", 0)
		if err != nil {
			t.Fatal(err)
		}
		after, err := budget.Leftovers(doc, thread).Apply(doc)
		if err != nil {
			t.Fatal(err)
		}
		return after.String()
	}
	if got := left("t"); !strings.Contains(got, "c1") {
		t.Errorf("a reservation that is held was dropped: %s", got)
	}
	if got := left("fork-of-t"); got != "{}" {
		t.Errorf("a fork keeps %s", got)
	}
	if _, err := b.Settle(t.Context(), "c1", budget.Amount{}); err != nil {
		t.Fatal(err)
	}
	if got := left("t"); got != "{}" {
		t.Errorf("settled and still there: %s", got)
	}
}

// A child that never began does not keep what its parent has spent from being
// settled when the parent has ended.
func TestEndedBeforeAChildBegan(t *testing.T) {
	t.Parallel()
	b := bookOf(t, selvage.Limits{Spend: dollars("10")})
	mid := childOf(1)
	if _, err := b.Reserve(t.Context(), mid, budget.Bounds{Spend: dollars("4")}, budget.Bounds{}); err != nil {
		t.Fatal(err)
	}
	begin(t, b.Store, mid.ThreadID, mid.RunID, selvage.Limits{Spend: dollars("4")}, &selvage.ChildRun{ThreadID: b.Thread, RunID: b.Run})
	below := budget.Book{Store: b.Store, Thread: mid.ThreadID, Run: mid.RunID}
	if _, err := below.Reserve(t.Context(), childOf(2), budget.Bounds{Spend: dollars("1")}, budget.Bounds{}); err != nil {
		t.Fatal(err)
	}
	end(t, b.Store, mid.ThreadID, mid.RunID, "2")
	if err := budget.Ended(t.Context(), b.Store, mid.RunID); err != nil {
		t.Fatal(err)
	}
	if e := sheet(t, b).Children[mid.RunID]; e.Status != budget.Settled || e.Spent.Spend != *dollars("2") {
		t.Errorf("%+v", e)
	}
	if e := sheet(t, below).Children[childOf(2).RunID]; e.Status != budget.Released {
		t.Errorf("%+v", e)
	}
}
