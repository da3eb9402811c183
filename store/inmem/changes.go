package inmem

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

// changeShape is what binds a cursor to its query.
type changeShape struct {
	List          string
	Thread        selvage.ThreadID
	After, Before selvage.Version
	Order         selvage.Order
}

// Changes implements [selvage.Store].
func (s *Store) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	items, next, err := s.changes(ctx, id, q)
	if err != nil {
		return selvage.ChangePage{}, fmt.Errorf("changes of thread %q: %w", id, err)
	}
	return selvage.ChangePage{Items: items, Next: next}, nil
}

func (s *Store) changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) ([]selvage.Change, selvage.Cursor, error) {
	shape := changeShape{List: "changes", Thread: id, After: q.After, Before: q.Before}
	var err error
	if shape.Order, err = direction(q.Order, selvage.Ascending); err != nil {
		return nil, "", err
	}
	p := page[selvage.Change]{}
	if p.limit, err = selvage.PageLimit(q.Limit); err != nil {
		return nil, "", err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return nil, "", err
	}
	t, err := s.find(id)
	if err != nil {
		return nil, "", err
	}
	after, before := q.After, q.Before
	if before == 0 {
		before = t.head.Thread.Version + 1
	}
	descending := shape.Order == selvage.Descending
	if q.Cursor != "" {
		var last selvage.Version
		if err := s.cursors.Open(q.Cursor, shape, &last); err != nil {
			return nil, "", err
		}
		if descending {
			before = min(before, last)
		} else {
			after = max(after, last)
		}
	}
	for c := range inOrder(t.versions(after, before), descending) {
		if !p.take(c.Version, func() selvage.Change { return cloneChange(c) }) {
			break
		}
	}
	return p.seal(&s.cursors, shape)
}

// versions returns the changes with after < version < before.
func (t *thread) versions(after, before selvage.Version) []selvage.Change {
	first := t.log[0].Version
	from := max(after, first-1) - first + 1
	to := min(before-first, selvage.Version(len(t.log)))
	if from >= to {
		return nil
	}
	return t.log[from:to]
}
