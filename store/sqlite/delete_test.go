package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/sqlite"
)

// fill gives a thread rows in every table.
func fill(t *testing.T, s *sqlite.Store, id selvage.ThreadID) {
	t.Helper()
	run := selvage.RunID("run-of-" + id)
	if _, err := s.Acquire(t.Context(), id, self("me"), hour); err != nil {
		t.Fatal(err)
	}
	pre := selvage.New()
	for i := range 70 {
		set := say(fmt.Sprint("number ", i))
		set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Set("/n", state.Int(int64(i)))}}}
		switch i {
		case 0:
			set.Runs = []selvage.RunUpdate{{ID: run, Status: selvage.RunRunning, Spec: &selvage.RunSpec{Model: "sim/echo"}}}
			set.Calls = []selvage.CallUpdate{{CallID: "open", Status: selvage.CallStarted}, {CallID: "ended", Status: selvage.CallSucceeded}}
		case 1:
			set.Messages[0].ID, set.ID = "named", "named"
		case 2:
			set.Messages = append(set.Messages, set.Messages[0])
			set.Messages[1].ID = "named" // known already
		}
		pre = selvage.Exact(appendTo(t, s, id, set, pre).Version)
	}
	s.RestNow()
}

// TestDeleteLeavesNothing deletes a thread and looks for rows of it in every
// table, with everything readable and with one body damaged.
func TestDeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{"", `UPDATE changes SET messages = x'20' WHERE version = 5`, `UPDATE changes SET messages = CAST('[{]' AS BLOB) WHERE version = 5`} {
		s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
		fill(t, s, "stays")
		tables := []string{"changes", "ids", "marks", "runs", "calls", "state_cache"}
		before := make(map[string]int64)
		for _, table := range tables {
			before[table] = count(t, s, "SELECT count(*) FROM "+table)
		}
		fill(t, s, "goes")
		for _, table := range tables {
			if n := count(t, s, "SELECT count(*) FROM "+table); n != 2*before[table] {
				t.Fatalf("two threads have %d rows in %s, one has %d; the test shows little", n, table, before[table])
			}
		}
		if damage != "" {
			if _, err := s.Exec(damage + ` AND thread = (SELECT key FROM threads WHERE id = 'goes')`); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Delete(t.Context(), "goes", selvage.DeleteReject); err != nil {
			t.Fatal(err)
		}
		before["changes"]++ // the tombstone
		for _, table := range tables {
			if n := count(t, s, "SELECT count(*) FROM "+table); n != before[table] {
				t.Errorf("with damage %q: after the deletion %s has %d rows; want %d", damage, table, n, before[table])
			}
		}
		if n := count(t, s, "SELECT count(*) FROM threads WHERE lease_owner IS NOT NULL OR born IS NOT NULL OR run IS NOT NULL"); n != 1 {
			t.Errorf("%d threads look alive; want 1", n)
		}
		// What a thread of the same name did once is no longer known.
		set := say("named")
		set.ID, set.Messages[0].ID = "named", "named"
		if r := appendTo(t, s, "goes", set, selvage.Recreate()); r.Version != 72 || r.Added != 1 || r.Replayed {
			t.Errorf("a set of an old id on the recreated thread made %+v; want version 72 with its message", r)
		}
	}
}

// TestPositionsAreNotReused deletes the thread of the store's last change.
func TestPositionsAreNotReused(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	last := int64(0)
	for i := range 5 {
		id := selvage.ThreadID(fmt.Sprint("t-", i))
		appendTo(t, s, id, say("hello"), selvage.New())
		if err := s.Delete(t.Context(), id, selvage.DeleteReject); err != nil {
			t.Fatal(err)
		}
		if n := count(t, s, "SELECT max(pos) FROM changes"); n != last+2 {
			t.Errorf("after a thread came and went the last position is %d; want %d", n, last+2)
		}
		last += 2
	}
}
