package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/yardstick"
	"github.com/selvagehq/selvage/model"
)

// tape is a store that keeps what it is asked for, so that another one can be
// asked the same. One run at a time uses it.
type tape struct {
	selvage.Store
	asked         []func(ctx context.Context, s selvage.Store, lease *selvage.Lease) error
	commits, most int // appends of this turn, and of the turn with most of them
}

// Capability implements the search of [selvage.As].
func (t *tape) Capability(target any) bool {
	switch c := target.(type) {
	case *selvage.Leaser:
		*c = t
		return true
	case *selvage.StreamCheckpoints:
		found, ok := selvage.As[selvage.StreamCheckpoints](t.Store)
		*c = found
		return ok
	}
	return false
}

func (t *tape) keep(ask func(ctx context.Context, s selvage.Store, lease *selvage.Lease) error) {
	t.asked = append(t.asked, ask)
}

func (t *tape) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	t.commits++
	t.keep(func(ctx context.Context, s selvage.Store, lease *selvage.Lease) error {
		set.Fence = lease.Fence()
		_, err := s.Append(ctx, id, set, pre)
		return err
	})
	return t.Store.Append(ctx, id, set, pre)
}

func (t *tape) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	t.keep(func(ctx context.Context, s selvage.Store, _ *selvage.Lease) error {
		_, err := s.Load(ctx, id, opts)
		return err
	})
	return t.Store.Load(ctx, id, opts)
}

func (t *tape) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	t.keep(func(ctx context.Context, s selvage.Store, _ *selvage.Lease) error {
		_, err := s.Messages(ctx, id, q)
		return err
	})
	return t.Store.Messages(ctx, id, q)
}

// leaserOf is the part of a store that hands out leases.
func leaserOf(s selvage.Store) (selvage.Leaser, error) {
	leaser, ok := selvage.As[selvage.Leaser](s)
	if !ok {
		return nil, errors.New("the store hands out no leases")
	}
	return leaser, nil
}

// Acquire implements [selvage.Leaser].
func (t *tape) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	acquire := func(ctx context.Context, s selvage.Store, lease *selvage.Lease) error {
		leaser, err := leaserOf(s)
		if err == nil {
			*lease, err = leaser.Acquire(ctx, id, owner, ttl)
		}
		return err
	}
	t.keep(acquire)
	var lease selvage.Lease
	err := acquire(ctx, t.Store, &lease)
	return lease, err
}

// Renew implements [selvage.Leaser].
func (t *tape) Renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	leaser, err := leaserOf(t.Store)
	if err != nil {
		return l, err
	}
	return leaser.Renew(ctx, l, ttl)
}

// Release implements [selvage.Leaser].
func (t *tape) Release(ctx context.Context, l selvage.Lease) error {
	release := func(ctx context.Context, s selvage.Store, lease *selvage.Lease) error {
		leaser, err := leaserOf(s)
		if err != nil {
			return err
		}
		return leaser.Release(ctx, *lease)
	}
	t.keep(release)
	return release(ctx, t.Store, &l)
}

// play asks another store the same, and returns what that took.
func (t *tape) play(ctx context.Context, s selvage.Store) (time.Duration, error) {
	var lease selvage.Lease
	began := yardstick.ProcessTime()
	for i, ask := range t.asked {
		if err := ask(ctx, s, &lease); err != nil {
			return 0, fmt.Errorf("asking again, %d of %d: %w", i+1, len(t.asked), err)
		}
	}
	return yardstick.ProcessTime() - began, nil
}

// taped is a model whose requests are on the tape too.
type taped struct {
	model.Model
	tape *tape
}

func (m *taped) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	m.tape.keep(func(ctx context.Context, _ selvage.Store, _ *selvage.Lease) error {
		_, err := model.Collect(m.Model.Stream(ctx, req))
		return err
	})
	return m.Model.Stream(ctx, req)
}
