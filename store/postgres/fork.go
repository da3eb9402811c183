package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// forker makes forks.
type forker struct{ s *Store }

// Fork implements [selvage.Forker]. Forks, deletes and changes of parents of a
// tenant go one after the other.
func (f forker) Fork(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
	receipt, err := f.fork(ctx, req)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("fork thread %q to %q: %w", req.From, req.To, err)
	}
	return receipt, nil
}

func (f forker) fork(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
	s := f.s
	request, err := commit.NewFork(req)
	leave, enterErr := s.enter(ctx)
	if enterErr != nil {
		return selvage.Receipt{}, enterErr
	}
	defer leave()
	if err != nil {
		return selvage.Receipt{}, err
	}
	pass, err := s.gates.enter(ctx, threadKey{s.tenant, req.To})
	if err != nil {
		return selvage.Receipt{}, err
	}
	defer pass()
	return (&forking{store: s, fork: request}).run(ctx)
}

// forking is one fork until it is answered.
type forking struct {
	store *Store
	fork  *commit.Fork
	sent  []selvage.Hash // of the last versions of what was sent and not answered
}

// run tries until the database has answered.
func (f *forking) run(ctx context.Context) (selvage.Receipt, error) {
	failures := 0
	for n := range attempts {
		if n > retries {
			if err := pause(ctx, n); err != nil {
				return selvage.Receipt{}, err
			}
		}
		receipt, err := f.try(ctx)
		switch {
		case err == nil:
			return receipt, nil
		case ours(err) != nil:
			return selvage.Receipt{}, err
		case ctx.Err() != nil:
			return selvage.Receipt{}, ctx.Err()
		case errors.Is(err, errAgain):
			continue
		}
		if failures++; failures > retries || !f.store.heal(err) {
			return selvage.Receipt{}, f.fault(ctx, err)
		}
	}
	return selvage.Receipt{}, fmt.Errorf("other writers were faster %d times: %w", attempts, selvage.ErrUnavailable)
}

// fault is the error of a fork that the database did not answer.
func (f *forking) fault(ctx context.Context, err error) error {
	if len(f.sent) == 0 {
		return fault(ctx, "fork", err)
	}
	return fmt.Errorf("fork %q was sent and not answered; ask for it again to learn what became of it (%s): %w",
		f.fork.Request.ID, describe(err), selvage.ErrUnknownOutcome)
}

// try makes the fork, in one transaction.
func (f *forking) try(ctx context.Context) (receipt selvage.Receipt, err error) {
	s := f.store
	key := threadKey{s.tenant, f.fork.Request.To}
	var last *write
	s.heads.drop(key)
	err = s.serialised(ctx, func(tx pgx.Tx) error {
		h, first, err := s.readHead(ctx, tx, key.id, f.fork.Request.ID)
		switch {
		case err != nil:
			return err
		case first != 0:
			receipt, err = f.replay(ctx, tx, h, first)
			return err
		case h.Thread.Version > 0:
			return commit.Taken(key.id, &h.Head)
		}
		origin, err := s.origin(ctx, tx, f.fork.Request.From, f.fork.Request.At)
		if err != nil {
			return err
		}
		last, err = f.copy(ctx, tx, h, origin)
		return err
	})
	if last == nil {
		return receipt, err
	}
	if err == nil {
		s.remember(key, last)
		return f.fork.Receipt(&last.plan.Change, false)
	}
	if ours(err) == nil && judge(err) == lost {
		f.sent = append(f.sent, last.plan.Change.Hash)
	}
	return selvage.Receipt{}, err
}

// copy writes the versions of the fork and returns the last one.
func (f *forking) copy(ctx context.Context, tx pgx.Tx, h *head, origin *commit.Origin) (*write, error) {
	l := &lookup{ctx: ctx, store: f.store, from: tx, thread: packID(string(f.fork.Request.To)), head: h}
	copies, err := f.fork.Plan(&h.Head, origin, l, f.store.now())
	if err != nil {
		return nil, err
	}
	var w *write
	for _, c := range copies {
		if w, err = f.store.newWrite(h, c.Plan, &commit.Request{ThreadID: f.fork.Request.To, Set: c.Set}); err != nil {
			return nil, err
		}
		written, err := w.exec(ctx, tx)
		switch {
		case err != nil && judge(err) == duplicate, err == nil && !written:
			return nil, errAgain
		case err != nil:
			return nil, err
		}
		h = w.next
	}
	return w, nil
}

// replay answers a fork whose id the target's log holds.
func (f *forking) replay(ctx context.Context, tx pgx.Tx, h *head, first int64) (selvage.Receipt, error) {
	c, err := f.store.readChange(ctx, tx, h.Thread.ID, first)
	if err != nil {
		return selvage.Receipt{}, err
	}
	v, err := f.fork.Replay(&c)
	if err != nil {
		return selvage.Receipt{}, err
	}
	if c, err = f.store.readChange(ctx, tx, h.Thread.ID, int64(v)); err != nil {
		return selvage.Receipt{}, err
	}
	replayed := true
	for _, hash := range f.sent {
		replayed = replayed && hash != c.Hash
	}
	return f.fork.Receipt(&c, replayed)
}

// origin is what a thread was at a version, to be forked.
func (s *Store) origin(ctx context.Context, tx pgx.Tx, id selvage.ThreadID, at selvage.Version) (*commit.Origin, error) {
	h, _, err := s.readHead(ctx, tx, id, "")
	if err != nil {
		return nil, err
	}
	if err := h.missing(id); err != nil {
		return nil, err
	}
	v, err := h.at(at)
	if err == nil {
		err = h.known(v)
	}
	if err != nil {
		return nil, err
	}
	c, err := s.readChange(ctx, tx, id, int64(v))
	if err != nil {
		return nil, err
	}
	f, err := s.fold(ctx, tx, h, int64(v))
	if err != nil {
		return nil, err
	}
	o := &commit.Origin{Thread: cloneThread(h.Thread), Version: v, Hash: c.Hash, State: f.doc}
	o.Messages, err = s.said(ctx, tx, h, commit.Visible(h.Rewinds, h.firstSeq, v, c.LastSeq()+1))
	return o, err
}
