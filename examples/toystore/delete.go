package toystore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// Delete implements [selvage.Store]. Everything is worked out before the first
// thread is touched, so that all of it happens or nothing.
func (s *Store) Delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return err
	}
	if err := commit.CheckStrategy(strategy); err != nil {
		return err
	}
	doomed, detached := []selvage.ThreadID{id}, []*entry(nil)
	switch children := s.children(id); strategy {
	case selvage.DeleteReject:
		if n := len(children); n > 0 {
			return &selvage.InvalidError{Field: "strategy", Reason: fmt.Sprintf("the thread has %d children; detach them or cascade", n)}
		}
	case selvage.DeleteCascade:
		for i := 0; i < len(doomed); i++ {
			doomed = append(doomed, s.children(doomed[i])...)
		}
	case selvage.DeleteDetach:
		for _, child := range children {
			request, err := commit.Detach(child)
			if err != nil {
				return err
			}
			e, err := s.judge(s.thread(child), request)
			if err != nil {
				return err
			}
			detached = append(detached, e)
		}
	}
	var tombstones []*entry
	for _, d := range slices.Backward(doomed) {
		plan, err := commit.Delete(d, &s.thread(d).head, time.Now())
		if err != nil {
			return err
		}
		e, err := newEntry(plan)
		if err != nil {
			return err
		}
		tombstones = append(tombstones, e)
	}
	for _, e := range detached {
		s.write(s.thread(e.Change.ThreadID), e)
	}
	for _, e := range tombstones {
		s.write(&thread{}, e) // in place of all there was
	}
	return nil
}

// children returns the threads below one.
func (s *Store) children(parent selvage.ThreadID) (children []selvage.ThreadID) {
	for id, t := range s.threads {
		if t.head.Exists() && t.head.Thread.ParentID == parent {
			children = append(children, id)
		}
	}
	return children
}
