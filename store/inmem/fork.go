package inmem

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// forker makes forks.
type forker struct{ s *Store }

// Fork implements [selvage.Forker]. It never leaves its outcome unknown.
func (f forker) Fork(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
	receipt, err := f.fork(ctx, req)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("fork thread %q to %q: %w", req.From, req.To, err)
	}
	return receipt, nil
}

func (f forker) fork(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
	request, err := commit.NewFork(req)
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.Receipt{}, err
	}
	if err != nil {
		return selvage.Receipt{}, err
	}
	if t := s.threads[req.To]; t != nil {
		if i, known := t.changes[request.Request.ID]; known {
			last, err := request.Replay(&t.log[i])
			if err != nil {
				return selvage.Receipt{}, err
			}
			return request.Receipt(&t.log[last-t.log[0].Version], true)
		}
	}
	target := s.head(req.To)
	if target.Thread.Version > 0 {
		return selvage.Receipt{}, commit.Taken(req.To, target)
	}
	origin, err := s.origin(req.From, req.At)
	if err != nil {
		return selvage.Receipt{}, err
	}
	copies, err := request.Plan(target, origin, reader{s, nil}, s.now())
	if err != nil {
		return selvage.Receipt{}, err
	}
	var last selvage.Change
	for _, c := range copies {
		w, err := prepare(c.Plan)
		if err != nil {
			return selvage.Receipt{}, err
		}
		s.write(w)
		last = w.plan.Change
	}
	return request.Receipt(&last, false)
}

// origin is what a thread was at a version, to be forked.
func (s *Store) origin(id selvage.ThreadID, at selvage.Version) (*commit.Origin, error) {
	t, err := s.find(id)
	if err != nil {
		return nil, err
	}
	i, err := t.at(at)
	if err != nil {
		return nil, err
	}
	c := &t.log[i]
	if c.Version < t.head.Horizon {
		return nil, commit.GoneBelow(&t.head, c.Version)
	}
	return &commit.Origin{Thread: cloneThread(t.head.Thread), Version: c.Version, Hash: c.Hash, State: t.docs[i],
		Messages: cloneMessages(t.visible(t.visibleAt(i)))}, nil
}
