package inmem

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// eraser implements [selvage.Eraser]. The bytes go with the next garbage
// collection, unless a reader still holds them.
type eraser struct{ s *Store }

// Erase implements [selvage.Eraser]. It never leaves its outcome unknown.
func (e eraser) Erase(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
	receipt, err := e.s.erase(ctx, id, req)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("erase messages of thread %q: %w", id, err)
	}
	return receipt, nil
}

func (s *Store) erase(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
	e, err := commit.NewErasure(id, req)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.Receipt{}, err
	}
	if err != nil {
		return selvage.Receipt{}, err
	}
	t := s.threads[id]
	if t == nil {
		return selvage.Receipt{}, e.Admit(&commit.Head{})
	}
	if i, known := t.changes[e.ID]; known {
		return e.Replay(&t.log[i])
	}
	reduced, err := t.reduce(e)
	if err != nil {
		return selvage.Receipt{}, err
	}
	plan, err := e.Plan(&t.head, s.now())
	if err != nil {
		return selvage.Receipt{}, err
	}
	w, err := prepare(plan)
	if err != nil {
		return selvage.Receipt{}, err
	}
	for i, r := range reduced {
		t.log[i] = r.change
		for _, m := range r.messages {
			t.replace(m)
		}
	}
	s.write(w)
	return plan.Receipt, nil
}

// reduction is a change of the log without what was erased from it.
type reduction struct {
	change   selvage.Change
	messages []selvage.Message
}

// reduce works out which changes of the log an erasure reduces, by their
// indexes, and writes nothing.
func (t *thread) reduce(e *commit.Erasure) (map[int]reduction, error) {
	all := make(map[int]reduction)
	for i := range t.log {
		r := reduction{change: cloneChange(&t.log[i])}
		reduced, err := e.Take(&r.change)
		if err != nil {
			return nil, err
		}
		if !reduced {
			continue
		}
		if r.messages, err = r.change.AddedMessages(); err != nil {
			return nil, err
		}
		all[i] = r
	}
	return all, nil
}

// replace puts a message in the place of the one with its seq.
func (t *thread) replace(m selvage.Message) {
	for row := range inOrder(t.window(m.Seq, m.Seq), false) {
		*row = m
	}
}
