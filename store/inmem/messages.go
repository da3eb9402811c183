package inmem

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// messageShape is what binds a cursor to its query.
type messageShape struct {
	List          string
	Thread        selvage.ThreadID
	At            selvage.Version
	After, Before int64
	Order         selvage.Order
	Visibility    selvage.VisibilityFilter
	RunID         selvage.RunID
}

// Messages implements [selvage.Store].
func (s *Store) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	items, next, err := s.messages(ctx, id, q)
	if err != nil {
		return selvage.MessagePage{}, fmt.Errorf("messages of thread %q: %w", id, err)
	}
	return selvage.MessagePage{Items: items, Next: next}, nil
}

func (s *Store) messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) ([]selvage.Message, selvage.Cursor, error) {
	shape := messageShape{List: "messages", Thread: id, At: q.At, After: q.After, Before: q.Before, Visibility: q.Visibility, RunID: q.RunID}
	var err error
	if shape.Order, err = direction(q.Order, selvage.Ascending); err != nil {
		return nil, "", err
	}
	switch q.Visibility {
	case selvage.ShowAll, selvage.ShowExternal, selvage.ShowInternal:
	case "":
		shape.Visibility = selvage.ShowExternal
	default:
		return nil, "", &selvage.InvalidError{Field: "visibility", Reason: fmt.Sprintf("%q is not a filter; use all, external or internal", q.Visibility)}
	}
	p := page[selvage.Message]{}
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
	rows, err := s.messageWindow(t, q, shape)
	if err != nil {
		return nil, "", err
	}
	for m := range rows {
		if !q.Visibility.Match(m) || q.RunID != "" && m.RunID != q.RunID {
			continue
		}
		if !p.take(m.Seq, func() selvage.Message { return cloneMessage(*m) }) {
			break
		}
	}
	return p.seal(&s.cursors, shape)
}

// messageWindow yields the messages between the bounds and after the cursor,
// in the order asked for.
func (s *Store) messageWindow(t *thread, q selvage.MessageQuery, shape messageShape) (iter.Seq[*selvage.Message], error) {
	i, err := t.at(q.At)
	if err != nil {
		return nil, err
	}
	lo, hi := q.After, t.log[i].LastSeq()
	if q.Before != 0 {
		hi = min(hi, max(q.Before, 1)-1)
	}
	descending := shape.Order == selvage.Descending
	if q.Cursor != "" {
		var last int64
		if err := s.cursors.Open(q.Cursor, shape, &last); err != nil {
			return nil, err
		}
		if descending {
			hi = min(hi, last-1)
		} else {
			lo = max(lo, last)
		}
	}
	if lo == math.MaxInt64 {
		return func(func(*selvage.Message) bool) {}, nil
	}
	return t.seen(commit.Clip(t.visibleAt(i), lo+1, hi), descending), nil
}

// visibleAt returns what can be seen at an index of the log.
func (t *thread) visibleAt(i int) []commit.Segment {
	c := &t.log[i]
	return commit.Visible(t.head.Rewinds, 1, c.Version, c.LastSeq()+1)
}

// seen yields the messages of segments, forwards or backwards.
func (t *thread) seen(segments []commit.Segment, backwards bool) iter.Seq[*selvage.Message] {
	return func(yield func(*selvage.Message) bool) {
		for s := range inOrder(segments, backwards) {
			for m := range inOrder(t.window(s.First, s.Last), backwards) {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// inOrder yields the rows forwards or backwards.
func inOrder[T any](rows []T, backwards bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		seq := slices.All(rows)
		if backwards {
			seq = slices.Backward(rows)
		}
		for i := range seq {
			if !yield(&rows[i]) {
				return
			}
		}
	}
}
