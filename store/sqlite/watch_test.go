package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

func watcherOf(t *testing.T, s selvage.Store) selvage.Watcher {
	t.Helper()
	w, ok := selvage.As[selvage.Watcher](s)
	if !ok {
		t.Fatalf("a %T offers no Watcher", s)
	}
	return w
}

// TestFeedIsFlat counts what a page of the feed, and one of events, takes at
// the beginning and at the end of a long log.
func TestFeedIsFlat(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	const changes, limit = 3000, 10
	const late = changes - 500
	for v := range selvage.Version(changes) {
		set := selvage.ChangeSet{Messages: []selvage.Message{{Role: selvage.RoleUser, Content: selvage.Text("hello")}}}
		appendTo(t, s, "t", set, selvage.Exact(v))
	}
	w, n := watcherOf(t, s), limit
	counted := func(read func() (int, error)) (statements int64, pages int) {
		before := s.Stats().Statements
		s.PagesRead()
		if got, err := read(); err != nil || got != limit {
			t.Fatalf("a page holds %d items, %v; want %d", got, err, limit)
		}
		return s.Stats().Statements - before, s.PagesRead()
	}
	for name, read := range map[string]func(after int64) (int, error){
		"feed": func(after int64) (int, error) {
			page, err := w.Feed(t.Context(), selvage.FeedQuery{After: selvage.FeedPosition{Generation: 1, Order: after}, Limit: &n})
			return len(page.Items), err
		},
		"events": func(after int64) (int, error) {
			page, err := w.Events(t.Context(), "t", selvage.EventQuery{After: selvage.Position{Version: selvage.Version(after)}, Limit: &n})
			return len(page.Items), err
		},
	} {
		if _, err := read(50); err != nil { // prepares the statements
			t.Fatal(err)
		}
		early, earlyPages := counted(func() (int, error) { return read(50) })
		after, afterPages := counted(func() (int, error) { return read(late) })
		if early != after || afterPages > 2*earlyPages+20 {
			t.Errorf("a page of the %s takes %d statements and %d pages after 50 changes, %d and %d after %d; want the same", name,
				early, earlyPages, after, afterPages, late)
		}
	}
}

// TestPollerStaysWhileSomebodyWaits shows that the file is looked at only then.
func TestPollerStaysWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	w := watcherOf(t, s)
	appendTo(t, s, "t", selvage.ChangeSet{}, selvage.New())
	if _, err := w.Feed(t.Context(), selvage.FeedQuery{Wait: true}); err != nil || s.Polling() {
		t.Fatalf("reading what is there: %v; the file is polled: %v; want it left alone", err, s.Polling())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	before := s.Stats().Statements
	if _, err := w.Events(ctx, "t", selvage.EventQuery{Wait: true}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("waiting for an event of a thread without any: %v", err)
	}
	ended := s.Stats().Statements
	if ended-before < 3 {
		t.Errorf("while somebody waited %d statements were run; want the file looked at", ended-before)
	}
	s.PollerGone()
	// One look may have been under way when the wait ended.
	if after := s.Stats().Statements; after-ended > 3 || s.Polling() {
		t.Errorf("after the wait %d statements were run, polling: %v; want the file left alone", after-ended, s.Polling())
	}
}

// TestPositionOfOtherData shows that a position is refused if another change
// stands there, as after a copy of the file was put back and written to.
func TestPositionOfOtherData(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	w := watcherOf(t, s)
	appendTo(t, s, "t", selvage.ChangeSet{}, selvage.New())
	end, err := w.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, "t", selvage.ChangeSet{}, selvage.Any())
	other := end
	other.Version++
	if _, err := w.Feed(t.Context(), selvage.FeedQuery{After: other}); !errors.Is(err, selvage.ErrCursorExpired) {
		t.Errorf("the feed after a position where another change stands answers %v; want it expired", err)
	}
	if page, err := w.Feed(t.Context(), selvage.FeedQuery{After: end}); err != nil || len(page.Items) != 1 {
		t.Errorf("the feed after the true position: %+v, %v", page, err)
	}
}

// TestRestoredIsAnotherGeneration shows that positions of the feed expire when
// the generation is raised, and those of threads do not.
func TestRestoredIsAnotherGeneration(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	w := watcherOf(t, s)
	appendTo(t, s, "t", selvage.ChangeSet{Events: []selvage.EventDraft{{Kind: "note"}}}, selvage.New())
	end, err := w.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, "t", selvage.ChangeSet{Events: []selvage.EventDraft{{Kind: "note"}}}, selvage.Any())
	if _, err := s.Exec(`UPDATE meta SET value = value + 1 WHERE key = 'generation'`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Feed(t.Context(), selvage.FeedQuery{After: end}); !errors.Is(err, selvage.ErrCursorExpired) {
		t.Errorf("the feed after a position of the generation before answers %v; want it expired", err)
	}
	page, err := w.Events(t.Context(), "t", selvage.EventQuery{After: selvage.Position{Version: 1}})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("the events after a position of the generation before: %+v, %v; want the next one", page, err)
	}
}

// TestOwnCommitsWakeWithoutLooking waits where nobody looks at the file: what
// the store itself commits is enough to end the wait.
func TestOwnCommitsWakeWithoutLooking(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	s.Deafen()
	w := watcherOf(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	note := selvage.ChangeSet{Events: []selvage.EventDraft{{Kind: "note"}}}
	v := appendTo(t, s, "t", note, selvage.New()).Version
	end, err := w.End(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		woken := make(chan error, 2)
		go func() {
			_, err := w.Events(ctx, "t", selvage.EventQuery{After: v.End(), Wait: true})
			woken <- err
		}()
		go func() {
			page, err := w.Feed(ctx, selvage.FeedQuery{After: end, Wait: true})
			end = page.Next
			woken <- err
		}()
		next := appendTo(t, s, "t", note, selvage.Any()).Version
		for range cap(woken) {
			if err := <-woken; err != nil {
				t.Fatalf("waiting for version %d: %v", next, err)
			}
		}
		v = next
	}
}
