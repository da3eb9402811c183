package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/sqlite"
)

// together appends sets, each to its own thread, so that they meet in one
// group, and returns what each was answered.
func together(t *testing.T, s *sqlite.Store, sets map[selvage.ThreadID]selvage.ChangeSet, pre selvage.Precondition) map[selvage.ThreadID]error {
	t.Helper()
	release := s.Hold()
	type answer struct {
		id  selvage.ThreadID
		err error
	}
	answers := make(chan answer)
	for id, set := range sets {
		go func() {
			_, err := s.Append(context.WithoutCancel(t.Context()), id, set, pre)
			answers <- answer{id, err}
		}()
	}
	waitFor(t, func() bool { return s.Waiting() == len(sets) })
	release()
	out := make(map[selvage.ThreadID]error)
	for range sets {
		a := <-answers
		out[a.id] = a.err
	}
	return out
}

// waitFor yields until something that is bound to happen has happened.
func waitFor(t *testing.T, happened func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it did not happen")
		}
	}
}

func TestGroupAnswersEach(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	sets := make(map[selvage.ThreadID]selvage.ChangeSet)
	for i := range 40 {
		sets[selvage.ThreadID(fmt.Sprintf("t-%d", i))] = say(fmt.Sprint(i))
	}
	before := s.Stats()
	for id, err := range together(t, s, sets, selvage.New()) {
		if err != nil {
			t.Errorf("thread %s: %v", id, err)
		}
	}
	if groups := s.Stats().Groups - before.Groups; groups != 1 {
		t.Errorf("40 appends that waited together made %d transactions; want 1", groups)
	}
	for id, set := range sets {
		h, err := s.Load(t.Context(), id, selvage.LoadOptions{})
		if err != nil || len(h.Messages) != 1 || h.Messages[0].Text() != set.Messages[0].Text() {
			t.Errorf("thread %s holds %+v, %v", id, h.Messages, err)
		}
	}
}

// TestGroupRefusesAlone refuses one member of a group and lets the others go.
func TestGroupRefusesAlone(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	appendTo(t, s, "old", say("hello"), selvage.New())
	used := say("used")
	used.ID = "used"
	appendTo(t, s, "repeat", used, selvage.New())
	sets := map[selvage.ThreadID]selvage.ChangeSet{
		"old":    say("exists already"),
		"repeat": used,
		"bad":    {Messages: []selvage.Message{{Role: "nobody"}}},
		"patch":  {Patches: []selvage.StatePatch{{Ops: state.Patch{state.Increment("/missing", state.Int(1))}}}},
		"good":   say("good"),
		"better": say("better"),
	}
	want := map[selvage.ThreadID]error{"old": selvage.ErrAlreadyExists, "bad": selvage.ErrInvalid, "patch": selvage.ErrInvalid}
	before := s.Stats()
	for id, err := range together(t, s, sets, selvage.New()) {
		if !errors.Is(err, want[id]) {
			t.Errorf("thread %s: %v; want %v", id, err, want[id])
		}
	}
	if groups := s.Stats().Groups - before.Groups; groups != 1 {
		t.Errorf("the group became %d transactions; want 1", groups)
	}
	for _, id := range []selvage.ThreadID{"good", "better"} {
		if _, err := s.Load(t.Context(), id, selvage.LoadOptions{}); err != nil {
			t.Errorf("thread %s: %v", id, err)
		}
	}
	for _, id := range []selvage.ThreadID{"bad", "patch"} {
		if _, err := s.Load(t.Context(), id, selvage.LoadOptions{}); !errors.Is(err, selvage.ErrNotFound) {
			t.Errorf("thread %s was refused and can be loaded: %v", id, err)
		}
	}
}

