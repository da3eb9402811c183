package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// runShape is what binds a cursor to its query.
type runShape struct {
	List        string
	Tenant      string
	ID          selvage.RunID
	Thread      selvage.ThreadID
	AgentID     string
	ParentRunID selvage.RunID
	Status      selvage.RunStatus
	Open        bool
	Since       int64 // Unix milliseconds; 0 is no bound
	Order       selvage.Order
}

// runPlace is a place in the order of creation.
type runPlace struct {
	Born, Version int64
	Item          int32
	ID            []byte
}

// Runs implements [selvage.Store].
func (s *Store) Runs(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
	items, next, err := s.runs(ctx, q)
	if err != nil {
		return selvage.RunPage{}, fmt.Errorf("runs: %w", err)
	}
	return selvage.RunPage{Items: items, Next: next}, nil
}

func (s *Store) runs(ctx context.Context, q selvage.RunQuery) (items []selvage.Run, next selvage.Cursor, err error) {
	shape := runShape{List: "runs", Tenant: s.tenant, ID: q.ID, Thread: q.ThreadID, AgentID: q.AgentID, ParentRunID: q.ParentRunID, Status: q.Status, Open: q.Open}
	if !q.Since.IsZero() {
		// Stored times are cut to this precision, so that is how they compare.
		shape.Since = q.Since.Truncate(selvage.TimePrecision).UnixMilli()
	}
	if shape.Order, err = direction(q.Order, selvage.Descending); err != nil {
		return nil, "", err
	}
	switch q.Status {
	case "", selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunDone:
	default:
		return nil, "", &selvage.InvalidError{Field: "status", Reason: fmt.Sprintf("%q is not a run status; use created, running, waiting or done", q.Status)}
	}
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return nil, "", err
	}
	var place *runPlace
	if q.Cursor != "" {
		place = &runPlace{}
		if err := s.cursors.Open(q.Cursor, shape, place); err != nil {
			return nil, "", err
		}
	}
	err = s.list(ctx, "runs", func(q querier) error {
		r := &runReader{store: s, shape: shape, page: page[selvage.Run]{limit: limit}}
		if err := r.fill(ctx, q, place); err != nil {
			return err
		}
		items, next, err = r.page.seal(&s.cursors, shape)
		return err
	})
	return items, next, err
}

// runReader reads one page of runs.
type runReader struct {
	store *Store
	shape runShape
	page  page[selvage.Run]
}

// maxRunChunk is how many runs are read at a time, at most.
const maxRunChunk = 1000

// fill reads runs in portions until the page is full: the status of an open
// run stands in its thread's head and is matched here.
func (r *runReader) fill(ctx context.Context, q querier, place *runPlace) error {
	if r.page.limit == 0 {
		return nil
	}
	for size := r.page.limit + 1; ; size = min(4*size, maxRunChunk) {
		n, last, full, err := r.portion(ctx, q, place, size)
		if err != nil || full || n < size {
			return err
		}
		place = last
	}
}

// query is the statement of a portion and its arguments.
func (r *runReader) query(place *runPlace, size int) (string, []any) {
	var b strings.Builder
	// The join is to the head that holds the run while it is open.
	b.WriteString(`SELECT r.born, r.version, r.item, r.id, CASE WHEN r.open THEN t.run ELSE r.data END, r.spec
		FROM selvage.runs r LEFT JOIN selvage.threads t ON r.open AND t.tenant = r.tenant AND t.thread = r.thread AND t.open_run = r.id
		WHERE r.tenant = $1::text`)
	args := []any{r.store.tenant}
	add := func(condition string, values ...any) {
		places := make([]any, len(values))
		for i, v := range values {
			args = append(args, v)
			places[i] = len(args)
		}
		fmt.Fprintf(&b, condition, places...)
	}
	beyond, way := "<", " DESC"
	if r.shape.Order == selvage.Ascending {
		beyond, way = ">", ""
	}
	if place != nil {
		add(" AND r.born "+beyond+"= $%d::bigint", place.Born)
		add(" AND (r.born, r.version, r.item, r.id) "+beyond+" ($%d::bigint, $%d::bigint, $%d::integer, $%d::bytea)",
			place.Born, place.Version, place.Item, place.ID)
	}
	if r.shape.ID != "" {
		add(" AND r.id = $%d::bytea", packID(string(r.shape.ID)))
	}
	if r.shape.Thread != "" {
		add(" AND r.thread = $%d::bytea", packID(string(r.shape.Thread)))
	}
	if r.shape.AgentID != "" {
		add(" AND r.agent = $%d::bytea", []byte(r.shape.AgentID))
	}
	if r.shape.ParentRunID != "" {
		add(" AND r.parent = $%d::bytea", packID(string(r.shape.ParentRunID)))
	}
	switch {
	case r.shape.Status == selvage.RunDone && r.shape.Open:
		b.WriteString(" AND false")
	case r.shape.Status == selvage.RunDone:
		b.WriteString(" AND NOT r.open")
	case r.shape.Status != "" || r.shape.Open:
		b.WriteString(" AND r.open")
	}
	if r.shape.Since != 0 {
		add(" AND r.created_at >= $%d::bigint", r.shape.Since)
	}
	fmt.Fprintf(&b, " ORDER BY r.born%[1]s, r.version%[1]s, r.item%[1]s, r.id%[1]s", way)
	add(" LIMIT $%d::bigint", size)
	return b.String(), args
}

func (r *runReader) portion(ctx context.Context, q querier, place *runPlace, size int) (n int, last *runPlace, full bool, err error) {
	sql, args := r.query(place, size)
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return 0, nil, false, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		last = &runPlace{}
		var data, spec []byte
		if err := rows.Scan(&last.Born, &last.Version, &last.Item, &last.ID, &data, &spec); err != nil {
			return n, nil, false, err
		}
		if data == nil {
			return n, nil, false, fmt.Errorf("run %q is open, and no thread knows it: %w", unpackID(last.ID), selvage.ErrCorrupt)
		}
		run, err := decodeRun(data, spec)
		if err != nil {
			return n, nil, false, err
		}
		if (r.shape.Status == "" || run.Status == r.shape.Status) && !r.page.take(last, *run) {
			return n, last, true, nil
		}
	}
	return n, last, false, rows.Err()
}
