package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/layer/retry"
	"github.com/selvagehq/selvage/store/storetest"
)

// soon retries so often, and with so little wait, that no line of a test is
// too bad.
var soon = retry.Options{Tries: 60, First: time.Microsecond, Longest: 10 * time.Microsecond, Patience: time.Minute}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Config{
		New: func(*testing.T) selvage.Store { return retry.New(inmem.New(inmem.Options{}), retry.Options{}) },
	})
}

// TestBadLine is the whole contract over a line that loses calls and answers:
// nobody above the layer notices.
func TestBadLine(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Config{
		New: func(*testing.T) selvage.Store { return retry.New(newFlaky(inmem.New(inmem.Options{})), soon) },
	})
}

// script is a store that answers appends and loads by a list of errors, and
// does the work when it comes to a nil.
type script struct {
	selvage.Store
	answers []error
	ids     []string
	calls   int
}

func (s *script) next() error {
	s.calls++
	if len(s.answers) == 0 {
		return nil
	}
	err := s.answers[0]
	s.answers = s.answers[1:]
	return err
}

func (s *script) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	s.ids = append(s.ids, set.ID)
	if err := s.next(); errors.Is(err, selvage.ErrUnknownOutcome) {
		if _, err := s.Store.Append(ctx, id, set, pre); err != nil {
			return selvage.Receipt{}, err
		}
		return selvage.Receipt{}, err
	} else if err != nil {
		return selvage.Receipt{}, err
	}
	return s.Store.Append(ctx, id, set, pre)
}

func (s *script) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	if err := s.next(); err != nil {
		return selvage.Head{}, err
	}
	return s.Store.Load(ctx, id, opts)
}

func (s *script) Delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	if err := s.next(); err != nil {
		return err
	}
	return s.Store.Delete(ctx, id, strategy)
}

func hello() selvage.ChangeSet {
	return selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("hello")}}
}

// TestOneSet checks that every try of an append is the same set, and that a
// receipt tells the caller what the caller did.
func TestOneSet(t *testing.T) {
	t.Parallel()
	below := &script{Store: inmem.New(inmem.Options{}), answers: []error{errAstray, errLost, errLost}}
	s := retry.New(below, soon)
	defer s.Close()
	r, err := s.Append(t.Context(), "t", hello(), selvage.New())
	if err != nil || r.Version != 1 || r.Replayed {
		t.Fatalf("Append = %+v, %v; want version 1, not replayed", r, err)
	}
	if len(below.ids) != 4 {
		t.Fatalf("%d tries; want 4", len(below.ids))
	}
	for _, id := range below.ids {
		if id == "" || id != below.ids[0] || id != r.ChangeID {
			t.Errorf("the tries had the ids %q and the receipt %q; want one id", below.ids, r.ChangeID)
		}
	}
	set := hello()
	set.ID, below.answers = "mine", []error{errLost}
	if r, err := s.Append(t.Context(), "t", set, selvage.Exact(1)); err != nil || !r.Replayed || r.Version != 2 {
		t.Errorf("a named set whose answer was lost: %+v, %v; want version 2 as the store has it, a replay", r, err)
	}
}

// TestRefusalsStand checks that nothing is sent again that was refused for a
// reason, and that what is not safe is tried once.
func TestRefusalsStand(t *testing.T) {
	t.Parallel()
	classes := []error{selvage.ErrNotFound, selvage.ErrAlreadyExists, selvage.ErrConflict, selvage.ErrInvalid, selvage.ErrFenced, selvage.ErrCorrupt,
		selvage.ErrUnsupported, selvage.ErrTooLarge, selvage.ErrGone, selvage.ErrCursorExpired, selvage.ErrBusy, selvage.ErrClosed, context.Canceled}
	below := &script{Store: inmem.New(inmem.Options{})}
	s := retry.New(below, soon)
	defer s.Close()
	for _, class := range classes {
		below.answers, below.calls = []error{fmt.Errorf("refused: %w", class)}, 0
		if _, err := s.Append(t.Context(), "t", hello(), selvage.Any()); !errors.Is(err, class) || below.calls != 1 {
			t.Errorf("an append refused with %v was sent %d times and answered %v", class, below.calls, err)
		}
	}
	below.answers, below.calls = []error{errAstray}, 0
	if err := s.Delete(t.Context(), "t", selvage.DeleteReject); !errors.Is(err, selvage.ErrUnavailable) || below.calls != 1 {
		t.Errorf("a deletion was sent %d times and answered %v; want it sent once", below.calls, err)
	}
}

// TestPatience checks the bounds: tries, time, and the caller's context.
func TestPatience(t *testing.T) {
	t.Parallel()
	down := func() *script {
		s := &script{Store: inmem.New(inmem.Options{})}
		for range 1000 {
			s.answers = append(s.answers, errAstray)
		}
		return s
	}
	load := func(ctx context.Context, below *script, opts retry.Options) (took time.Duration, err error) {
		s := retry.New(below, opts)
		defer s.Close()
		began := time.Now()
		_, err = s.Load(ctx, "t", selvage.LoadOptions{})
		return time.Since(began), err
	}
	synctest.Test(t, func(t *testing.T) {
		below := down()
		took, err := load(t.Context(), below, retry.Options{})
		if !errors.Is(err, selvage.ErrUnavailable) || below.calls != 6 || took < 300*time.Millisecond || took > 2*time.Second {
			t.Errorf("by default a call is made %d times in %v and answers %v; want 6 times within 2 s", below.calls, took, err)
		}
		below = down()
		took, err = load(t.Context(), below, retry.Options{Tries: 1000, Patience: 10 * time.Second})
		if !errors.Is(err, selvage.ErrUnavailable) || took > 10*time.Second || took < 8*time.Second || below.calls > 40 {
			t.Errorf("a call of 10 s took %v and %d tries, and answers %v", took, below.calls, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		took, err = load(ctx, down(), retry.Options{Tries: 1000})
		if took != 50*time.Millisecond || selvage.Code(err) != "timeout" || !strings.Contains(err.Error(), "the line is down") {
			t.Errorf("a caller who waits 50 ms got %v after %v; want the end of the wait, and what the store said", err, took)
		}
	})
}
