package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

var _ selvage.Store = (*Store)(nil)

// Store tries again. It is safe for concurrent use if the store below is, and
// offers that store's capabilities through [selvage.As].
type Store struct {
	next selvage.Store
	opts Options
}

// New returns a store that repeats what next could not do at the moment.
// Closing it closes next.
func New(next selvage.Store, opts Options) *Store {
	return &Store{next: next, opts: opts.complete()}
}

// Unwrap returns the store below.
func (s *Store) Unwrap() selvage.Store { return s.next }

// Capability offers the leases of the store below, with retries where they are
// safe, and its tenants, each behind this layer. Every other capability is the
// store's own; see [selvage.As].
func (s *Store) Capability(target any) bool {
	switch t := target.(type) {
	case *selvage.Leaser:
		below, ok := selvage.As[selvage.Leaser](s.next)
		if ok {
			*t = leaser{below, s.opts}
		}
		return ok
	case *selvage.Tenancy:
		below, ok := selvage.As[selvage.Tenancy](s.next)
		if ok {
			*t = tenancy{below, s.opts}
		}
		return ok
	default:
		return false
	}
}

// Append implements [selvage.Store]. It sends the set again under its id while
// its outcome is unknown. A set that came without an id is new, whatever
// became of its tries, so its receipt is never marked Replayed; one that named
// itself may have been appended before, and after a second try nobody can tell
// which it was: that receipt says what the store says.
//
// If every try failed the error is the last one, and the outcome is as unknown
// as it says. A thread that is deleted between two tries is answered as gone,
// also if the first one had reached it.
func (s *Store) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	fresh := set.ID == ""
	if fresh {
		set.ID = selvage.NewID()
	}
	r, err := again(ctx, s.opts, func(ctx context.Context) (selvage.Receipt, error) { return s.next.Append(ctx, id, set, pre) })
	if fresh {
		r.Replayed = false
	}
	return r, err
}

// Load implements [selvage.Store].
func (s *Store) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	return again(ctx, s.opts, func(ctx context.Context) (selvage.Head, error) { return s.next.Load(ctx, id, opts) })
}

// State implements [selvage.Store].
func (s *Store) State(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
	return again(ctx, s.opts, func(ctx context.Context) (state.Document, error) { return s.next.State(ctx, id, v) })
}

// Messages implements [selvage.Store].
func (s *Store) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	return again(ctx, s.opts, func(ctx context.Context) (selvage.MessagePage, error) { return s.next.Messages(ctx, id, q) })
}

// Changes implements [selvage.Store].
func (s *Store) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	return again(ctx, s.opts, func(ctx context.Context) (selvage.ChangePage, error) { return s.next.Changes(ctx, id, q) })
}

// Threads implements [selvage.Store].
func (s *Store) Threads(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
	return again(ctx, s.opts, func(ctx context.Context) (selvage.ThreadPage, error) { return s.next.Threads(ctx, q) })
}

// Runs implements [selvage.Store].
func (s *Store) Runs(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
	return again(ctx, s.opts, func(ctx context.Context) (selvage.RunPage, error) { return s.next.Runs(ctx, q) })
}

// Delete implements [selvage.Store]. It is tried once.
func (s *Store) Delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	return s.next.Delete(ctx, id, strategy)
}

// Close implements [selvage.Store].
func (s *Store) Close() error { return s.next.Close() }

// again makes a call until it answers something else than that it could not,
// or has been made often enough. Its error is the last one, or the context's
// if that has ended, which leaves the outcome of a write as open.
func again[T any](ctx context.Context, opts Options, call func(context.Context) (T, error)) (T, error) {
	began, waits := time.Now(), opts.waits()
	for tries := 1; ; tries++ {
		answer, err := call(ctx)
		if err == nil || !passing(err) {
			return answer, err
		}
		wait := waits.NextBackOff()
		if ctx.Err() == nil && (tries == opts.Tries || time.Since(began)+wait > opts.Patience) {
			return answer, err
		}
		if sleep(ctx, wait) != nil {
			return answer, fmt.Errorf("given up after %d tries: %w (the last one: %v)", tries, ctx.Err(), err)
		}
	}
}

// passing reports whether an error tells of a moment, and not of the call.
func passing(err error) bool {
	return errors.Is(err, selvage.ErrUnavailable) || errors.Is(err, selvage.ErrUnknownOutcome)
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
