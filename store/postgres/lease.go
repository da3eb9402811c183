package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
	"github.com/selvagehq/selvage/store/commit"
)

// Acquire implements [selvage.Leaser]. Leases are measured by the clock of the
// database.
func (s *Store) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	lease, err := s.acquire(ctx, id, owner, ttl)
	if err != nil {
		return selvage.Lease{}, fmt.Errorf("acquire the lease of thread %q: %w", id, err)
	}
	return lease, nil
}

func (s *Store) acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (lease selvage.Lease, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return lease, err
	}
	defer leave()
	if err := commit.CheckThreadID(id); err != nil {
		return lease, err
	}
	if err := checkTTL(ttl); err != nil {
		return lease, err
	}
	data, err := encodeJSON(&owner)
	if err != nil {
		return lease, err
	}
	// A claim that was made and not answered is found again by its token.
	c := &claim{store: s, id: id, owner: data, token: rand.Text(), ttl: ttl}
	for {
		var holder *selvage.Lease
		err := s.retry(ctx, "claim", func(ctx context.Context) (err error) {
			lease, holder, err = c.try(ctx)
			return err
		})
		if err != nil || holder == nil {
			lease.Owner = owner
			return lease, err
		}
		if !process.Dead(holder.Owner) {
			return selvage.Lease{}, &selvage.BusyError{Thread: id, Owner: holder.Owner, Until: holder.Until}
		}
		c.dead = holder.Epoch
	}
}

// claim is one attempt to get a lease until it is answered.
type claim struct {
	store *Store
	id    selvage.ThreadID
	owner []byte
	token string
	ttl   time.Duration
	dead  int64 // epoch of a holder whose process is dead
}

// try takes the lease, or tells who holds it.
func (c *claim) try(ctx context.Context) (selvage.Lease, *selvage.Lease, error) {
	s, thread := c.store, packID(string(c.id))
	for {
		var r leaseRow
		var version int64
		err := s.pool.QueryRow(ctx, `INSERT INTO selvage.threads AS t (tenant, thread, hash, epoch, lease_owner, lease_token, lease_until)
			VALUES ($1::text, $2::bytea, $3::bytea, 1, $4::bytea, $6::text, `+leaseEnd+`)
			ON CONFLICT (tenant, thread) DO UPDATE SET epoch = t.epoch + 1, lease_took = t.lease_owner,
				lease_owner = excluded.lease_owner, lease_token = excluded.lease_token, lease_until = excluded.lease_until
			WHERE NOT t.deleted AND (t.lease_token IS NULL OR t.lease_until <= clock_timestamp() OR t.epoch = $7::bigint)
			RETURNING `+leaseColumns+`, t.version`,
			s.tenant, thread, make([]byte, len(selvage.Hash{})), c.owner, c.ttl.Milliseconds(), c.token, c.dead,
		).Scan(append(r.targets(), &version)...)
		if err == nil {
			s.raiseEpoch(threadKey{s.tenant, c.id}, version, *r.epoch)
			lease, err := r.lease(c.id)
			lease.Token = c.token
			return lease, nil, err
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return selvage.Lease{}, nil, err
		}
		holder, err := c.holder(ctx, thread)
		switch {
		case err != nil:
			return selvage.Lease{}, nil, err
		case holder == nil: // given back meanwhile
		case holder.Token == c.token:
			return *holder, nil, nil
		default:
			return selvage.Lease{}, holder, nil
		}
	}
}

// leaseEnd is when a lease taken now ends, to the millisecond.
const leaseEnd = `date_trunc('milliseconds', clock_timestamp() + $5::bigint * interval '1 millisecond')`

// holder returns the lease that somebody holds, nil if nobody does.
func (c *claim) holder(ctx context.Context, thread []byte) (*selvage.Lease, error) {
	var r leaseRow
	var token *string
	var version int64
	var deleted bool
	err := c.store.pool.QueryRow(ctx, `SELECT `+leaseColumns+`, t.lease_token, t.version, t.deleted FROM selvage.threads t
		WHERE t.tenant = $1::text AND t.thread = $2::bytea`, c.store.tenant, thread).Scan(append(r.targets(), &token, &version, &deleted)...)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case deleted:
		return nil, fmt.Errorf("deleted at version %d: %w", version, selvage.ErrGone)
	case token == nil || r.held == nil || !*r.held || *r.epoch == c.dead:
		return nil, nil
	}
	lease, err := r.lease(c.id)
	lease.Token = *token
	return &lease, err
}

