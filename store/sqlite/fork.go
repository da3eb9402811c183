package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// forker makes forks.
type forker struct{ s *Store }

// Fork implements [selvage.Forker]. Others write when it is done.
func (f forker) Fork(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
	receipt, err := f.fork(ctx, req)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("fork thread %q to %q: %w", req.From, req.To, err)
	}
	return receipt, nil
}

func (f forker) fork(ctx context.Context, req selvage.ForkRequest) (receipt selvage.Receipt, err error) {
	if err := f.s.enter(ctx); err != nil {
		return receipt, err
	}
	defer f.s.leave()
	request, err := commit.NewFork(req)
	if err != nil {
		return receipt, err
	}
	// It is a group of its own: nobody knows yet how much it copies.
	err = f.s.writer.do(ctx, f.s.tenant, maxGroupBytes, func(t *txn) (err error) {
		receipt, err = t.fork(request)
		return err
	})
	return receipt, err
}

func (t *txn) fork(f *commit.Fork) (selvage.Receipt, error) {
	req := &f.Request
	target, err := t.head(req.To)
	if err != nil {
		return selvage.Receipt{}, err
	}
	first, err := t.findChange(target, req.ID)
	if err != nil {
		return selvage.Receipt{}, err
	}
	if first != nil {
		return t.forkedBefore(f, target, first)
	}
	if target.Thread.Version > 0 {
		return selvage.Receipt{}, commit.Taken(req.To, &target.Head)
	}
	origin, err := t.origin(req.From, req.At)
	if err != nil {
		return selvage.Receipt{}, err
	}
	copies, err := f.Plan(&target.Head, origin, &lookup{t: t, e: target}, t.now)
	if err != nil {
		return selvage.Receipt{}, err
	}
	var last *selvage.Change
	for i := range copies {
		c := &copies[i]
		fresh, err := t.write(target, c.Plan, natureOf(&c.Set, nil))
		switch {
		case err != nil:
			return selvage.Receipt{}, err
		case !fresh:
			return selvage.Receipt{}, corrupt(req.From, origin.Version, "two messages bear one id")
		}
		target, last = t.changed[target.name()], &c.Plan.Change
	}
	return f.Receipt(last, false)
}

// forkedBefore answers a fork whose id the target's log holds.
func (t *txn) forkedBefore(f *commit.Fork, target *entry, first *change) (selvage.Receipt, error) {
	v, err := f.Replay(&first.Change)
	if err != nil {
		return selvage.Receipt{}, err
	}
	last, err := target.readAt(background(), t.c, v)
	if err != nil {
		return selvage.Receipt{}, err
	}
	return f.Receipt(&last.Change, true)
}

// origin is what a thread was at a version, to be forked.
func (t *txn) origin(id selvage.ThreadID, at selvage.Version) (*commit.Origin, error) {
	e, err := t.head(id)
	if err != nil {
		return nil, err
	}
	v, err := e.resolve(t.c, at)
	if err == nil {
		err = e.known(v)
	}
	if err != nil {
		return nil, err
	}
	ch, err := e.readAt(background(), t.c, v)
	if err != nil {
		return nil, err
	}
	o := &commit.Origin{Thread: e.Thread, Version: v, Hash: ch.Hash}
	if o.State, _, err = e.fold(background(), t.c, ch.lastState(), v); err != nil {
		return nil, err
	}
	seen, err := e.visible(t.c, v, ch.LastSeq()+1)
	if err != nil {
		return nil, err
	}
	err = e.saidIn(background(), t.c, seen, func(_ *change, m selvage.Message) error {
		o.Messages = append(o.Messages, m)
		return nil
	})
	slices.SortFunc(o.Messages, func(a, b selvage.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return o, err
}
