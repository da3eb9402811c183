package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/selvagehq/selvage"
)

// threadShape is what binds a cursor to its query.
type threadShape struct {
	List     string
	Tenant   string
	Parent   selvage.ThreadID
	ByParent bool
	UserID   string
	Metadata map[string]string
	Text     string
	Order    selvage.ThreadOrder
}

// threadPlace is a place in a list of threads. The second part tells those
// apart that one transaction made.
type threadPlace struct {
	Rank   int64
	Thread []byte
}

// Threads implements [selvage.Store].
func (s *Store) Threads(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
	items, next, err := s.threads(ctx, q)
	if err != nil {
		return selvage.ThreadPage{}, fmt.Errorf("threads: %w", err)
	}
	return selvage.ThreadPage{Items: items, Next: next}, nil
}

func (s *Store) threads(ctx context.Context, q selvage.ThreadQuery) (items []selvage.Thread, next selvage.Cursor, err error) {
	shape := threadShape{List: "threads", Tenant: s.tenant, UserID: q.UserID, Text: q.Text, Order: q.Order}
	if len(q.Metadata) > 0 {
		shape.Metadata = q.Metadata
	}
	shape.Parent, shape.ByParent = q.Parent.Parent()
	switch q.Order {
	case selvage.ByCreated, selvage.ByUpdated:
	case "":
		shape.Order = selvage.ByCreated
	default:
		return nil, "", &selvage.InvalidError{Field: "order", Reason: fmt.Sprintf("%q is not an order of threads; use created or updated", q.Order)}
	}
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return nil, "", err
	}
	place := threadPlace{Rank: math.MaxInt64}
	if q.Cursor != "" {
		if err := s.cursors.Open(q.Cursor, shape, &place); err != nil {
			return nil, "", err
		}
	}
	err = s.list(ctx, "threads", func(q querier) error {
		r := &threadReader{store: s, shape: shape, page: page[selvage.Thread]{limit: limit}}
		if err := r.fill(ctx, q, place); err != nil {
			return err
		}
		items, next, err = r.page.seal(&s.cursors, shape)
		return err
	})
	return items, next, err
}

// threadReader reads one page of threads.
type threadReader struct {
	store *Store
	shape threadShape
	page  page[selvage.Thread]
}

// maxThreadChunk is how many heads are read at a time, at most.
const maxThreadChunk = 2000

// fill reads heads in portions until the page is full: metadata and text are
// matched here, so that they mean the same on every backend.
func (r *threadReader) fill(ctx context.Context, q querier, place threadPlace) error {
	if r.page.limit == 0 {
		return nil
	}
	for size := r.page.limit + 1; ; size = min(4*size, maxThreadChunk) {
		n, last, full, err := r.portion(ctx, q, place, size)
		if err != nil || full || n < size {
			return err
		}
		place = last
	}
}

// query is the statement of a portion and its arguments.
func (r *threadReader) query(place threadPlace, size int) (string, []any) {
	rank := "t.born"
	if r.shape.Order == selvage.ByUpdated {
		rank = "t.ord"
	}
	var b strings.Builder
	b.WriteString(`SELECT ` + headColumns + `, t.thread, ` + rank + ` FROM selvage.threads t WHERE t.tenant = $1::text AND t.born > 0
		AND ` + rank + ` <= $2::bigint AND (` + rank + `, t.thread) < ($2::bigint, $3::bytea)`)
	args := []any{r.store.tenant, place.Rank, append([]byte{}, place.Thread...)}
	add := func(condition string, v any) {
		args = append(args, v)
		fmt.Fprintf(&b, condition, len(args))
	}
	switch {
	case r.shape.ByParent && r.shape.Parent == "":
		b.WriteString(" AND t.parent IS NULL")
	case r.shape.ByParent:
		add(" AND t.parent = $%d::bytea", packID(string(r.shape.Parent)))
	}
	if r.shape.UserID != "" {
		// Compared as bytes, because not every string can be text here.
		add(" AND t.user_id IS NOT NULL AND convert_to(t.user_id, 'UTF8') = $%d::bytea", []byte(r.shape.UserID))
	}
	add(" ORDER BY "+rank+" DESC, t.thread DESC LIMIT $%d::bigint", size)
	return b.String(), args
}

func (r *threadReader) portion(ctx context.Context, q querier, place threadPlace, size int) (n int, last threadPlace, full bool, err error) {
	sql, args := r.query(place, size)
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return 0, last, false, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var row headRow
		last = threadPlace{}
		if err := rows.Scan(append(row.targets(), &last.Thread, &last.Rank)...); err != nil {
			return n, last, false, err
		}
		h, err := row.head(r.store.tenant, selvage.ThreadID(unpackID(last.Thread)))
		if err != nil {
			return n, last, false, err
		}
		if r.matches(&h.Thread) && !r.page.take(last, h.Thread) {
			return n, last, true, nil
		}
	}
	return n, last, false, rows.Err()
}

// matches reports whether the query selects a thread by what no index knows.
func (r *threadReader) matches(t *selvage.Thread) bool {
	for key, want := range r.shape.Metadata {
		var got string
		raw, given := t.Metadata[key]
		if !given || json.Unmarshal(raw, &got) != nil || got != want {
			return false
		}
	}
	text := strings.ToLower(r.shape.Text)
	return strings.Contains(strings.ToLower(string(t.ID)), text) || strings.Contains(strings.ToLower(t.Title), text)
}