// raiseEpoch makes a remembered head know its new holder, so that the first
// append under the lease finds it right.
func (s *Store) raiseEpoch(k threadKey, version, epoch int64) {
	h := s.heads.get(k)
	switch {
	case h == nil && version == 0:
		h = newHead(k.tenant)
	case h == nil || int64(h.Thread.Version) != version:
		s.heads.drop(k)
		return
	}
	raised := *h
	raised.Epoch = epoch
	s.heads.put(k, &raised)
}

// Renew implements [selvage.Leaser]. Renewing a lease that was released
// matches [selvage.ErrFenced] too.
func (s *Store) Renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	lease, err := s.renew(ctx, l, ttl)
	if err != nil {
		return selvage.Lease{}, fmt.Errorf("renew the lease of thread %q: %w", l.ThreadID, err)
	}
	return lease, nil
}

func (s *Store) renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (lease selvage.Lease, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return lease, err
	}
	defer leave()
	if err := checkTTL(ttl); err != nil {
		return lease, err
	}
	thread := packID(string(l.ThreadID))
	err = s.retry(ctx, "renew", func(ctx context.Context) error {
		var r leaseRow
		err := s.pool.QueryRow(ctx, `UPDATE selvage.threads t SET lease_until = `+leaseEnd+`
			WHERE t.tenant = $1::text AND t.thread = $2::bytea AND t.epoch = $3::bigint AND t.lease_token = $4::text
			RETURNING `+leaseColumns, s.tenant, thread, l.Epoch, l.Token, ttl.Milliseconds()).Scan(r.targets()...)
		if errors.Is(err, pgx.ErrNoRows) {
			return s.fenced(ctx, l)
		}
		if err != nil {
			return err
		}
		lease, err = r.lease(l.ThreadID)
		lease.Token = l.Token
		return err
	})
	return lease, err
}

// fenced says why a lease is no longer one.
func (s *Store) fenced(ctx context.Context, l selvage.Lease) error {
	var epoch int64
	err := s.pool.QueryRow(ctx, `SELECT coalesce((SELECT t.epoch FROM selvage.threads t WHERE t.tenant = $1::text AND t.thread = $2::bytea), 0)`,
		s.tenant, packID(string(l.ThreadID))).Scan(&epoch)
	switch {
	case err != nil:
		return err
	case epoch == l.Epoch:
		return fmt.Errorf("it was released; acquire it again: %w", selvage.ErrFenced)
	}
	return &selvage.FencedError{Thread: l.ThreadID, Held: l.Epoch, Actual: epoch}
}

// Release implements [selvage.Leaser].
func (s *Store) Release(ctx context.Context, l selvage.Lease) error {
	leave, err := s.enter(ctx)
	if err == nil {
		defer leave()
		err = s.retry(ctx, "release", func(ctx context.Context) error {
			_, err := s.pool.Exec(ctx, `UPDATE selvage.threads t SET lease_owner = NULL, lease_token = NULL, lease_took = NULL, lease_until = NULL
				WHERE t.tenant = $1::text AND t.thread = $2::bytea AND t.epoch = $3::bigint AND t.lease_token = $4::text`,
				s.tenant, packID(string(l.ThreadID)), l.Epoch, l.Token)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("release the lease of thread %q: %w", l.ThreadID, err)
	}
	return nil
}

// lease decodes the row, but for its token.
func (r *leaseRow) lease(id selvage.ThreadID) (selvage.Lease, error) {
	l := selvage.Lease{ThreadID: id, Epoch: *r.epoch, Until: r.until.UTC()}
	if err := decodeJSON("the owner of the lease", r.owner, &l.Owner); err != nil {
		return l, err
	}
	if r.took != nil {
		l.Took = &selvage.Owner{}
		return l, decodeJSON("the owner before", r.took, l.Took)
	}
	return l, nil
}

// current returns the lease if somebody holds it now, without its token and
// without whom it succeeded, which is for its holder to know.
func (r *leaseRow) current(id selvage.ThreadID) *selvage.Lease {
	if r.held == nil || !*r.held || r.owner == nil {
		return nil
	}
	l, err := r.lease(id)
	if err != nil {
		return nil // who holds it cannot be told, and loading is not about that
	}
	l.Took = nil
	return &l
}

// checkTTL refuses leases that would end before they begin.
func checkTTL(ttl time.Duration) error {
	if ttl < selvage.TimePrecision {
		return &selvage.InvalidError{Field: "ttl", Reason: fmt.Sprintf("a lease lasts at least %v, not %v", selvage.TimePrecision, ttl)}
	}
	return nil
}
