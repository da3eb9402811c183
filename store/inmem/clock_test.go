package inmem_test

import (
	"errors"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
)

// clock is a time that stands still until it is told to move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestNowStampsChanges(t *testing.T) {
	t.Parallel()
	c := &clock{at: time.Date(2030, 1, 2, 3, 4, 5, 6_789_000, time.FixedZone("elsewhere", 3600))}
	s := inmem.New(inmem.Options{Now: c.now})
	r, err := s.Append(t.Context(), "t", selvage.ChangeSet{}, selvage.New())
	if want := time.Date(2030, 1, 2, 2, 4, 5, 6_000_000, time.UTC); err != nil || r.At != want {
		t.Errorf("append answers time %v, error %v; want %v", r.At, err, want)
	}
}

func TestNowMeasuresLeases(t *testing.T) {
	t.Parallel()
	c := &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	s := inmem.New(inmem.Options{Now: c.now})
	first, err := s.Acquire(t.Context(), "t", selvage.Owner{Name: "first"}, time.Hour)
	if err != nil || !first.Until.Equal(c.at.Add(time.Hour)) {
		t.Fatalf("acquire for an hour answers %+v, %v", first, err)
	}
	c.at = first.Until.Add(-time.Millisecond)
	if _, err := s.Acquire(t.Context(), "t", selvage.Owner{Name: "second"}, time.Hour); !errors.Is(err, selvage.ErrBusy) {
		t.Errorf("acquire in the last millisecond of a lease answers %v; want it busy", err)
	}
	c.at = first.Until
	second, err := s.Acquire(t.Context(), "t", selvage.Owner{Name: "second"}, time.Hour)
	if err != nil || second.Took == nil || second.Took.Name != "first" {
		t.Errorf("acquire when a lease has run out answers %+v, %v; want it taken over from first", second, err)
	}
}

// TestClockMayJump shows that order comes from versions, never from clocks.
func TestClockMayJump(t *testing.T) {
	t.Parallel()
	c := &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	s := inmem.New(inmem.Options{Now: c.now})
	for _, id := range []selvage.ThreadID{"a", "b", "c"} {
		if _, err := s.Append(t.Context(), id, selvage.ChangeSet{}, selvage.New()); err != nil {
			t.Fatal(err)
		}
		c.at = c.at.Add(-time.Hour)
	}
	for _, order := range []selvage.ThreadOrder{selvage.ByCreated, selvage.ByUpdated} {
		page, err := s.Threads(t.Context(), selvage.ThreadQuery{Order: order})
		if err != nil || len(page.Items) != 3 || page.Items[0].ID != "c" || page.Items[2].ID != "a" {
			t.Errorf("threads by %s, written while the clock ran backwards: %+v, %v; want c, b, a", order, page.Items, err)
		}
	}
	if _, err := s.Append(t.Context(), "a", selvage.ChangeSet{}, selvage.Exact(1)); err != nil {
		t.Fatal(err)
	}
	changes, err := s.Changes(t.Context(), "a", selvage.ChangeQuery{})
	if err != nil || len(changes.Items) != 2 || changes.Items[1].Version != 2 {
		t.Fatalf("changes: %+v, %v", changes.Items, err)
	}
	if err := changes.Items[1].Verify(changes.Items[0].Hash); err != nil {
		t.Errorf("a change older than the one before it does not verify: %v", err)
	}
}
