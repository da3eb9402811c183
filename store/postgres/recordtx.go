package postgres

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/record"
)

const (
	selectRecord = `SELECT value FROM selvage.records
		WHERE tenant = $1::text AND space = $2::text AND key = $3::bytea AND (expires IS NULL OR expires > $4::bigint)`

	upsertRecord = `INSERT INTO selvage.records AS r (tenant, space, key, thread, expires, value)
		VALUES ($1::text, $2::text, $3::bytea, $4::bytea, $5::bigint, $6::bytea)
		ON CONFLICT (tenant, space, key) DO UPDATE SET thread = excluded.thread, expires = excluded.expires, value = excluded.value`
	insertRecord = upsertRecord + ` WHERE r.expires <= $7::bigint`

	scanRecords = `SELECT key, value FROM selvage.records
		WHERE tenant = $1::text AND space = $2::text AND key >= $3::bytea AND key < $4::bytea AND (expires IS NULL OR expires > $5::bigint)`
	scanForward  = scanRecords + ` ORDER BY key LIMIT $6::bigint`
	scanBackward = scanRecords + ` ORDER BY key DESC LIMIT $6::bigint`

	// Which rows go is decided before any is touched, in the order of their
	// keys, so that two that delete the same do not wait for each other.
	deleteRecords = `WITH d AS (SELECT key FROM selvage.records
			WHERE tenant = $1::text AND space = $2::text AND key >= $3::bytea AND key < $4::bytea ORDER BY key LIMIT $5::bigint FOR UPDATE)
		DELETE FROM selvage.records r USING d WHERE r.tenant = $1::text AND r.space = $2::text AND r.key = d.key`

	sweepRecords = `WITH d AS (SELECT space, key FROM selvage.records
			WHERE tenant = $1::text AND expires <= $2::bigint ORDER BY expires LIMIT $3::bigint FOR UPDATE SKIP LOCKED)
		DELETE FROM selvage.records r USING d WHERE r.tenant = $1::text AND r.space = d.space AND r.key = d.key`

	recordsOfThread = `DELETE FROM selvage.records WHERE tenant = $1::text AND thread = $2::bytea`

	threadLives = `SELECT version FROM selvage.threads WHERE tenant = $1::text AND thread = $2::bytea AND version > 0 AND NOT deleted`
)

// Now implements [record.Tx].
func (t *recordTx) Now() time.Time { return t.now }

// Get implements [record.Tx].
func (t *recordTx) Get(space string, key []byte) (value []byte, err error) {
	err = t.tx.QueryRow(t.ctx, selectRecord, t.s.tenant, space, key, t.now.UnixMilli()).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// Scan implements [record.Tx].
func (t *recordTx) Scan(space string, in record.Range) ([]record.Row, error) {
	query := scanForward
	if in.Reverse {
		query = scanBackward
	}
	from, to := bounds(in)
	rows, err := t.tx.Query(t.ctx, query, t.s.tenant, space, from, to, t.now.UnixMilli(), limitOf(in))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r record.Row, err error) {
		err = row.Scan(&r.Key, &r.Value)
		return r, err
	})
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
func limitOf(in record.Range) *int64 {
	if in.Limit == 0 {
		return nil
	}
	n := int64(in.Limit)
	return &n
}

// arguments are those of the statements that write a row. It sees to it that
// the thread of the row is there and stays until the transaction ends.
func (t *recordTx) arguments(space string, row record.Row) ([]any, error) {
	var expires *int64
	if !row.Expires.IsZero() {
		ms := row.Expires.UnixMilli()
		expires = &ms
	}
	if row.Thread != "" {
		if err := t.holdThread(row.Thread); err != nil {
			return nil, err
		}
	}
	return []any{t.s.tenant, space, row.Key, packOptional(string(row.Thread)), expires, row.Value}, nil
}

// holdThread keeps a thread from being deleted until the transaction ends.
func (t *recordTx) holdThread(id selvage.ThreadID) error {
	_, err := t.tx.Exec(t.ctx, `SELECT pg_advisory_xact_lock_shared($1::integer, $2::integer)`, int32(threadRecordLock), lockHash(t.s.tenant, string(id)))
	if err != nil {
		return err
	}
	var version int64
	err = t.tx.QueryRow(t.ctx, threadLives, t.s.tenant, packID(string(id))).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return newHead(t.s.tenant).missing(id)
	}
	return err
}

// Put implements [record.Tx].
func (t *recordTx) Put(space string, row record.Row) error {
	args, err := t.arguments(space, row)
	if err == nil {
		_, err = t.tx.Exec(t.ctx, upsertRecord, args...)
	}
	return err
}

// Insert implements [record.Tx].
func (t *recordTx) Insert(space string, row record.Row) (bool, error) {
	args, err := t.arguments(space, row)
	if err != nil {
		return false, err
	}
	tag, err := t.tx.Exec(t.ctx, insertRecord, append(args, t.now.UnixMilli())...)
	return tag.RowsAffected() == 1, err
}

// Delete implements [record.Tx].
func (t *recordTx) Delete(space string, in record.Range) (int, error) {
	from, to := bounds(in)
	tag, err := t.tx.Exec(t.ctx, deleteRecords, t.s.tenant, space, from, to, limitOf(in))
	return int(tag.RowsAffected()), err
}

// Sweep implements [record.Tx].
func (t *recordTx) Sweep(limit int) (int, error) {
	tag, err := t.tx.Exec(t.ctx, sweepRecords, t.s.tenant, t.now.UnixMilli(), limit)
	return int(tag.RowsAffected()), err
}
