package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
	"github.com/selvagehq/selvage/store/commit"
)

const (
	selectLease = `SELECT lease_owner, lease_until, lease_token, epoch FROM threads WHERE tenant = ? AND id = ?`
	claimLease  = `UPDATE threads SET epoch = ?, lease_owner = ?, lease_token = ?, lease_until = ? WHERE key = ? AND epoch = ?`
	renewLease  = `UPDATE threads SET lease_until = ? WHERE tenant = ? AND id = ? AND epoch = ? AND lease_token = ?`
	dropLease   = `UPDATE threads SET lease_owner = NULL, lease_token = NULL, lease_until = NULL
		WHERE tenant = ? AND id = ? AND epoch = ? AND lease_token = ?`
)

// lease is what the row of a thread says about its lease.
type lease struct {
	owner string // JSON; empty: nobody holds it
	until time.Time
	token string
	epoch int64
}

func (l *lease) holder(id selvage.ThreadID) (*selvage.Lease, error) {
	out := &selvage.Lease{ThreadID: id, Epoch: l.epoch, Until: l.until}
	if err := json.Unmarshal([]byte(l.owner), &out.Owner); err != nil {
		return nil, fmt.Errorf("the owner of the lease of thread %q cannot be read (%v): %w", id, err, selvage.ErrCorrupt)
	}
	return out, nil
}

// holder is the lease somebody holds at a time, or nil.
func (h *head) holder(now time.Time) (*selvage.Lease, error) {
	if h.lease.owner == "" || !h.lease.until.After(now) {
		return nil, nil
	}
	h.lease.epoch = h.Epoch
	return h.lease.holder(h.Thread.ID)
}

// Acquire implements [selvage.Leaser].
func (s *Store) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	l, err := s.acquire(ctx, id, owner, ttl)
	if err != nil {
		return selvage.Lease{}, fmt.Errorf("acquire the lease of thread %q: %w", id, err)
	}
	return l, nil
}

func (s *Store) acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (out selvage.Lease, err error) {
	if err := s.enter(ctx); err != nil {
		return out, err
	}
	defer s.leave()
	if err := commit.CheckThreadID(id); err != nil {
		return out, err
	}
	data, err := packJSON(owner, false)
	if err != nil {
		return out, err
	}
	var dead int64 // epoch of a holder that was found dead
	for {
		var holder *selvage.Lease
		err := s.writer.do(ctx, s.tenant, 0, func(t *txn) (err error) {
			out, holder, err = t.claim(id, data.(string), ttl, dead)
			return err
		})
		if err != nil {
			return selvage.Lease{}, err
		}
		if holder == nil {
			out.Owner = owner
			return out, nil
		}
		// Asking the system about a process is no thing to do in a transaction.
		if !process.Dead(holder.Owner) {
			return selvage.Lease{}, &selvage.BusyError{Thread: id, Owner: holder.Owner, Until: holder.Until}
		}
		dead = holder.Epoch
	}
}

// claim takes the lease, or tells who holds it. A holder of the epoch dead
// does not count.
func (t *txn) claim(id selvage.ThreadID, owner string, ttl time.Duration, dead int64) (out selvage.Lease, holder *selvage.Lease, err error) {
	until, err := expiry(t.now, ttl)
	if err != nil {
		return out, nil, err
	}
	e, err := t.head(id)
	if err != nil {
		return out, nil, err
	}
	if e.Deleted {
		return out, nil, fmt.Errorf("deleted at version %d: %w", e.Thread.Version, selvage.ErrGone)
	}
	held, err := t.readLease(id)
	if err != nil {
		return out, nil, err
	}
	out = selvage.Lease{ThreadID: id, Epoch: e.Epoch + 1, Token: rand.Text(), Until: until}
	if held.owner != "" {
		l, err := held.holder(id)
		if err != nil {
			return out, nil, err
		}
		if l.Until.After(t.now) && l.Epoch != dead {
			return selvage.Lease{}, l, nil
		}
		out.Took = &l.Owner
	}
	next := *e
	if next.key == 0 {
		if err := t.insertHead(&next); err != nil {
			return out, nil, err
		}
	}
	n, err := t.exec(claimLease, out.Epoch, owner, out.Token, until.UnixMilli(), next.key, e.Epoch)
	if err == nil && n != 1 {
		t.w.store.cache.forget(next.name())
		err = fmt.Errorf("thread %q is not where the cache says: %w", id, errNoRow)
	}
	next.Epoch, next.seen = out.Epoch, t.w.seen
	t.changed[next.name()] = &next
	return out, nil, err
}

func (t *txn) readLease(id selvage.ThreadID) (l lease, err error) {
	_, err = t.c.one(func(r *rows) { l = lease{r.text(0), r.time(1), r.text(2), r.int(3)} }, selectLease, t.tenant, string(id))
	return l, err
}

// Renew implements [selvage.Leaser]. Renewing a lease that was released
// matches [selvage.ErrFenced] too.
func (s *Store) Renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	out, err := s.renew(ctx, l, ttl)
	if err != nil {
		return selvage.Lease{}, fmt.Errorf("renew the lease of thread %q: %w", l.ThreadID, err)
	}
	return out, nil
}

func (s *Store) renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	if err := s.enter(ctx); err != nil {
		return l, err
	}
	defer s.leave()
	err := s.writer.do(ctx, s.tenant, 0, func(t *txn) (err error) {
		if l.Until, err = expiry(t.now, ttl); err != nil {
			return err
		}
		n, err := t.exec(renewLease, l.Until.UnixMilli(), t.tenant, string(l.ThreadID), l.Epoch, l.Token)
		if err != nil || n == 1 {
			return err
		}
		now, err := t.readLease(l.ThreadID)
		switch {
		case err != nil:
			return err
		case now.epoch == l.Epoch:
			return fmt.Errorf("it was released; acquire it again: %w", selvage.ErrFenced)
		default:
			return &selvage.FencedError{Thread: l.ThreadID, Held: l.Epoch, Actual: now.epoch}
		}
	})
	return l, err
}

// Release implements [selvage.Leaser]. Who gives a thread back leaves its
// state document for the next one, if it is a long way to it.
func (s *Store) Release(ctx context.Context, l selvage.Lease) error {
	if err := s.release(ctx, l); err != nil {
		return fmt.Errorf("release the lease of thread %q: %w", l.ThreadID, err)
	}
	return nil
}

func (s *Store) release(ctx context.Context, l selvage.Lease) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.writer.do(ctx, s.tenant, 0, func(t *txn) error {
		n, err := t.exec(dropLease, t.tenant, string(l.ThreadID), l.Epoch, l.Token)
		if err != nil || n != 1 {
			return err
		}
		if e, err := t.head(l.ThreadID); err != nil || e.tail.changes < tailChanges/4 {
			return err
		}
		return t.saveDoc(l.ThreadID)
	})
}

// expiry is when a lease taken now for ttl ends.
func expiry(now time.Time, ttl time.Duration) (time.Time, error) {
	if ttl < selvage.TimePrecision {
		return time.Time{}, &selvage.InvalidError{Field: "ttl", Reason: fmt.Sprintf("a lease lasts at least %v, not %v", selvage.TimePrecision, ttl)}
	}
	return now.Add(ttl).UTC().Truncate(selvage.TimePrecision), nil
}
