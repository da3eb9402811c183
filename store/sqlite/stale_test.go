package sqlite_test

import (
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestLostCommitLeavesNoStaleHead loses the answer of a commit. The connection
// that follows counts the versions of the file from anew, and by the time it
// comes to the old number somebody else has appended.
func TestLostCommitLeavesNoStaleHead(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	other := open(t, s.Path(), sqlite.Options{Durability: sqlite.Ephemeral})
	defer closeStore(t, other)
	appendTo(t, s, "t", selvage.ChangeSet{}, selvage.New())
	for range 20 {
		appendTo(t, s, "t", selvage.ChangeSet{}, selvage.Any())
	}
	failAt(s, sqlite.AfterCommit)
	if _, err := s.Append(t.Context(), "t", selvage.ChangeSet{}, selvage.Any()); !errors.Is(err, selvage.ErrUnknownOutcome) {
		t.Fatalf("Append = %v; want ErrUnknownOutcome", err)
	}
	for range 60 {
		// What is refused reads the head, and writes nothing.
		if _, err := s.Append(t.Context(), "t", selvage.ChangeSet{}, selvage.Exact(9999)); !errors.Is(err, selvage.ErrConflict) {
			t.Fatalf("Append = %v; want ErrConflict", err)
		}
		at := appendTo(t, other, "t", selvage.ChangeSet{}, selvage.Any()).Version
		_, err := s.Append(t.Context(), "t", selvage.ChangeSet{}, selvage.Exact(at+1))
		var conflict *selvage.ConflictError
		if !errors.As(err, &conflict) || conflict.Actual != at {
			t.Fatalf("the thread is at version %d; the refusal says %v", at, err)
		}
	}
}

// TestReopenedWriterLeavesCursorsAlone lists threads while the writer opens one
// connection after the other. The race detector is what judges.
func TestReopenedWriterLeavesCursorsAlone(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	for _, id := range []selvage.ThreadID{"a", "b"} {
		appendTo(t, s, id, say("hello"), selvage.New())
	}
	done := make(chan struct{})
	var g errgroup.Group
	g.Go(func() error {
		one := 1
		var cursor selvage.Cursor
		for {
			select {
			case <-done:
				return nil
			default:
			}
			page, err := s.Threads(t.Context(), selvage.ThreadQuery{Limit: &one, Cursor: cursor})
			if err != nil {
				return err
			}
			cursor = page.Next
		}
	})
	for range 5 {
		failAt(s, sqlite.AfterCommit)
		if _, err := s.Append(t.Context(), "a", say("lost"), selvage.Any()); !errors.Is(err, selvage.ErrUnknownOutcome) {
			t.Errorf("Append = %v; want ErrUnknownOutcome", err)
		}
		appendTo(t, s, "a", say("kept"), selvage.Any())
	}
	close(done)
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
