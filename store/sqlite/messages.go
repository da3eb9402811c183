package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/selvagehq/selvage"
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
	in, err := s.seqSpan(ctx, c, &h, q, shape)
	if err != nil {
		return out, err
	}
	if shape.Order == selvage.Ascending {
		err = h.messagesUp(ctx, c, in, q, &p)
	} else {
		err = h.messagesDown(ctx, c, in, q, &p)
	}
	if err != nil {
		return out, err
	}
	out.Items = p.items
	out.Next, err = p.next(&s.cursors, shape)
	return out, err
}

// seqs is a stretch of seqs, both ends included.
type seqs struct{ lo, hi int64 }

// seqSpan is the stretch of messages that a query selects beyond its cursor.
func (s *Store) seqSpan(ctx context.Context, c *conn, h *head, q selvage.MessageQuery, shape messageShape) (seqs, error) {
	v, err := h.resolve(c, q.At)
	if err != nil {
		return seqs{}, err
	}
	in := seqs{1, h.NextSeq - 1}
	if v < h.Thread.Version {
		at, err := h.readAt(ctx, c, v)
		if err != nil {
			return seqs{}, err
		}
		in.hi = at.LastSeq()
	}
	if q.After > 0 {
		in.lo = max(in.lo, min(q.After, math.MaxInt64-1)+1)
	}
	if q.Before != 0 {
		in.hi = min(in.hi, max(q.Before, 1)-1)
	}
	if q.Cursor == "" {
		return in, nil
	}
	var last int64
	if err := s.cursors.Open(q.Cursor, shape, &last); err != nil {
		return seqs{}, err
	}
	if shape.Order == selvage.Ascending {
		in.lo = max(in.lo, last+1)
	} else {
		in.hi = min(in.hi, last-1)
	}
	return in, nil
}

// selects reports whether a query wants a message of the span.
func (in seqs) selects(q *selvage.MessageQuery, m *selvage.Message) bool {
	return m.Seq >= in.lo && m.Seq <= in.hi && q.Visibility.Match(m) && (q.RunID == "" || q.RunID == m.RunID)
}

// messagesDown fills the page from the end of the span.
func (h *head) messagesDown(ctx context.Context, c *conn, in seqs, q selvage.MessageQuery, p *page[selvage.Message]) error {
	if in.lo > in.hi || p.limit == 0 {
		return nil
	}
	start, err := h.locateSeq(c, in.hi)
	if err != nil {
		return err
	}
	return h.walkMessages(ctx, c, start, in.lo, func(ch *change) (bool, error) {
		if ch.FirstSeq > in.hi {
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
func (h *head) messagesUp(ctx context.Context, c *conn, in seqs, q selvage.MessageQuery, p *page[selvage.Message]) error {
	if p.limit == 0 {
		return nil
	}
	for next := in.lo; next <= in.hi; {
		start, err := h.locateSeq(c, next)
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
func (in seqs) fill(ch *change, q *selvage.MessageQuery, p *page[selvage.Message]) (done bool, err error) {
	if ch.FirstSeq > in.hi {
		return true, nil
	}
	if ch.LastSeq() < in.lo {
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
