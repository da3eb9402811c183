package inmem

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/record"
)

// records are the rows of a tenant that are no threads. The zero records are
// empty and ready to use.
type records struct {
	spaces   map[string][]record.Row // by key
	threads  map[selvage.ThreadID]map[rowName]struct{}
	expiring map[rowName]struct{}
}

// rowName names a row.
type rowName struct{ space, key string }

// find returns where a key stands in its space, or would, and whether it does.
func (r *records) find(space string, key []byte) (int, bool) {
	return slices.BinarySearchFunc(r.spaces[space], key, func(row record.Row, key []byte) int { return bytes.Compare(row.Key, key) })
}

// put writes a row and returns the one it replaces, if any.
func (r *records) put(space string, row record.Row) (old record.Row, replaced bool) {
	if r.spaces == nil {
		*r = records{make(map[string][]record.Row), make(map[selvage.ThreadID]map[rowName]struct{}), make(map[rowName]struct{})}
	}
	i, there := r.find(space, row.Key)
	if there {
		old = r.remove(space, i)
	}
	name := rowName{space, string(row.Key)}
	if row.Thread != "" {
		if r.threads[row.Thread] == nil {
			r.threads[row.Thread] = make(map[rowName]struct{})
		}
		r.threads[row.Thread][name] = struct{}{}
	}
	if !row.Expires.IsZero() {
		r.expiring[name] = struct{}{}
	}
	r.spaces[space] = slices.Insert(r.spaces[space], i, row)
	return old, there
}

// remove removes the i-th row of a space and returns it.
func (r *records) remove(space string, i int) record.Row {
	row := r.spaces[space][i]
	name := rowName{space, string(row.Key)}
	r.spaces[space] = slices.Delete(r.spaces[space], i, i+1)
	delete(r.expiring, name)
	if delete(r.threads[row.Thread], name); len(r.threads[row.Thread]) == 0 {
		delete(r.threads, row.Thread)
	}
	return row
}

// forget removes the rows of a thread.
func (r *records) forget(id selvage.ThreadID) {
	for name := range r.threads[id] {
		if i, there := r.find(name.space, []byte(name.key)); there {
			r.remove(name.space, i)
		}
	}
}

// bounds are the indexes of the rows of a range.
func (r *records) bounds(space string, in record.Range) (from, to int) {
	to = len(r.spaces[space])
	if in.From != nil {
		from, _ = r.find(space, in.From)
	}
	if in.To != nil {
		to, _ = r.find(space, in.To)
	}
	return from, max(from, to)
}

// due returns the rows that are over at a time, those first that were so first.
func (r *records) due(now time.Time) []rowName {
	type dueRow struct {
		name rowName
		at   time.Time
	}
	var due []dueRow
	for name := range r.expiring {
		if i, there := r.find(name.space, []byte(name.key)); there && over(r.spaces[name.space][i], now) {
			due = append(due, dueRow{name, r.spaces[name.space][i].Expires})
		}
	}
	slices.SortFunc(due, func(a, b dueRow) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name.key, b.name.key)) })
	out := make([]rowName, len(due))
	for i, d := range due {
		out[i] = d.name
	}
	return out
}

// over reports whether a row is there no more.
func over(row record.Row, now time.Time) bool {
	return !row.Expires.IsZero() && !row.Expires.After(now)
}

// rows is the [record.Engine] of a store's tenant.
type rows struct{ s *Store }

// View implements [record.Engine].
func (e rows) View(ctx context.Context, read func(record.Tx) error) error {
	e.s.mu.RLock()
	defer e.s.mu.RUnlock()
	if err := e.s.enter(ctx); err != nil {
		return err
	}
	return read(e.begin())
}

// Update implements [record.Engine]. All updates of a store go one after the
// other, whatever their topic.
func (e rows) Update(ctx context.Context, _ string, write func(record.Tx) error) error {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	if err := e.s.enter(ctx); err != nil {
		return err
	}
	tx, done := e.begin(), false
	defer func() {
		if !done { // it failed, or panicked
			tx.rollback()
		}
	}()
	err := write(tx)
	done = err == nil
	return err
}

func (e rows) begin() *rowTx {
	return &rowTx{s: e.s, now: e.s.now().UTC().Truncate(selvage.TimePrecision)}
}
