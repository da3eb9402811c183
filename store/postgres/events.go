package postgres

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// watcher is the store as a [selvage.Watcher].
type watcher struct{ s *Store }

// Events implements [selvage.Watcher].
func (w watcher) Events(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (page selvage.EventPage, err error) {
	look := func() (bool, error) {
		for {
			e, err := w.s.events(ctx, id, q)
			if err != nil {
				return false, err
			}
			if page, q.After = e.Page, e.Page.Next; e.Found() || !q.Wait || !page.More {
				return e.Found(), nil
			}
		}
	}
	if err := w.s.await(ctx, threadKey{w.s.tenant, id}, q.Wait, look); err != nil {
		return selvage.EventPage{}, fmt.Errorf("events of thread %q: %w", id, err)
	}
	return page, nil
}

// eventsQuery reads a head and changes from a version on, as of one moment. The
// changes of a thread become visible in the order of their versions, because
// each waits for the head that the one before it left.
const eventsQuery = `SELECT t.version, t.deleted, c.thread IS NOT NULL, ` + changeColumns + `, coalesce(c.prev, b.hash)
	FROM selvage.threads t
	LEFT JOIN selvage.changes c ON c.tenant = $1::text AND c.thread = $2::bytea AND c.version >= $3::bigint
	LEFT JOIN selvage.changes b ON b.tenant = c.tenant AND b.thread = c.thread AND b.version = c.version - 1
	WHERE t.tenant = $1::text AND t.thread = $2::bytea AND t.version > 0
	ORDER BY c.version LIMIT $4::bigint`

// events reads a page of events.
func (s *Store) events(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (e *commit.Events, err error) {
	if e, err = commit.NewEvents(q); err != nil {
		return nil, err
	}
	err = s.list(ctx, "events", func(from querier) error {
		if e, err = commit.NewEvents(q); err != nil { // anew each time that it is tried
			return err
		}
		// Nearly every change makes an event, so that the first portion is
		// nearly always the only one.
		v := max(q.After.Version, 1)
		for first, wants := true, true; wants; first = false {
			found, err := s.addEvents(ctx, from, id, e, v, first)
			if err != nil {
				return err
			}
			if v, wants = e.Wants(); !found {
				break
			}
		}
		return nil
	})
	return e, err
}

// addEvents adds the events of a portion of the log to the page, and reports
// whether there was any that it wanted. The first portion tells how far the log
// goes.
func (s *Store) addEvents(ctx context.Context, from querier, id selvage.ThreadID, e *commit.Events, v selvage.Version, first bool) (found bool, err error) {
	rows, err := from.Query(ctx, eventsQuery, s.tenant, packID(string(id)), int64(v), int64(e.Room()))
	if err != nil {
		return false, err
	}
	defer rows.Close()
	wants := true
	for wants && rows.Next() {
		var r eventRow
		if err := rows.Scan(r.targets()...); err != nil {
			return false, err
		}
		if first {
			if err := e.Begin(id, selvage.Version(r.head), r.deleted); err != nil {
				return false, err
			}
			first = false
		}
		if _, wants = e.Wants(); !wants {
			break
		}
		if !r.there {
			return false, damaged(id, int64(v), "it is missing")
		}
		c, err := r.proven(id)
		if err != nil {
			return false, err
		}
		if err := e.Add(&c); err != nil {
			return false, err
		}
		found = true
		_, wants = e.Wants()
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return false, err
	}
	if first {
		return false, fmt.Errorf("thread %q: %w", id, selvage.ErrNotFound)
	}
	return found, nil
}

// eventRow is a row of eventsQuery.
type eventRow struct {
	head    int64
	deleted bool
	there   bool
	linkedRow
}

func (r *eventRow) targets() []any {
	return append([]any{&r.head, &r.deleted, &r.there}, r.linkedRow.targets()...)
}

// linkedRow is a change and the hash of the one before it, of which everything
// is missing if there is no such change.
type linkedRow struct {
	version, at, firstSeq *int64
	added                 *int32
	reason, effect        *int16
	row                   changeRow
	prev                  []byte
}

// targets are where changeColumns and the hash are scanned to.
func (r *linkedRow) targets() []any {
	into := append(r.row.targets(), &r.prev)
	copy(into, []any{&r.version, &r.at, &r.firstSeq, &r.added, &r.reason, &r.effect})
	return into
}

// proven returns the change and proves it.
func (r *linkedRow) proven(id selvage.ThreadID) (selvage.Change, error) {
	r.row.version, r.row.at, r.row.firstSeq = *r.version, *r.at, *r.firstSeq
	r.row.added, r.row.reason, r.row.effect = *r.added, *r.reason, *r.effect
	c, err := r.row.change(id)
	if err != nil {
		return c, err
	}
	copy(c.Prev[:], r.prev)
	return c, c.Verify(c.Prev)
}
