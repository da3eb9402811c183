package toystore

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// Acquire implements [selvage.Leaser].
func (s *Store) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.Lease{}, err
	}
	if err := commit.CheckThreadID(id); err != nil {
		return selvage.Lease{}, err
	}
	until, err := expiry(ttl)
	if err != nil {
		return selvage.Lease{}, err
	}
	t := s.thread(id)
	if t.head.Deleted {
		return selvage.Lease{}, fmt.Errorf("thread %q was deleted: %w", id, selvage.ErrGone)
	}
	lease := selvage.Lease{ThreadID: id, Owner: owner, Epoch: t.head.Epoch + 1, Token: rand.Text(), Until: until}
	if held := t.lease; held != nil {
		// A real store asks about the process without holding anybody up.
		if held.Until.After(time.Now()) && !commit.OwnerDead(held.Owner) {
			return selvage.Lease{}, &selvage.BusyError{Thread: id, Owner: held.Owner, Until: held.Until}
		}
		took := held.Owner
		lease.Took = &took
	}
	kept := lease
	t.head.Epoch, t.lease = lease.Epoch, &kept
	s.threads[id] = t // it may not exist yet
	return lease, nil
}

// Renew implements [selvage.Leaser].
func (s *Store) Renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.Lease{}, err
	}
	until, err := expiry(ttl)
	if err != nil {
		return selvage.Lease{}, err
	}
	t := s.thread(l.ThreadID)
	switch {
	case t.head.Epoch != l.Epoch:
		return selvage.Lease{}, &selvage.FencedError{Thread: l.ThreadID, Held: l.Epoch, Actual: t.head.Epoch}
	case !t.leased(l):
		return selvage.Lease{}, fmt.Errorf("the lease was released; acquire it again: %w", selvage.ErrFenced)
	}
	t.lease.Until, l.Until = until, until
	return l, nil
}

// Release implements [selvage.Leaser].
func (s *Store) Release(ctx context.Context, l selvage.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return err
	}
	if t := s.thread(l.ThreadID); t.leased(l) {
		t.lease = nil
	}
	return nil
}

// leased reports whether l is the thread's lease.
func (t *thread) leased(l selvage.Lease) bool {
	return t.lease != nil && t.lease.Epoch == l.Epoch && t.lease.Token == l.Token
}

// expiry is when a lease taken now ends.
func expiry(ttl time.Duration) (time.Time, error) {
	if ttl < selvage.TimePrecision {
		return time.Time{}, &selvage.InvalidError{Field: "ttl", Reason: fmt.Sprintf("a lease lasts at least %v", selvage.TimePrecision)}
	}
	return time.Now().Add(ttl).UTC().Truncate(selvage.TimePrecision), nil
}
