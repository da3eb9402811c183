package sqlite_test

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// inTurn queues calls, each after the one before it, so that they run in this
// order in one group, and returns what each was answered.
func inTurn(t *testing.T, s *sqlite.Store, calls ...func() error) []error {
	t.Helper()
	release := s.Hold()
	errs := make([]error, len(calls))
	var g errgroup.Group
	for i, call := range calls {
		g.Go(func() error {
			errs[i] = call()
			return nil
		})
		waitFor(t, func() bool { return s.Waiting() == i+1 })
	}
	release()
	_ = g.Wait() // they have no errors of their own
	return errs
}

// TestRefusalsRestOnWhatIsCommitted has the commit of a group fail. Who was
// refused because of a member's work must not hear so, for it is not there.
func TestRefusalsRestOnWhatIsCommitted(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]sqlite.Moment{"before the commit": sqlite.BeforeCommit, "after the commit": sqlite.AfterCommit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, sqlite.Options{})
			ctx := t.Context()
			appendTo(t, s, "t", say("hello"), selvage.New())
			failAt(s, at)
			errs := inTurn(t, s,
				func() error {
					_, err := s.Append(ctx, "t", say("too late"), selvage.Exact(7))
					return err
				},
				func() error { return s.Delete(ctx, "t", selvage.DeleteReject) },
				func() error {
					_, err := s.Append(ctx, "t", say("more"), selvage.Exact(1))
					return err
				},
				func() error {
					_, err := s.Append(ctx, "u", say("new"), selvage.New())
					return err
				},
			)
			fault, then := selvage.ErrUnavailable, error(nil)
			if at == sqlite.AfterCommit {
				fault, then = selvage.ErrUnknownOutcome, selvage.ErrGone
			}
			for i, want := range []error{selvage.ErrConflict, fault, then, fault} {
				if !errors.Is(errs[i], want) {
					t.Errorf("member %d was answered %v; want %v", i, errs[i], want)
				}
			}
			h, err := s.Load(ctx, "t", selvage.LoadOptions{})
			if at == sqlite.BeforeCommit && (err != nil || h.Thread.Version != 2) {
				t.Errorf("the thread is at version %d, %v; want 2: it was not deleted, and appended to", h.Thread.Version, err)
			}
			if at == sqlite.AfterCommit && !errors.Is(err, selvage.ErrNotFound) {
				t.Errorf("Load = %v; want ErrNotFound: it was deleted", err)
			}
		})
	}
}

// TestPanicPassesTheTurnOn breaks a transaction off in a panic: it goes to who
// leads the group, the others are answered, and the next one finds the store
// in order.
func TestPanicPassesTheTurnOn(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	s.Probe(func(m sqlite.Moment) error {
		if m == sqlite.BeforeCommit {
			panic("a fault of the program")
		}
		return nil
	})
	panics := make(chan any, 2)
	call := func(id selvage.ThreadID) func() error {
		return func() error {
			defer func() { panics <- recover() }()
			_, err := s.Append(context.WithoutCancel(t.Context()), id, say("hello"), selvage.New())
			return err
		}
	}
	errs := inTurn(t, s, call("a"), call("b"))
	if a, b := <-panics, <-panics; (a == nil) == (b == nil) {
		t.Errorf("the callers saw the panics %v and %v; want one, at who led", a, b)
	}
	if err := errors.Join(errs...); !errors.Is(err, selvage.ErrUnknownOutcome) {
		t.Errorf("the other was answered %v; want ErrUnknownOutcome", err)
	}
	s.Probe(nil)
	for _, id := range []selvage.ThreadID{"a", "b"} {
		if r := appendTo(t, s, id, say("hello"), selvage.New()); r.Version != 1 {
			t.Errorf("thread %s is now at version %d; want 1: what broke off left a trace", id, r.Version)
		}
	}
}

// TestBrokenBeginLeavesNoTransaction has the preparation of a transaction fail
// after it began.
func TestBrokenBeginLeavesNoTransaction(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	failAt(s, sqlite.AfterBegin)
	if _, err := s.Append(t.Context(), "t", say("hello"), selvage.New()); !errors.Is(err, selvage.ErrUnavailable) {
		t.Fatalf("Append = %v; want ErrUnavailable", err)
	}
	other := open(t, s.Path(), sqlite.Options{BusyTimeout: -1})
	defer closeStore(t, other)
	appendTo(t, other, "t", say("hello"), selvage.New())
	appendTo(t, s, "t", say("hello"), selvage.Exact(1))
}
