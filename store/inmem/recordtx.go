package inmem

import (
	"slices"
	"time"

	"github.com/selvagehq/selvage/store/record"
)

// rowTx is a transaction on the rows of a tenant. The store is locked.
type rowTx struct {
	s    *Store
	now  time.Time
	undo []undo
}

// undo takes one step back: it puts a row back, or removes it.
type undo struct {
	space string
	row   record.Row
	gone  bool // there was no such row
}

// rollback takes back all that was written.
func (t *rowTx) rollback() {
	for _, u := range slices.Backward(t.undo) {
		if !u.gone {
			t.s.records.put(u.space, u.row)
		} else if i, there := t.s.records.find(u.space, u.row.Key); there {
			t.s.records.remove(u.space, i)
		}
	}
}

// Now implements [record.Tx].
func (t *rowTx) Now() time.Time { return t.now }

// Get implements [record.Tx].
func (t *rowTx) Get(space string, key []byte) ([]byte, error) {
	i, there := t.s.records.find(space, key)
	if !there || over(t.s.records.spaces[space][i], t.now) {
		return nil, nil
	}
	return t.s.records.spaces[space][i].Value, nil
}

// Scan implements [record.Tx].
func (t *rowTx) Scan(space string, in record.Range) (rows []record.Row, err error) {
	from, to := t.s.records.bounds(space, in)
	for n := range to - from {
		i := from + n
		if in.Reverse {
			i = to - 1 - n
		}
		row := t.s.records.spaces[space][i]
		if over(row, t.now) {
			continue
		}
		rows = append(rows, record.Row{Key: row.Key, Value: row.Value})
		if len(rows) == in.Limit {
			break
		}
	}
	return rows, nil
}

// Put implements [record.Tx].
func (t *rowTx) Put(space string, row record.Row) error {
	if row.Thread != "" {
		if _, err := t.s.find(row.Thread); err != nil {
			return err
		}
	}
	old, replaced := t.s.records.put(space, row)
	if !replaced {
		old = record.Row{Key: row.Key}
	}
	t.undo = append(t.undo, undo{space, old, !replaced})
	return nil
}

// Insert implements [record.Tx].
func (t *rowTx) Insert(space string, row record.Row) (bool, error) {
	if have, err := t.Get(space, row.Key); have != nil || err != nil {
		return false, err
	}
	return true, t.Put(space, row)
}

// Delete implements [record.Tx].
func (t *rowTx) Delete(space string, in record.Range) (n int, err error) {
	from, to := t.s.records.bounds(space, in)
	for ; to > from && (in.Limit == 0 || n < in.Limit); to-- {
		row := t.s.records.remove(space, from)
		t.undo = append(t.undo, undo{space: space, row: row})
		if !over(row, t.now) {
			n++
		}
	}
	return n, nil
}

// Sweep implements [record.Tx].
func (t *rowTx) Sweep(limit int) (n int, err error) {
	for _, name := range t.s.records.due(t.now) {
		if n == limit {
			break
		}
		if i, there := t.s.records.find(name.space, []byte(name.key)); there {
			t.undo = append(t.undo, undo{space: name.space, row: t.s.records.remove(name.space, i)})
			n++
		}
	}
	return n, nil
}
