package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/record"
)

// records is the [record.Engine] of a store's tenant.
type records struct{ s *Store }

// View implements [record.Engine].
func (e records) View(ctx context.Context, read func(record.Tx) error) error {
	leave, err := e.s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return e.s.snapshot(ctx, "read records", func(tx pgx.Tx) error { return read(e.tx(ctx, tx)) })
}

// Update implements [record.Engine]. What shares a topic holds an advisory
// lock until its transaction ends. It is read committed, so that what is read
// under the lock is what those before left.
func (e records) Update(ctx context.Context, topic string, write func(record.Tx) error) error {
	leave, err := e.s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if topic != "" {
		// Those of this process wait here, without a connection in their hands.
		// No thread has such an id.
		pass, err := e.s.gates.enter(ctx, threadKey{e.s.tenant, selvage.ThreadID("\x00" + topic)})
		if err != nil {
			return err
		}
		defer pass()
	}
	for n := 0; ; n++ {
		committing, err := e.try(ctx, topic, write)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, ours(err) != nil:
			return fault(ctx, "write records", err)
		case committing && uncommitted(err):
			e.s.heal(err) // for the next call
			return fmt.Errorf("write records: the commit was sent and not answered (%s): %w", describe(err), selvage.ErrUnknownOutcome)
		case n == retries || !e.s.heal(err):
			return fault(ctx, "write records", err)
		}
	}
}

// try makes one attempt, and tells whether it came as far as its commit.
func (e records) try(ctx context.Context, topic string, write func(record.Tx) error) (committing bool, err error) {
	tx, err := e.s.pool.Begin(ctx)
	if err != nil {
		return false, err
	}
	// After a commit it does nothing; what goes wrong with it is of no interest.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if topic != "" {
		if err := e.lock(ctx, tx, topicLock, topic); err != nil {
			return false, err
		}
	}
	if err := write(e.tx(ctx, tx)); err != nil {
		return false, err
	}
	return true, tx.Commit(ctx)
}

// The first keys of advisory locks; the second is the hash of tenant and name.
const (
	topicLock        = 0x53454c52 // "SELR": the updates of a topic
	threadRecordLock = 0x53454c54 // "SELT": the records of a thread against its deletion
)

// lock takes an advisory lock until the transaction ends. Names that share a
// hash wait for each other, too.
func (e records) lock(ctx context.Context, tx pgx.Tx, kind int32, name string) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::integer, $2::integer)`, kind, lockHash(e.s.tenant, name))
	return err
}

func lockHash(tenant, name string) int32 {
	digest := sha256.Sum256([]byte(tenant + "\x00" + name))
	return int32(binary.BigEndian.Uint32(digest[:4]))
}

func (e records) tx(ctx context.Context, tx pgx.Tx) *recordTx {
	return &recordTx{e, ctx, tx, e.s.now().UTC().Truncate(selvage.TimePrecision)}
}

// forgetRecords deletes the records of a thread. Who adds one meanwhile waits,
// and finds the thread gone.
func (s *Store) forgetRecords(ctx context.Context, tx pgx.Tx, id selvage.ThreadID) error {
	if err := (records{s}).lock(ctx, tx, threadRecordLock, string(id)); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, recordsOfThread, s.tenant, packID(string(id)))
	return err
}

// recordTx is a transaction on the rows of a tenant. It belongs to one call,
// whose context it keeps.
type recordTx struct {
	records
	ctx context.Context
	tx  pgx.Tx
	now time.Time
}
