package inmem

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
	"github.com/selvagehq/selvage/store/commit"
)

// Acquire implements [selvage.Leaser].
func (s *Store) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	var dead int64 // epoch of a holder that was found dead
	for {
		lease, holder, err := s.claim(ctx, id, owner, ttl, dead)
		if err != nil {
			return selvage.Lease{}, fmt.Errorf("acquire the lease of thread %q: %w", id, err)
		}
		if holder == nil {
			return lease, nil
		}
		// Asking the system about a process is no thing to do under a lock.
		if !process.Dead(holder.Owner) {
			return selvage.Lease{}, fmt.Errorf("acquire: %w", &selvage.BusyError{Thread: id, Owner: holder.Owner, Until: holder.Until})
		}
		dead = holder.Epoch
	}
}

// claim takes the lease, or tells who holds it. A holder of the epoch dead
// does not count.
func (s *Store) claim(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration, dead int64) (selvage.Lease, *selvage.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.Lease{}, nil, err
	}
	if err := commit.CheckThreadID(id); err != nil {
		return selvage.Lease{}, nil, err
	}
	now := s.now()
	until, err := expiry(now, ttl)
	if err != nil {
		return selvage.Lease{}, nil, err
	}
	t := s.threads[id]
	if t == nil {
		t = &thread{head: *s.head(id)}
		s.threads[id] = t
	}
	if t.head.Deleted {
		return selvage.Lease{}, nil, fmt.Errorf("deleted at version %d: %w", t.head.Thread.Version, selvage.ErrGone)
	}
	held := t.lease
	if held != nil && held.Until.After(now) && held.Epoch != dead {
		holder := cloneLease(*held)
		return selvage.Lease{}, &holder, nil
	}
	t.head.Epoch++
	lease := selvage.Lease{ThreadID: id, Owner: owner, Epoch: t.head.Epoch, Token: rand.Text(), Until: until}
	if held != nil {
		took := held.Owner
		lease.Took = &took
	}
	t.lease = &lease
	return cloneLease(lease), nil, nil
}

// Renew implements [selvage.Leaser]. Renewing a lease that was released
// matches [selvage.ErrFenced] too.
func (s *Store) Renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lease, err := s.renew(ctx, l, ttl)
	if err != nil {
		return selvage.Lease{}, fmt.Errorf("renew the lease of thread %q: %w", l.ThreadID, err)
	}
	return lease, nil
}

func (s *Store) renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	if err := s.enter(ctx); err != nil {
		return selvage.Lease{}, err
	}
	until, err := expiry(s.now(), ttl)
	if err != nil {
		return selvage.Lease{}, err
	}
	t := s.holds(l)
	switch epoch := s.head(l.ThreadID).Epoch; {
	case t == nil && epoch == l.Epoch:
		return selvage.Lease{}, fmt.Errorf("it was released; acquire it again: %w", selvage.ErrFenced)
	case t == nil:
		return selvage.Lease{}, &selvage.FencedError{Thread: l.ThreadID, Held: l.Epoch, Actual: epoch}
	}
	renewed := *t.lease
	renewed.Until = until
	t.lease = &renewed
	return cloneLease(renewed), nil
}

// Release implements [selvage.Leaser].
func (s *Store) Release(ctx context.Context, l selvage.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("release the lease of thread %q: %w", l.ThreadID, err)
	}
	if t := s.holds(l); t != nil {
		t.lease = nil
	}
	return nil
}

// holds returns the thread whose lease l is, or nil.
func (s *Store) holds(l selvage.Lease) *thread {
	t := s.threads[l.ThreadID]
	if t == nil || t.lease == nil || t.lease.Epoch != l.Epoch || t.lease.Token != l.Token {
		return nil
	}
	return t
}

// expiry is when a lease taken now for ttl ends.
func expiry(now time.Time, ttl time.Duration) (time.Time, error) {
	if ttl < selvage.TimePrecision {
		return time.Time{}, &selvage.InvalidError{Field: "ttl", Reason: fmt.Sprintf("a lease lasts at least %v, not %v", selvage.TimePrecision, ttl)}
	}
	return now.Add(ttl).UTC().Truncate(selvage.TimePrecision), nil
}
