package inmem

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

// runShape is what binds a cursor to its query.
type runShape struct {
	List        string
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
	items, next, err := s.listRuns(ctx, q)
	if err != nil {
		return selvage.RunPage{}, fmt.Errorf("runs: %w", err)
	}
	return selvage.RunPage{Items: items, Next: next}, nil
}

func (s *Store) listRuns(ctx context.Context, q selvage.RunQuery) ([]selvage.Run, selvage.Cursor, error) {
	shape := runShape{List: "runs", ID: q.ID, Thread: q.ThreadID, AgentID: q.AgentID, ParentRunID: q.ParentRunID, Status: q.Status, Open: q.Open}
	// Stored times have this precision: a run created after q.Since must not
	// seem older because its time was cut.
	q.Since = q.Since.Truncate(selvage.TimePrecision)
	if !q.Since.IsZero() {
		shape.Since = q.Since.UnixMilli()
	}
	var err error
	if shape.Order, err = direction(q.Order, selvage.Descending); err != nil {
		return nil, "", err
	}
	switch q.Status {
	case "", selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunDone:
	default:
		return nil, "", &selvage.InvalidError{Field: "status", Reason: fmt.Sprintf("%q is not a run status; use created, running, waiting or done", q.Status)}
	}
	p := page[selvage.Run]{}
	if p.limit, err = selvage.PageLimit(q.Limit); err != nil {
		return nil, "", err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return nil, "", err
	}
	var last int64
	if q.Cursor != "" {
		if err := s.cursors.Open(q.Cursor, shape, &last); err != nil {
			return nil, "", err
		}
	}
	for _, row := range s.runRows(q, shape.Order, last) {
		if !p.take(row.created, func() selvage.Run { return cloneRun(row.run) }) {
			break
		}
	}
	return p.seal(&s.cursors, shape)
}

// runRows returns the runs that the query selects beyond the place last, 0
// being before the first.
func (s *Store) runRows(q selvage.RunQuery, order selvage.Order, last int64) []*runRow {
	var rows []*runRow
	for _, row := range s.runs {
		beyond := last == 0 || (row.created > last) == (order == selvage.Ascending) && row.created != last
		if beyond && selects(q, &row.run) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b *runRow) int {
		if order == selvage.Descending {
			a, b = b, a
		}
		return cmp.Compare(a.created, b.created)
	})
	return rows
}

func selects(q selvage.RunQuery, r *selvage.Run) bool {
	return (q.ID == "" || q.ID == r.ID) &&
		(q.ThreadID == "" || q.ThreadID == r.ThreadID) &&
		(q.AgentID == "" || q.AgentID == r.AgentID) &&
		(q.ParentRunID == "" || q.ParentRunID == r.ParentRunID) &&
		(q.Status == "" || q.Status == r.Status) &&
		(!q.Open || r.Status.Open()) &&
		(q.Since.Equal(time.Time{}) || !r.CreatedAt.Before(q.Since))
}
