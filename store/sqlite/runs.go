package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

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

// Runs implements [selvage.Store].
func (s *Store) Runs(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
	var out selvage.RunPage
	err := s.read(ctx, func(c *conn) (err error) {
		out, err = s.runs(ctx, c, q)
		return err
	})
	if err != nil {
		return selvage.RunPage{}, fmt.Errorf("runs: %w", err)
	}
	return out, nil
}

func (s *Store) runs(ctx context.Context, c *conn, q selvage.RunQuery) (out selvage.RunPage, err error) {
	shape := runShape{List: "runs", Tenant: s.tenant, ID: q.ID, Thread: q.ThreadID, AgentID: q.AgentID, ParentRunID: q.ParentRunID, Status: q.Status, Open: q.Open}
	if !q.Since.IsZero() {
		shape.Since = q.Since.Truncate(selvage.TimePrecision).UnixMilli()
	}
	if shape.Order, err = direction(q.Order, selvage.Descending); err != nil {
		return out, err
	}
	switch q.Status {
	case "", selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunDone:
	default:
		return out, &selvage.InvalidError{Field: "status", Reason: fmt.Sprintf("%q is not a run status; use created, running, waiting or done", q.Status)}
	}
	p, err := newPage[selvage.Run](q.Limit)
	if err != nil {
		return out, err
	}
	var last int64
	if q.Cursor != "" {
		if err := s.cursors.Open(q.Cursor, shape, &last); err != nil {
			return out, err
		}
	}
	if p.limit > 0 {
		err = listRuns(ctx, c, shape, last, &p)
	}
	if err != nil {
		return out, err
	}
	out.Items = p.items
	out.Next, err = p.next(&s.cursors, shape)
	return out, err
}

// listRuns fills the page with runs beyond the place last, 0 being before the
// first.
func listRuns(ctx context.Context, c *conn, q runShape, last int64, p *page[selvage.Run]) error {
	query, args := q.query(last)
	r, err := c.query(query, args...)
	if err != nil {
		return err
	}
	var bad error
	for bad == nil && r.next() {
		if bad = ctx.Err(); bad != nil {
			break
		}
		var run *selvage.Run
		if run, bad = scanRun(r); bad != nil || q.Status != "" && run.Status != q.Status {
			continue
		}
		if p.full() {
			break
		}
		p.add(*run, r.int(0))
	}
	return errors.Join(bad, r.close())
}

// query is the statement that lists the runs, and its arguments.
func (q *runShape) query(last int64) (string, []driver.Value) {
	query := `SELECT ` + runColumns + ` FROM runs r CROSS JOIN threads t ON t.key = r.thread WHERE r.tenant = ?`
	args := []driver.Value{q.Tenant}
	where := func(condition string, more ...driver.Value) {
		query += ` AND ` + condition
		args = append(args, more...)
	}
	if q.ID != "" {
		where(`r.id = ?`, string(q.ID))
	}
	if q.Thread != "" {
		where(`r.thread = (SELECT key FROM threads WHERE tenant = ? AND id = ?)`, q.Tenant, string(q.Thread))
	}
	if q.ParentRunID != "" {
		where(`r.parent <> '' AND r.parent = ?`, string(q.ParentRunID))
	}
	if q.AgentID != "" {
		where(`r.agent = ?`, q.AgentID)
	}
	if q.Since != 0 {
		where(`r.created_at >= ?`, q.Since)
	}
	switch {
	case q.Status == selvage.RunDone && q.Open:
		query += ` AND 0` // none is both
	case q.Status == selvage.RunDone:
		query += ` AND r.open = 0`
	case q.Status != "" || q.Open:
		query += ` AND r.open = 1`
	}
	beyond, order := `r.key < ?`, ` ORDER BY r.key DESC`
	if q.Order == selvage.Ascending {
		beyond, order = `r.key > ?`, ` ORDER BY r.key`
	}
	if last != 0 {
		where(beyond, last)
	}
	return query + order, args
}
