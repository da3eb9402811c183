package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/sqlite"
)

// grow appends n change sets, of which some change the state, some replace it
// and some leave it alone, and returns the document after each version.
func grow(t testing.TB, s *sqlite.Store, id selvage.ThreadID, n int, docs []string) []string {
	t.Helper()
	pre := selvage.Exact(selvage.Version(len(docs)))
	var doc state.Document
	if len(docs) > 0 {
		var err error
		if doc, err = state.Parse([]byte(docs[len(docs)-1])); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		v := len(docs) + 1
		var set selvage.ChangeSet
		switch {
		case v%101 == 0:
			doc, _ = state.Parse(fmt.Appendf(nil, `{"since":%d}`, v))
			set.Snapshot = &doc
		case v%3 == 0:
			set = say("no change of the state")
		default:
			ops := state.Patch{state.Set("/last", state.Int(int64(v))), state.Append("/all", state.Int(int64(v)))}
			next, err := ops.Apply(doc)
			if err != nil {
				t.Fatal(err)
			}
			doc = next
			set.Patches = []selvage.StatePatch{{Ops: ops}}
		}
		pre = selvage.Exact(appendTo(t, s, id, set, pre).Version)
		docs = append(docs, doc.String())
	}
	return docs
}

// checkStates compares the state at some versions, the last one included.
func checkStates(t testing.TB, s *sqlite.Store, id selvage.ThreadID, docs []string) {
	t.Helper()
	for i := range 40 {
		v := len(docs) - i
		if i > 5 {
			v = 1 + rand.IntN(len(docs))
		}
		if v < 1 {
			continue
		}
		doc, err := s.State(t.Context(), id, selvage.Version(v))
		if err != nil || doc.String() != docs[v-1] {
			t.Fatalf("the state at version %d of %d is %s, %v; want %s", v, len(docs), doc, err, docs[v-1])
		}
	}
	h, err := s.Load(t.Context(), id, selvage.LoadOptions{})
	if err != nil || h.State.String() != docs[len(docs)-1] {
		t.Fatalf("a load answers the state %s, %v; want %s", h.State, err, docs[len(docs)-1])
	}
}

// TestStateAtAnyVersion reads states with and without cached documents, from
// memory and from the file.
func TestStateAtAnyVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "selvage.db")
	s := open(t, path, sqlite.Options{Durability: sqlite.Ephemeral})
	var docs []string
	for range 4 {
		docs = grow(t, s, "t", 150, docs)
		checkStates(t, s, "t", docs)
		s.RestNow()
		checkStates(t, s, "t", docs)
		s.Forget()
		checkStates(t, s, "t", docs)
		closeStore(t, s)
		s = open(t, path, sqlite.Options{Durability: sqlite.Ephemeral})
		checkStates(t, s, "t", docs)
	}
	if n := count(t, s, "SELECT count(*) FROM state_cache"); n < 2 || n > 4 {
		t.Errorf("%d documents are cached; want the last two and perhaps an old one", n)
	}
	closeStore(t, s)
}

// TestReaderLeavesADocument has a reader pay for a long tail once.
func TestReaderLeavesADocument(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	docs := grow(t, s, "t", 3*sqlite.TailChanges, nil)
	statements := func() int64 {
		s.Forget()
		before := s.Stats().Statements
		if doc, err := s.State(t.Context(), "t", 0); err != nil || doc.String() != docs[len(docs)-1] {
			t.Fatalf("state %s, %v", doc, err)
		}
		return s.Stats().Statements - before
	}
	if n := statements(); n < 2*sqlite.TailChanges {
		t.Errorf("without a cached document the state took %d statements; the test shows little", n)
	}
	s.RestNow()
	if n := statements(); n > 8 {
		t.Errorf("with a document at the head the state took %d statements; want a few", n)
	}
}

// TestReleaseLeavesADocument gives a lease back after a few changes.
func TestReleaseLeavesADocument(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	l, err := s.Acquire(t.Context(), "t", self("me"), hour)
	if err != nil {
		t.Fatal(err)
	}
	grow(t, s, "t", sqlite.TailChanges/2, nil)
	if n := count(t, s, "SELECT count(*) FROM state_cache"); n != 0 {
		t.Errorf("an append left %d documents; want none before the release", n)
	}
	if err := s.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT count(*) FROM state_cache"); n != 1 {
		t.Errorf("after the release %d documents are cached; want 1", n)
	}
}

// TestDamagedDocumentIsPassedOver changes a cached document: it must cost
// time, and never a wrong state.
func TestDamagedDocumentIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		`UPDATE state_cache SET doc = CAST('{"all":[],"last":0}' AS BLOB)`,
		`UPDATE state_cache SET doc = x'00'`,
		`UPDATE state_cache SET digest = zeroblob(32)`,
		`UPDATE state_cache SET version = version + 1`,
		`UPDATE state_cache SET pos = pos - 1`,
		`UPDATE state_cache SET pos = 0`,
		`DELETE FROM state_cache`,
	} {
		s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
		docs := grow(t, s, "t", 54, nil)
		s.RestNow()
		docs = grow(t, s, "t", 3, docs)
		if n, err := s.Exec(sql); n != 1 || err != nil {
			t.Fatalf("%s: %d rows, %v", sql, n, err)
		}
		s.Forget()
		checkStates(t, s, "t", docs)
	}
}

// TestDocumentsAreThinnedOut grows a thread for long, with a document at every
// turn, and looks at what stays.
func TestDocumentsAreThinnedOut(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	var docs []string
	for len(docs) < 4*sqlite.SparseEvery {
		docs = grow(t, s, "t", 2*sqlite.TailChanges, docs)
		s.RestNow()
	}
	rows, err := s.Ask("SELECT version FROM state_cache ORDER BY version")
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for _, row := range rows[:len(rows)-2] {
		if d := row[0].(int64) - last; d < sqlite.SparseEvery || d > 2*sqlite.SparseEvery {
			t.Errorf("cached documents stand at %v; %d versions lie between two of them", rows, d)
		}
		last = row[0].(int64)
	}
	if len(rows) < 4 {
		t.Errorf("cached documents stand at %v; want some old ones to stay", rows)
	}
	checkStates(t, s, "t", docs)
}
