package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/record"
)

// records is the [record.Engine] of a store's tenant: rows of one table,
// written by the writer like everything else, and read on a reader's
// connection.
type records struct{ s *Store }

const (
	selectRecord = `SELECT value FROM records WHERE tenant = ? AND space = ? AND key = ? AND (expires IS NULL OR expires > ?)`

	upsertRecord = `INSERT INTO records (tenant, space, key, thread, expires, value) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, space, key) DO UPDATE SET thread = excluded.thread, expires = excluded.expires, value = excluded.value`

	scanRecords   = `SELECT key, value FROM records WHERE tenant = ? AND space = ? AND key >= ? AND key < ? AND (expires IS NULL OR expires > ?)`
	scanForward   = scanRecords + ` ORDER BY key LIMIT ?`
	scanBackward  = scanRecords + ` ORDER BY key DESC LIMIT ?`
	deleteRecords = `DELETE FROM records WHERE rowid IN (SELECT rowid FROM records
		WHERE tenant = ? AND space = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?)`

	sweepRecords = `DELETE FROM records WHERE rowid IN (SELECT rowid FROM records
		WHERE tenant = ? AND expires IS NOT NULL AND expires <= ? ORDER BY expires LIMIT ?)`

	recordsOfThread = `DELETE FROM records WHERE tenant = ? AND thread = ? AND thread IS NOT NULL`
)

// View implements [record.Engine].
func (e records) View(ctx context.Context, read func(record.Tx) error) error {
	return e.s.read(ctx, func(c *conn) error {
		return read(&recordTx{c: c, tenant: e.s.tenant, now: stamp(e.s.opts.Now())})
	})
}

// Update implements [record.Engine]. All updates of a file go one after the
// other, whatever their topic, because all writes do.
func (e records) Update(ctx context.Context, _ string, write func(record.Tx) error) error {
	if err := e.s.enter(ctx); err != nil {
		return err
	}
	defer e.s.leave()
	return e.s.writer.do(ctx, e.s.tenant, 0, func(t *txn) error {
		return write(&recordTx{c: t.c, w: t, tenant: e.s.tenant, now: stamp(t.now)})
	})
}

// stamp is a time as it is kept.
func stamp(at time.Time) time.Time { return at.UTC().Truncate(selvage.TimePrecision) }

// recordTx is a transaction on the rows of a tenant.
type recordTx struct {
	c      *conn
	w      *txn // nil in a view
	tenant string
	now    time.Time
}

// Now implements [record.Tx].
func (t *recordTx) Now() time.Time { return t.now }

// Get implements [record.Tx].
func (t *recordTx) Get(space string, key []byte) (value []byte, err error) {
	_, err = t.c.one(func(r *rows) { value = r.blob(0) }, selectRecord, t.tenant, space, key, t.now.UnixMilli())
	return value, err
}

// Scan implements [record.Tx].
func (t *recordTx) Scan(space string, in record.Range) (out []record.Row, err error) {
	query := scanForward
	if in.Reverse {
		query = scanBackward
	}
	from, to := bounds(in)
	r, err := t.c.query(query, t.tenant, space, from, to, t.now.UnixMilli(), limitOf(in))
	if err != nil {
		return nil, err
	}
	for r.next() {
		out = append(out, record.Row{Key: r.blob(0), Value: r.blob(1)})
	}
	return out, r.close()
}

// bounds are the ends of a range as arguments. No key begins with 0xff.
func bounds(in record.Range) (from, to []byte) {
	from, to = in.From, in.To
	if from == nil {
		from = []byte{}
	}
	if to == nil {
		to = []byte{0xff}
	}
	return from, to
}

// limitOf is the limit of a range as an argument.
func limitOf(in record.Range) int64 {
	if in.Limit == 0 {
		return -1
	}
	return int64(in.Limit)
}

// Put implements [record.Tx].
func (t *recordTx) Put(space string, row record.Row) error {
	var thread, expires driver.Value
	if row.Thread != "" {
		h, err := t.w.head(row.Thread)
		if err == nil {
			err = h.readable()
		}
		if err != nil {
			return err
		}
		thread = string(row.Thread)
	}
	if !row.Expires.IsZero() {
		expires = row.Expires.UnixMilli()
	}
	_, err := t.w.exec(upsertRecord, t.tenant, space, row.Key, thread, expires, row.Value)
	return err
}

// Insert implements [record.Tx].
func (t *recordTx) Insert(space string, row record.Row) (bool, error) {
	if have, err := t.Get(space, row.Key); have != nil || err != nil {
		return false, err
	}
	return true, t.Put(space, row)
}

// Delete implements [record.Tx].
func (t *recordTx) Delete(space string, in record.Range) (int, error) {
	from, to := bounds(in)
	n, err := t.w.exec(deleteRecords, t.tenant, space, from, to, limitOf(in))
	return int(n), err
}

// Sweep implements [record.Tx].
func (t *recordTx) Sweep(limit int) (int, error) {
	n, err := t.w.exec(sweepRecords, t.tenant, t.now.UnixMilli(), int64(limit))
	return int(n), err
}