// TestGroupSpoiled has one member fail in the engine, half written.
func TestGroupSpoiled(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	for _, sql := range []string{
		`CREATE TEMP TABLE unlucky (id TEXT)`, `INSERT INTO unlucky VALUES ('spoiler')`,
		`CREATE TEMP TRIGGER spoil BEFORE INSERT ON main.changes WHEN NEW.thread = (SELECT key FROM main.threads JOIN unlucky USING (id))
			BEGIN SELECT RAISE(ABORT, 'spoiled'); END`,
	} {
		if _, err := s.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	sets := map[selvage.ThreadID]selvage.ChangeSet{"a": say("a"), "b": say("b"), "spoiler": say("s"), "c": say("c"), "d": say("d")}
	before := s.Stats()
	for id, err := range together(t, s, sets, selvage.New()) {
		switch {
		case id == "spoiler" && !errors.Is(err, selvage.ErrUnavailable):
			t.Errorf("the spoiler was answered %v; want an error of the engine", err)
		case id != "spoiler" && err != nil:
			t.Errorf("thread %s, which shared the group, was answered %v", id, err)
		}
	}
	if groups := s.Stats().Groups - before.Groups; groups != 4 {
		t.Errorf("after the group was spoiled there were %d transactions; want one for each of the 4 others", groups)
	}
	if _, err := s.Load(t.Context(), "spoiler", selvage.LoadOptions{}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("the spoiler left a trace: %v", err)
	}
	if n := count(t, s, "SELECT count(*) FROM ids"); n != 8 {
		t.Errorf("there are %d ids; want 8 of 4 change sets and their messages", n)
	}
}

func count(t testing.TB, s *sqlite.Store, query string) int64 {
	t.Helper()
	rows, err := s.Ask(query)
	if err != nil {
		t.Fatal(err)
	}
	return rows[0][0].(int64)
}

var errProbe = errors.New("the disk went away")

// failAt has the next commit fail at a moment.
func failAt(s *sqlite.Store, at sqlite.Moment) {
	failed := false
	s.Probe(func(m sqlite.Moment) error {
		if m != at || failed {
			return nil
		}
		failed = true
		return errProbe
	})
}

func TestFailureBeforeCommit(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	appendTo(t, s, "t", say("one"), selvage.New())
	failAt(s, sqlite.BeforeCommit)
	if _, err := s.Append(t.Context(), "t", say("two"), selvage.Exact(1)); !errors.Is(err, selvage.ErrUnavailable) || !errors.Is(err, errProbe) {
		t.Fatalf("Append = %v; want ErrUnavailable", err)
	}
	h, err := s.Load(t.Context(), "t", selvage.LoadOptions{})
	if err != nil || h.Thread.Version != 1 {
		t.Fatalf("the thread is at version %d, %v; want 1: it was rolled back", h.Thread.Version, err)
	}
	if r := appendTo(t, s, "t", say("two"), selvage.Exact(1)); r.Version != 2 {
		t.Errorf("the next append made version %d; want 2", r.Version)
	}
}

// TestFailureAfterCommit loses the answer of a commit that took effect: the
// outcome is unknown, and the same set again tells it.
func TestFailureAfterCommit(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	appendTo(t, s, "t", say("one"), selvage.New())
	failAt(s, sqlite.AfterCommit)
	set := say("two")
	set.ID = selvage.NewID()
	if _, err := s.Append(t.Context(), "t", set, selvage.Exact(1)); !errors.Is(err, selvage.ErrUnknownOutcome) {
		t.Fatalf("Append = %v; want ErrUnknownOutcome", err)
	}
	if r := appendTo(t, s, "t", set, selvage.Exact(1)); r.Version != 2 || !r.Replayed {
		t.Errorf("the same set again made %+v; want the receipt of version 2", r)
	}
	if r := appendTo(t, s, "t", say("three"), selvage.Exact(2)); r.Version != 3 {
		t.Errorf("the next append made version %d; want 3", r.Version)
	}
}

// TestDiskFull fills the database, and frees some space again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	appendTo(t, s, "t", say("one"), selvage.New())
	pages := count(t, s, "SELECT page_count FROM pragma_page_count")
	if _, err := s.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages+2)); err != nil {
		t.Fatal(err)
	}
	big := say(strings.Repeat("x", 1<<20))
	if _, err := s.Append(t.Context(), "t", big, selvage.Exact(1)); !errors.Is(err, selvage.ErrUnavailable) || !strings.Contains(err.Error(), "full") {
		t.Fatalf("Append to a full disk = %v; want ErrUnavailable that says so", err)
	}
	if h, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); err != nil || h.Thread.Version != 1 {
		t.Fatalf("the thread is at version %d, %v; want 1", h.Thread.Version, err)
	}
	// The bound was the connection's, which was given up; the file has space.
	if r := appendTo(t, s, "t", big, selvage.Exact(1)); r.Version != 2 {
		t.Errorf("with space again the append made version %d; want 2", r.Version)
	}
}

func TestCallerLeavesTheQueue(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	release := s.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		_, err := s.Append(ctx, "left", say("never"), selvage.New())
		return err
	})
	waitFor(t, func() bool { return s.Waiting() == 1 })
	cancel()
	if err := g.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("Append = %v; want the context's error", err)
	}
	release()
	appendTo(t, s, "stayed", say("hello"), selvage.New())
	if _, err := s.Load(t.Context(), "left", selvage.LoadOptions{}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("what its caller left was written: %v", err)
	}
}

// TestBusy writes while another connection keeps the write lock.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{BusyTimeout: -1})
	other := open(t, s.Path(), sqlite.Options{})
	defer closeStore(t, other)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "t", say("hello"), selvage.New()); !errors.Is(err, selvage.ErrUnavailable) || !strings.Contains(err.Error(), "locked") {
		t.Errorf("Append beside a lock = %v; want ErrUnavailable that says so", err)
	}
	if _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("Load beside a lock = %v; readers do not wait for writers", err)
	}
	patient := open(t, s.Path(), sqlite.Options{BusyTimeout: time.Hour})
	defer closeStore(t, patient)
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		_, err := patient.Append(ctx, "left", say("never"), selvage.New())
		return err
	})
	g.Go(func() error {
		_, err := patient.Append(t.Context(), "stayed", say("hello"), selvage.New())
		return err
	})
	waitFor(t, func() bool { return patient.Waiting() == 2 })
	cancel()
	waitFor(t, func() bool {
		_, err := patient.Load(t.Context(), "left", selvage.LoadOptions{})
		return errors.Is(err, selvage.ErrNotFound)
	})
	if _, err := other.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("while one waiter left: %v", err)
	}
	if _, err := patient.Load(t.Context(), "stayed", selvage.LoadOptions{}); err != nil {
		t.Errorf("the one who stayed: %v", err)
	}
}

// TestGroupIsBounded queues more than one group may hold.
func TestGroupIsBounded(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	sets := make(map[selvage.ThreadID]selvage.ChangeSet)
	text := strings.Repeat("x", 300<<10)
	for i := range 8 {
		sets[selvage.ThreadID(fmt.Sprintf("t-%d", i))] = say(text)
	}
	before := s.Stats()
	for id, err := range together(t, s, sets, selvage.New()) {
		if err != nil {
			t.Errorf("thread %s: %v", id, err)
		}
	}
	if groups := s.Stats().Groups - before.Groups; groups != 3 {
		t.Errorf("2400 KiB made %d transactions; want 3 of at most 1 MiB", groups)
	}
}
