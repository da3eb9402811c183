package inmem

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	items, next, err := s.listThreads(ctx, q)
	if err != nil {
		return selvage.ThreadPage{}, fmt.Errorf("threads: %w", err)
	}
	return selvage.ThreadPage{Items: items, Next: next}, nil
}

func (s *Store) listThreads(ctx context.Context, q selvage.ThreadQuery) ([]selvage.Thread, selvage.Cursor, error) {
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
		return nil, "", &selvage.InvalidError{Field: "order", Reason: fmt.Sprintf("%q is not an order of threads; use created or updated", q.Order)}
	}
	p := page[selvage.Thread]{}
	var err error
	if p.limit, err = selvage.PageLimit(q.Limit); err != nil {
		return nil, "", err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return nil, "", err
	}
	before := s.clock + 1
	if q.Cursor != "" {
		if err := s.cursors.Open(q.Cursor, shape, &before); err != nil {
			return nil, "", err
		}
	}
	rank := func(t *thread) int64 {
		if shape.Order == selvage.ByUpdated {
			return t.updated
		}
		return t.created
	}
	var rows []*thread
	for _, t := range s.threads {
		if rank(t) < before && t.matches(q) {
			rows = append(rows, t)
		}
	}
	slices.SortFunc(rows, func(a, b *thread) int { return cmp.Compare(rank(b), rank(a)) })
	for _, t := range rows {
		if !p.take(rank(t), func() selvage.Thread { return cloneThread(t.head.Thread) }) {
			break
		}
	}
	return p.seal(&s.cursors, shape)
}

// matches reports whether the query selects the thread.
func (t *thread) matches(q selvage.ThreadQuery) bool {
	v := &t.head.Thread
	if !t.head.Exists() || !q.Parent.Match(v.ParentID) || q.UserID != "" && q.UserID != v.UserID {
		return false
	}
	for key, want := range q.Metadata {
		var got string
		raw, given := v.Metadata[key]
		if !given || json.Unmarshal(raw, &got) != nil || got != want {
			return false
		}
	}
	text := strings.ToLower(q.Text)
	return strings.Contains(strings.ToLower(string(v.ID)), text) || strings.Contains(strings.ToLower(v.Title), text)
}
