package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/archive"
)

// backup is the capability [selvage.Backup] of a store.
type backup struct{ s *Store }

var (
	_ selvage.Backup = backup{}
	_ archive.Source = backup{}
	_ archive.Target = backup{}
)

// Backup implements [selvage.Backup]. It reads in one transaction, which is not
// taken up again if its connection breaks; what others delete meanwhile is
// vacuumed after it.
func (b backup) Backup(ctx context.Context, w io.Writer, opts selvage.BackupOptions) (selvage.BackupReport, error) {
	leave, err := b.s.enter(ctx)
	if err != nil {
		return selvage.BackupReport{}, fmt.Errorf("back up: %w", err)
	}
	defer leave()
	h := archive.Header{Backend: "postgres", Generation: b.s.generation >> generationShift, At: b.s.now().UTC().Truncate(selvage.TimePrecision)}
	n, err := archive.Backup(ctx, w, h, b, opts.Told)
	var write *archive.WriteError
	if errors.As(err, &write) {
		return selvage.BackupReport{Items: n}, fmt.Errorf("back up: %w", err)
	}
	return selvage.BackupReport{Items: n}, fault(ctx, "back up", err)
}

// Restore implements [selvage.Backup].
func (b backup) Restore(ctx context.Context, r io.Reader, opts selvage.BackupOptions) (selvage.BackupReport, error) {
	n, err := archive.Restore(ctx, r, b, opts.Told)
	if err != nil {
		return selvage.BackupReport{Items: n}, fmt.Errorf("restore: %w", err)
	}
	return selvage.BackupReport{Items: n}, nil
}

// Dump implements [archive.Source].
func (b backup) Dump(ctx context.Context, add func(*archive.Item) error) error {
	return pgx.BeginTxFunc(ctx, b.s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		for _, dump := range []func(context.Context, pgx.Tx, func(*archive.Item) error) error{dumpBlobs, dumpChanges, dumpDeliveries, dumpRecords} {
			if err := dump(ctx, tx, add); err != nil {
				return err
			}
		}
		return nil
	})
}

// dumpRows makes an item of every row of a query, which is read a part at a
// time.
func dumpRows(ctx context.Context, tx pgx.Tx, query string, item func(pgx.Rows) (*archive.Item, error), add func(*archive.Item) error, args ...any) error {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		i, err := item(rows)
		if err != nil {
			return err
		}
		if i == nil {
			continue
		}
		if err := add(i); err != nil {
			return err
		}
	}
	return rows.Err()
}

func dumpBlobs(ctx context.Context, tx pgx.Tx, add func(*archive.Item) error) error {
	var last archive.Item // the one whose chunks are coming
	err := dumpRows(ctx, tx, `SELECT b.tenant, b.id, coalesce(c.data, ''::bytea) FROM selvage.blobs b
		LEFT JOIN selvage.blob_chunks c ON c.tenant = b.tenant AND c.id = b.id ORDER BY b.tenant, b.id, c.n`, func(rows pgx.Rows) (*archive.Item, error) {
		var tenant string
		var id, data []byte
		if err := rows.Scan(&tenant, &id, &data); err != nil {
			return nil, err
		}
		name, done := blobName(id), last
		if last.Blob != nil && last.Tenant == tenant && last.Blob.ID == name {
			last.Blob.Data = append(last.Blob.Data, data...)
			return nil, nil
		}
		last = archive.Item{Tenant: tenant, Blob: &archive.Blob{ID: name, Data: data}}
		if done.Blob == nil {
			return nil, nil
		}
		return &done, nil
	}, add)
	if err == nil && last.Blob != nil {
		err = add(&last)
	}
	return err
}

// dumpChanges goes through the logs, thread by thread.
func dumpChanges(ctx context.Context, tx pgx.Tx, add func(*archive.Item) error) error {
	rows, err := tx.Query(ctx, `SELECT tenant, thread FROM selvage.threads WHERE version > 0 ORDER BY born, tenant, thread`)
	if err != nil {
		return err
	}
	type key struct {
		tenant string
		thread []byte
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k key, err error) {
		err = row.Scan(&k.tenant, &k.thread)
		return k, err
	})
	for _, k := range keys {
		if err == nil {
			err = dumpLog(ctx, tx, k.tenant, k.thread, add)
		}
	}
	return err
}

// dumpLog goes through the log of one thread.
func dumpLog(ctx context.Context, tx pgx.Tx, tenant string, thread []byte, add func(*archive.Item) error) error {
	var last selvage.Hash
	return dumpRows(ctx, tx, `SELECT `+changeColumns+`, c.prev FROM selvage.changes c WHERE c.tenant = $1::text AND c.thread = $2::bytea ORDER BY c.version`,
		func(rows pgx.Rows) (*archive.Item, error) {
			var row changeRow
			var prev []byte
			if err := rows.Scan(append(row.targets(), &prev)...); err != nil {
				return nil, err
			}
			c, err := row.change(selvage.ThreadID(unpackID(thread)))
			if err != nil {
				return nil, err
			}
			if c.Prev = last; prev != nil {
				copy(c.Prev[:], prev)
			}
			last = c.Hash
			return &archive.Item{Tenant: tenant, Change: &c}, c.Verify(c.Prev)
		}, add, tenant, thread)
}

func dumpDeliveries(ctx context.Context, tx pgx.Tx, add func(*archive.Item) error) error {
	return dumpRows(ctx, tx, `SELECT o.tenant, o.thread, o.version, o.item, o.lane, o.target, o.status, o.available_at, o.done_at, o.attempts, o.max_attempts,
		o.dedupe, o.digest, coalesce(o.last_error, '') FROM selvage.outbox o ORDER BY o.tenant, o.ord, o.thread, o.version, o.item`,
		func(rows pgx.Rows) (*archive.Item, error) {
			i := &archive.Item{Delivery: &archive.Delivery{}}
			d := i.Delivery
			var thread []byte
			var done *time.Time
			err := rows.Scan(&i.Tenant, &thread, &d.Version, &d.Index, &d.Lane, &d.Target, &d.Status, &d.AvailableAt, &done, &d.Attempts, &d.MaxAttempts,
				&d.Key, &d.Digest, &d.LastError)
			d.Thread, d.AvailableAt = selvage.ThreadID(unpackID(thread)), d.AvailableAt.UTC()
			if done != nil {
				d.DoneAt = done.UTC()
			}
			return i, err
		}, add)
}

func dumpRecords(ctx context.Context, tx pgx.Tx, add func(*archive.Item) error) error {
	return dumpRows(ctx, tx, `SELECT tenant, space, key, value, thread, expires FROM selvage.records ORDER BY tenant, space, key`,
		func(rows pgx.Rows) (*archive.Item, error) {
			i := &archive.Item{Record: &archive.Record{}}
			var thread []byte
			var expires *int64
			err := rows.Scan(&i.Tenant, &i.Record.Space, &i.Record.Key, &i.Record.Value, &thread, &expires)
			if thread != nil {
				i.Record.Thread = selvage.ThreadID(unpackID(thread))
			}
			if expires != nil {
				i.Record.Expires = time.UnixMilli(*expires).UTC()
			}
			return i, err
		}, add)
}

// blobName is the id of the blob with that digest.
func blobName(digest []byte) string {
	var h selvage.Hash
	copy(h[:], digest)
	return selvage.BlobScheme + h.String()
}
