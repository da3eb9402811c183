package toystore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// row is an item of a list and its key, which orders the list and never
// changes while others are added: a cursor is the key of the last row.
type row[T any] struct {
	item T
	key  int64
}

// shape is what binds a cursor to its list: everything about the query but its
// limit and its cursor.
type shape struct {
	List       string
	Thread     selvage.ThreadID
	Descending bool
	Query      any
	Parent     selvage.ThreadID
	ByParent   bool
}

// page cuts out of the rows, which are in no order, the page that a query asks for.
func page[T any](s *Store, sh shape, cursor selvage.Cursor, limit *int, rows []row[T]) ([]T, selvage.Cursor, error) {
	n, err := selvage.PageLimit(limit)
	if err != nil {
		return nil, "", err
	}
	if cursor != "" {
		var last int64
		if err := s.cursors.Open(cursor, sh, &last); err != nil {
			return nil, "", err
		}
		rows = slices.DeleteFunc(rows, func(r row[T]) bool { return r.key == last || (r.key > last) == sh.Descending })
	}
	slices.SortFunc(rows, func(a, b row[T]) int {
		if sh.Descending {
			a, b = b, a
		}
		return cmp.Compare(a.key, b.key)
	})
	items := []T{}
	for _, r := range rows[:min(n, len(rows))] {
		items = append(items, r.item)
	}
	if items, err = reread(items); err != nil || n == 0 || len(rows) <= n {
		return items, "", err
	}
	next, err := s.cursors.Seal(sh, rows[n-1].key)
	return items, next, err
}

// descending resolves the order of a query.
func descending(o, fallback selvage.Order) (bool, error) {
	switch cmp.Or(o, fallback) {
	case selvage.Ascending:
		return false, nil
	case selvage.Descending:
		return true, nil
	}
	return false, &selvage.InvalidError{Field: "order", Reason: "use asc or desc"}
}

// Messages implements [selvage.Store].
func (s *Store) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	desc, err := descending(q.Order, selvage.Ascending)
	if err != nil {
		return selvage.MessagePage{}, err
	}
	q.Visibility = cmp.Or(q.Visibility, selvage.ShowExternal)
	if !slices.Contains([]selvage.VisibilityFilter{selvage.ShowAll, selvage.ShowExternal, selvage.ShowInternal}, q.Visibility) {
		return selvage.MessagePage{}, &selvage.InvalidError{Field: "visibility", Reason: "use all, external or internal"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.MessagePage{}, err
	}
	t, err := s.find(id)
	if err != nil {
		return selvage.MessagePage{}, err
	}
	i, err := t.at(q.At)
	if err != nil {
		return selvage.MessagePage{}, err
	}
	var rows []row[selvage.Message]
	last := &t.life()[i].Change
	for _, m := range t.messages(commit.Visible(t.head.Rewinds, 1, last.Version, last.LastSeq()+1)) {
		if m.Seq > q.After && (q.Before == 0 || m.Seq < q.Before) && q.Visibility.Match(&m) && (q.RunID == "" || q.RunID == m.RunID) {
			rows = append(rows, row[selvage.Message]{m, m.Seq})
		}
	}
	cursor, limit := q.Cursor, q.Limit
	q.Cursor, q.Limit, q.Order = "", nil, ""
	items, next, err := page(s, shape{List: "messages", Thread: id, Descending: desc, Query: q}, cursor, limit, rows)
	return selvage.MessagePage{Items: items, Next: next}, err
}

// Changes implements [selvage.Store].
func (s *Store) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	desc, err := descending(q.Order, selvage.Ascending)
	if err != nil {
		return selvage.ChangePage{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.ChangePage{}, err
	}
	t, err := s.find(id)
	if err != nil {
		return selvage.ChangePage{}, err
	}
	var rows []row[selvage.Change]
	for _, e := range t.log {
		if v := e.Change.Version; v > q.After && (q.Before == 0 || v < q.Before) {
			rows = append(rows, row[selvage.Change]{e.Change, int64(v)})
		}
	}
	cursor, limit := q.Cursor, q.Limit
	q.Cursor, q.Limit, q.Order = "", nil, ""
	items, next, err := page(s, shape{List: "changes", Thread: id, Descending: desc, Query: q}, cursor, limit, rows)
	return selvage.ChangePage{Items: items, Next: next}, err
}

// Threads implements [selvage.Store].
func (s *Store) Threads(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
	q.Order = cmp.Or(q.Order, selvage.ByCreated)
	if q.Order != selvage.ByCreated && q.Order != selvage.ByUpdated {
		return selvage.ThreadPage{}, &selvage.InvalidError{Field: "order", Reason: "use created or updated"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.ThreadPage{}, err
	}
	var rows []row[selvage.Thread]
	for _, t := range s.threads {
		if t.head.Exists() && matches(&t.head.Thread, q) {
			life := t.life()
			at := life[0]
			if q.Order == selvage.ByUpdated {
				at = life[len(life)-1]
			}
			rows = append(rows, row[selvage.Thread]{t.head.Thread, at.place})
		}
	}
	sh := shape{List: "threads", Descending: true}
	sh.Parent, sh.ByParent = q.Parent.Parent()
	cursor, limit := q.Cursor, q.Limit
	q.Cursor, q.Limit = "", nil
	if len(q.Metadata) == 0 {
		q.Metadata = nil
	}
	sh.Query = q
	items, next, err := page(s, sh, cursor, limit, rows)
	return selvage.ThreadPage{Items: items, Next: next}, err
}

// matches reports whether the query selects a thread.
func matches(t *selvage.Thread, q selvage.ThreadQuery) bool {
	for key, want := range q.Metadata {
		var got *string
		if json.Unmarshal(t.Metadata[key], &got) != nil || got == nil || *got != want {
			return false
		}
	}
	text := strings.ToLower(q.Text)
	return q.Parent.Match(t.ParentID) && (q.UserID == "" || q.UserID == t.UserID) &&
		(strings.Contains(strings.ToLower(string(t.ID)), text) || strings.Contains(strings.ToLower(t.Title), text))
}

// Runs implements [selvage.Store].
func (s *Store) Runs(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
	desc, err := descending(q.Order, selvage.Descending)
	if err != nil {
		return selvage.RunPage{}, err
	}
	if !slices.Contains([]selvage.RunStatus{"", selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunDone}, q.Status) {
		return selvage.RunPage{}, &selvage.InvalidError{Field: "status", Reason: "use created, running, waiting or done"}
	}
	q.Since = q.Since.UTC().Truncate(selvage.TimePrecision) // as times are stored
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.RunPage{}, err
	}
	rows := slices.DeleteFunc(s.runs(), func(r row[selvage.Run]) bool { return !selects(q, &r.item) })
	cursor, limit := q.Cursor, q.Limit
	q.Cursor, q.Limit, q.Order = "", nil, ""
	items, next, err := page(s, shape{List: "runs", Descending: desc, Query: q}, cursor, limit, rows)
	return selvage.RunPage{Items: items, Next: next}, err
}

// selects reports whether the query selects a run.
func selects(q selvage.RunQuery, r *selvage.Run) bool {
	return (q.ID == "" || q.ID == r.ID) && (q.ThreadID == "" || q.ThreadID == r.ThreadID) &&
		(q.AgentID == "" || q.AgentID == r.AgentID) && (q.ParentRunID == "" || q.ParentRunID == r.ParentRunID) &&
		(q.Status == "" || q.Status == r.Status) && (!q.Open || r.Status.Open()) && !r.CreatedAt.Before(q.Since)
}
