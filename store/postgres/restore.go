package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/archive"
)

// Empty implements [archive.Target].
func (b backup) Empty(ctx context.Context) (empty bool, err error) {
	leave, err := b.s.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	err = b.s.retry(ctx, "restore", func(ctx context.Context) error {
		return b.s.pool.QueryRow(ctx, `SELECT NOT (EXISTS (SELECT 1 FROM selvage.changes) OR EXISTS (SELECT 1 FROM selvage.records)
			OR EXISTS (SELECT 1 FROM selvage.blobs))`).Scan(&empty)
	})
	return empty, err
}

// Tenant implements [archive.Target].
func (b backup) Tenant(name string) (selvage.Store, error) {
	if name == "" {
		return b.s, nil
	}
	return b.s.Tenant(name)
}

// batched sends statements together, in one transaction.
func (b backup) batched(ctx context.Context, fill func(*pgx.Batch)) error {
	leave, err := b.s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return b.s.retry(ctx, "restore", func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.s.pool, func(tx pgx.Tx) error {
			batch := &pgx.Batch{}
			fill(batch)
			return tx.SendBatch(ctx, batch).Close()
		})
	})
}

// PutDeliveries implements [archive.Target].
func (b backup) PutDeliveries(ctx context.Context, tenant string, list []*archive.Delivery) error {
	return b.batched(ctx, func(batch *pgx.Batch) {
		for _, d := range list {
			var done *time.Time
			if !d.DoneAt.IsZero() {
				done = &d.DoneAt
			}
			batch.Queue(`INSERT INTO selvage.outbox (tenant, thread, version, item, ord, lane, target, dedupe, digest, status, available_at, done_at,
					attempts, max_attempts, last_error)
				SELECT c.tenant, c.thread, c.version, $4::integer, c.ord, $5::text, $6::text, $7::bytea, $8::bytea, $9::smallint, $10::timestamptz,
					$11::timestamptz, $12::integer, $13::integer, $14::text
				FROM selvage.changes c WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.version = $3::bigint ON CONFLICT DO NOTHING`,
				tenant, packID(string(d.Thread)), int64(d.Version), d.Index, d.Lane, d.Target, d.Key, d.Digest, d.Status, d.AvailableAt,
				done, d.Attempts, d.MaxAttempts, optional(d.LastError))
		}
	})
}

// PutRecords implements [archive.Target].
func (b backup) PutRecords(ctx context.Context, tenant string, list []*archive.Record) error {
	return b.batched(ctx, func(batch *pgx.Batch) {
		for _, r := range list {
			var expires *int64
			if !r.Expires.IsZero() {
				ms := r.Expires.UnixMilli()
				expires = &ms
			}
			batch.Queue(`INSERT INTO selvage.records (tenant, space, key, value, thread, expires)
				VALUES ($1::text, $2::text, $3::bytea, $4::bytea, $5::bytea, $6::bigint) ON CONFLICT DO NOTHING`,
				tenant, r.Space, r.Key, r.Value, packOptional(string(r.Thread)), expires)
		}
	})
}

// Raise implements [archive.Target]. Stores that are open go on writing with
// the generation they found, so that a database is restored before it is used.
func (b backup) Raise(ctx context.Context, above int64) error {
	leave, err := b.s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	next := max(above, b.s.generation>>generationShift) + 1
	err = b.s.retry(ctx, "restore", func(ctx context.Context) error {
		_, err := b.s.pool.Exec(ctx, `UPDATE selvage.meta SET value = int8send($1::bigint) WHERE key = 'generation'`, next)
		return err
	})
	if err == nil {
		b.s.generation = next << generationShift
	}
	return err
}
