package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/selvagehq/selvage"
)

// changeShape is what binds a cursor to its query.
type changeShape struct {
	List          string
	Thread        selvage.ThreadID
	After, Before selvage.Version
	Order         selvage.Order
}

// Changes implements [selvage.Store]. The content of each change is proved on
// the way, and so is that it follows the one before it: a page with a damaged
// change matches [selvage.ErrCorrupt].
func (s *Store) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	var out selvage.ChangePage
	err := s.read(ctx, func(c *conn) (err error) {
		out, err = s.changes(ctx, c, id, q)
		return err
	})
	if err != nil {
		return selvage.ChangePage{}, fmt.Errorf("changes of thread %q: %w", id, err)
	}
	return out, nil
}

func (s *Store) changes(ctx context.Context, c *conn, id selvage.ThreadID, q selvage.ChangeQuery) (out selvage.ChangePage, err error) {
	shape := changeShape{List: "changes", Thread: id, After: q.After, Before: q.Before}
	if shape.Order, err = direction(q.Order, selvage.Ascending); err != nil {
		return out, err
	}
	p, err := newPage[selvage.Change](q.Limit)
	if err != nil {
		return out, err
	}
	h, err := readHead(c, s.tenant, id)
	if err == nil {
		err = h.readable()
	}
	if err != nil {
		return out, err
	}
	in, err := s.changeSpan(c, &h, q, shape)
	if err != nil {
		return out, err
	}
	// One change more, to know whether there is one, or what its hash is.
	found, err := h.read(ctx, c, in.part(p.limit, shape.Order))
	if err != nil {
		return out, err
	}
	if shape.Order == selvage.Ascending {
		slices.Reverse(found)
	}
	for _, ch := range found {
		if p.full() {
			break
		}
		p.add(ch.Change, ch.Version)
	}
	out.Items = p.items
	out.Next, err = p.next(&s.cursors, shape)
	return out, err
}

// part is the end of the span at which a page begins, with one version more
// than the page takes.
func (in span) part(limit int, order selvage.Order) span {
	n := selvage.Version(limit)
	if in.hi-in.lo <= n {
		return in
	}
	if order == selvage.Ascending {
		in.hi = in.lo + n
	} else {
		in.lo = in.hi - n
	}
	return in
}

// changeSpan is the stretch of the log that a query selects beyond its cursor.
func (s *Store) changeSpan(c *conn, h *head, q selvage.ChangeQuery, shape changeShape) (span, error) {
	first, err := h.firstVersion(c)
	if err != nil {
		return span{}, err
	}
	// The log of a recreated thread begins with its tombstone.
	in := span{max(first-1, 1), h.Thread.Version}
	if q.After > 0 {
		in.lo = max(in.lo, min(q.After, math.MaxInt64-1)+1)
	}
	if q.Before != 0 {
		in.hi = min(in.hi, max(q.Before, 1)-1)
	}
	if q.Cursor == "" {
		return in, nil
	}
	var last selvage.Version
	if err := s.cursors.Open(q.Cursor, shape, &last); err != nil {
		return span{}, err
	}
	if shape.Order == selvage.Ascending {
		in.lo = max(in.lo, last+1)
	} else {
		in.hi = min(in.hi, last-1)
	}
	return in, nil
}

// read returns the changes of a span, newest first, each with the hash of the
// one before it.
func (h *head) read(ctx context.Context, c *conn, s span) ([]*change, error) {
	var found []*change
	err := h.walk(ctx, c, s, func(ch *change) (bool, error) {
		found = append(found, ch)
		return true, nil
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	for i, ch := range found {
		if i+1 < len(found) && !ch.hasPrev {
			ch.Prev = found[i+1].Hash
		} else if ch.Prev, err = prevOf(c, ch); err != nil {
			return nil, err
		}
		if selvage.ChainHash(ch.Prev, ch.Version, ch.FirstSeq, ch.At, ch.Content) != ch.Hash {
			return nil, corrupt(h.Thread.ID, ch.Version, "its header does not match its hash")
		}
	}
	return found, nil
}
