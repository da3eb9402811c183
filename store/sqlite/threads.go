package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/selvagehq/selvage"
)

// threadShape is what binds a cursor to its query.
type threadShape struct {
	List     string
	Parent   selvage.ThreadID
	ByParent bool
	UserID   string
	Metadata map[string]string
	Text     string
	Order    selvage.ThreadOrder
}

// Threads implements [selvage.Store].
func (s *Store) Threads(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
	var out selvage.ThreadPage
	err := s.read(ctx, func(c *conn) (err error) {
		out, err = s.threads(ctx, c, q)
		return err
	})
	if err != nil {
		return selvage.ThreadPage{}, fmt.Errorf("threads: %w", err)
	}
	return out, nil
}

func (s *Store) threads(ctx context.Context, c *conn, q selvage.ThreadQuery) (out selvage.ThreadPage, err error) {
	shape := threadShape{List: "threads", UserID: q.UserID, Text: q.Text, Order: q.Order}
	if len(q.Metadata) > 0 {
		shape.Metadata = q.Metadata
	}
	shape.Parent, shape.ByParent = q.Parent.Parent()
	switch q.Order {
	case selvage.ByCreated, selvage.ByUpdated:
	case "":
		shape.Order = selvage.ByCreated
	default:
		return out, &selvage.InvalidError{Field: "order", Reason: fmt.Sprintf("%q is not an order of threads; use created or updated", q.Order)}
	}
	p, err := newPage[selvage.Thread](q.Limit)
	if err != nil {
		return out, err
	}
	before := int64(math.MaxInt64)
	if q.Cursor != "" {
		if err := s.cursors.Open(q.Cursor, shape, &before); err != nil {
			return out, err
		}
	}
	if p.limit > 0 {
		err = listThreads(ctx, c, s.tenant, q, shape.Order, before, &p)
	}
	if err != nil {
		return out, err
	}
	out.Items = p.items
	out.Next, err = p.next(&s.cursors, shape)
	return out, err
}

// listThreads fills the page with threads whose place is before the given one.
// The place is the position of a thread's first or last change, which order
// them as they happened whatever the clock said.
func listThreads(ctx context.Context, c *conn, tenant string, q selvage.ThreadQuery, order selvage.ThreadOrder, before int64, p *page[selvage.Thread]) error {
	place := "born"
	if order == selvage.ByUpdated {
		place = "pos"
	}
	// What an index can tell is asked for as the index has it.
	query := `SELECT key, ` + place + ` FROM threads WHERE tenant = ? AND born IS NOT NULL AND ` + place + ` < ?`
	args := []driver.Value{tenant, before}
	if parent, filtered := q.Parent.Parent(); filtered && parent == "" {
		query += ` AND parent = ''`
	} else if filtered {
		query += ` AND parent <> '' AND parent = ?`
		args = append(args, string(parent))
	}
	if q.UserID != "" {
		query += ` AND user <> '' AND user = ?`
		args = append(args, q.UserID)
	}
	r, err := c.query(query+` ORDER BY `+place+` DESC`, args...)
	if err != nil {
		return err
	}
	var bad error
	for bad == nil && r.next() {
		if bad = ctx.Err(); bad != nil {
			break
		}
		var h head
		key, at := r.int(0), r.int(1)
		if h, bad = headOf(c, key); bad != nil || !matches(&h.Thread, q) {
			continue
		}
		if p.full() {
			break
		}
		p.add(h.Thread, at)
	}
	return errors.Join(bad, r.close())
}

// headOf reads the head of a thread by its key.
func headOf(c *conn, key int64) (h head, err error) {
	var bad error
	found, err := c.one(func(r *rows) { h, bad = scanHead(r) }, headByKey, key)
	if err == nil && !found {
		err = fmt.Errorf("thread %d: %w: %w", key, errNoRow, selvage.ErrCorrupt)
	}
	return h, errors.Join(err, bad)
}

// matches reports whether the query selects a thread, as far as the database
// was not asked.
func matches(t *selvage.Thread, q selvage.ThreadQuery) bool {
	for key, want := range q.Metadata {
		var got string
		raw, given := t.Metadata[key]
		if !given || json.Unmarshal(raw, &got) != nil || got != want {
			return false
		}
	}
	text := strings.ToLower(q.Text)
	return strings.Contains(strings.ToLower(string(t.ID)), text) || strings.Contains(strings.ToLower(t.Title), text)
}
