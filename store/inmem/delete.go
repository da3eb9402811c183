package inmem

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// Delete implements [selvage.Store]. It never leaves its outcome unknown.
func (s *Store) Delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	if err := s.delete(ctx, id, strategy); err != nil {
		return fmt.Errorf("delete thread %q: %w", id, err)
	}
	return nil
}

func (s *Store) delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return err
	}
	if err := commit.CheckStrategy(strategy); err != nil {
		return err
	}
	if _, err := s.find(id); err != nil {
		return err
	}
	deleted, detached, err := s.planDelete(id, strategy)
	if err != nil {
		return err
	}
	for _, w := range detached {
		s.write(w)
	}
	for _, w := range deleted {
		s.bury(w)
	}
	return nil
}

// planDelete works out the final changes of the thread and of what goes with
// it, and the changes of the children that stay.
func (s *Store) planDelete(id selvage.ThreadID, strategy selvage.DeleteStrategy) (deleted, detached []*write, err error) {
	children := s.children()
	doomed := []selvage.ThreadID{id}
	switch n := len(children[id]); strategy {
	case selvage.DeleteReject:
		if n > 0 {
			return nil, nil, &selvage.InvalidError{Field: "strategy",
				Reason: fmt.Sprintf("the thread has children (%d); detach them or cascade to delete them too", n)}
		}
	case selvage.DeleteCascade:
		for i := 0; i < len(doomed); i++ {
			doomed = append(doomed, children[doomed[i]]...)
		}
	case selvage.DeleteDetach:
		for _, child := range children[id] {
			request, err := commit.Detach(child)
			if err != nil {
				return nil, nil, err
			}
			w, err := s.judge(request)
			if err != nil {
				return nil, nil, err
			}
			detached = append(detached, w)
		}
	}
	for _, d := range slices.Backward(doomed) {
		plan, err := commit.Delete(d, s.head(d), s.now())
		if err != nil {
			return nil, nil, err
		}
		w, err := prepare(plan)
		if err != nil {
			return nil, nil, err
		}
		deleted = append(deleted, w)
	}
	return deleted, detached, nil
}

// children maps each thread that has any to its children.
func (s *Store) children() map[selvage.ThreadID][]selvage.ThreadID {
	children := make(map[selvage.ThreadID][]selvage.ThreadID)
	for id, t := range s.threads {
		if t.head.Exists() && t.head.Thread.ParentID != "" {
			children[t.head.Thread.ParentID] = append(children[t.head.Thread.ParentID], id)
		}
	}
	return children
}

// bury replaces a thread by its tombstone.
func (s *Store) bury(w *write) {
	t := &thread{head: w.plan.Next, updated: s.tick()}
	t.keep(w.plan.Change, state.Document{})
	id := w.plan.Change.ThreadID
	if former := s.threads[id]; former != nil {
		s.feed.removed += len(former.log)
	}
	s.threads[id] = t
	s.announce(&w.plan.Change, t.updated)
	maps.DeleteFunc(s.outbox, func(_ string, d *delivery) bool { return d.thread == id })
	maps.DeleteFunc(s.runs, func(_ selvage.RunID, row *runRow) bool { return row.run.ThreadID == id })
	s.records.forget(id)
}
