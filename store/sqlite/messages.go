package sqlite

import (
	"context"
	"fmt"
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
	var out selvage.MessagePage
	err := s.read(ctx, func(c *conn) (err error) {
		out, err = s.messages(ctx, c, id, q)
		return err
	})
	if err != nil {
		return selvage.MessagePage{}, fmt.Errorf("messages of thread %q: %w", id, err)
	}
	return out, nil
}

func (s *Store) messages(ctx context.Context, c *conn, id selvage.ThreadID, q selvage.MessageQuery) (out selvage.MessagePage, err error) {
	shape := messageShape{List: "messages", Thread: id, At: q.At, After: q.After, Before: q.Before, Visibility: q.Visibility, RunID: q.RunID}
	if shape.Order, err = direction(q.Order, selvage.Ascending); err != nil {
		return out, err
	}
	switch q.Visibility {
	case selvage.ShowAll, selvage.ShowExternal, selvage.ShowInternal:
	case "":
		shape.Visibility = selvage.ShowExternal
	default:
		return out, &selvage.InvalidError{Field: "visibility", Reason: fmt.Sprintf("%q is not a filter; use all, external or internal", q.Visibility)}
	}
	p, err := newPage[selvage.Message](q.Limit)
	if err != nil {
		return out, err
	}
	h, err := readHead(c, s.tenant, id)
	if err != nil {
		return out, err
	}
	found, err := s.selected(ctx, c, &h, q, shape)
	if err != nil {
		return out, err
	}
	fill := h.messagesUp
	if shape.Order == selvage.Descending {
		slices.Reverse(found)
		fill = h.messagesDown
	}
	for _, in := range found {
		if err := fill(ctx, c, stretch{in}, q, &p); err != nil {
			return out, err
		}
		if p.more {
			break
		}
	}
	out.Items = p.items
	out.Next, err = p.next(&s.cursors, shape)
	return out, err
}

// stretch is a segment of messages that a query selects from.
type stretch struct{ commit.Segment }

// selected are the stretches of messages that a query selects beyond its
// cursor, in order.
func (s *Store) selected(ctx context.Context, c *conn, h *head, q selvage.MessageQuery, shape messageShape) ([]commit.Segment, error) {
	v, err := h.resolve(c, q.At)
	if err != nil {
		return nil, err
	}
	next := h.NextSeq
	if v < h.Thread.Version {
		at, err := h.readAt(ctx, c, v)
		if err != nil {
			return nil, err
		}
		next = at.LastSeq() + 1
	}
	lo, hi := int64(1), int64(math.MaxInt64)
	if q.After > 0 {
		lo = min(q.After, math.MaxInt64-1) + 1
	}
	if q.Before != 0 {
		hi = max(q.Before, 1) - 1
	}
	if q.Cursor != "" {
		var last int64
		if err := s.cursors.Open(q.Cursor, shape, &last); err != nil {
			return nil, err
		}
		if shape.Order == selvage.Ascending {
			lo = max(lo, last+1)
		} else {
			hi = min(hi, last-1)
		}
	}
	seen, err := h.visible(c, v, next)
	return commit.Clip(seen, lo, hi), err
}

// selects reports whether a query wants a message of the stretch.
func (in stretch) selects(q *selvage.MessageQuery, m *selvage.Message) bool {
	return m.Seq >= in.First && m.Seq <= in.Last && q.Visibility.Match(m) && (q.RunID == "" || q.RunID == m.RunID)
}

// messagesDown fills the page from the end of the span.
func (h *head) messagesDown(ctx context.Context, c *conn, in stretch, q selvage.MessageQuery, p *page[selvage.Message]) error {
	if p.limit == 0 {
		return nil
	}
	start, err := h.locateSeq(ctx, c, in.Segment, in.Last)
	if err != nil {
		return err
	}
	return h.walkMessages(ctx, c, start, in.First, func(ch *change) (bool, error) {
		if ch.FirstSeq > in.Last {
			return true, nil
		}
		added, err := ch.AddedMessages()
		if err != nil {
			return false, err
		}
		for _, m := range slices.Backward(added) {
			if !in.selects(&q, &m) {
				continue
			}
			if p.full() {
				return false, nil
			}
			p.add(m, m.Seq)
		}
		return true, nil
	})
}

// messagesUp fills the page from the beginning of the span. The log is read
// from mark to mark, because its links lead backwards only.
func (h *head) messagesUp(ctx context.Context, c *conn, in stretch, q selvage.MessageQuery, p *page[selvage.Message]) error {
	if p.limit == 0 {
		return nil
	}
	for next := in.First; next <= in.Last; {
		start, err := h.locateSeq(ctx, c, in.Segment, next)
		if err != nil {
			return err
		}
		var part []*change
		err = h.walkMessages(ctx, c, start, next, func(ch *change) (bool, error) {
			part = append(part, ch)
			return true, nil
		})
		if err != nil {
			return err
		}
		for _, ch := range slices.Backward(part) {
			if done, err := in.fill(ch, &q, p); done || err != nil {
				return err
			}
		}
		after := part[0].LastSeq() + 1
		if after <= next {
			return corrupt(h.Thread.ID, part[0].Version, "the message with seq %d does not come before it", next)
		}
		next = after
	}
	return nil
}

// fill adds what a change holds of the span to the page, and reports whether
// there is nothing more to look for.
func (in stretch) fill(ch *change, q *selvage.MessageQuery, p *page[selvage.Message]) (done bool, err error) {
	if ch.FirstSeq > in.Last {
		return true, nil
	}
	if ch.LastSeq() < in.First {
		return false, nil
	}
	added, err := ch.AddedMessages()
	if err != nil {
		return true, err
	}
	for i := range added {
		if !in.selects(q, &added[i]) {
			continue
		}
		if p.full() {
			return true, nil
		}
		p.add(added[i], added[i].Seq)
	}
	return false, nil
}
