package sqlite

import (
	"context"
	"fmt"
	"io"
	"slices"

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

// Backup implements [selvage.Backup]. It reads in one transaction, which holds
// no writer up; the write-ahead log grows meanwhile.
func (b backup) Backup(ctx context.Context, w io.Writer, opts selvage.BackupOptions) (selvage.BackupReport, error) {
	h := archive.Header{Backend: "sqlite", At: stamp(b.s.opts.Now())}
	err := b.s.read(ctx, func(c *conn) (err error) {
		h.Generation, err = generation(c)
		return err
	})
	var n int64
	if err == nil {
		n, err = archive.Backup(ctx, w, h, b, opts.Told)
	}
	if err != nil {
		return selvage.BackupReport{Items: n}, fmt.Errorf("back database %s up: %w", b.s.path, err)
	}
	return selvage.BackupReport{Items: n}, nil
}

// Restore implements [selvage.Backup].
func (b backup) Restore(ctx context.Context, r io.Reader, opts selvage.BackupOptions) (selvage.BackupReport, error) {
	n, err := archive.Restore(ctx, r, b, opts.Told)
	if err != nil {
		return selvage.BackupReport{Items: n}, fmt.Errorf("restore database %s: %w", b.s.path, err)
	}
	return selvage.BackupReport{Items: n}, nil
}

func generation(c *conn) (n int64, err error) {
	_, err = c.one(func(r *rows) { n = r.int(0) }, `SELECT value FROM meta WHERE key = 'generation'`)
	return n, err
}

// Dump implements [archive.Source].
func (b backup) Dump(ctx context.Context, add func(*archive.Item) error) error {
	return b.s.read(ctx, func(c *conn) error {
		for _, dump := range []func(context.Context, *conn, func(*archive.Item) error) error{dumpBlobs, dumpChanges, dumpDeliveries, dumpRecords} {
			if err := dump(ctx, c, add); err != nil {
				return err
			}
		}
		return nil
	})
}

// dumpRows makes an item of every row of a query.
func dumpRows(ctx context.Context, c *conn, add func(*archive.Item) error, query string, item func(*rows) (*archive.Item, error)) (err error) {
	r, err := c.query(query)
	if err != nil {
		return err
	}
	for err == nil && r.next() {
		if err = ctx.Err(); err != nil {
			break
		}
		var i *archive.Item
		if i, err = item(r); err == nil {
			err = add(i)
		}
	}
	if closeErr := r.close(); err == nil {
		err = closeErr
	}
	return err
}

func dumpBlobs(ctx context.Context, c *conn, add func(*archive.Item) error) error {
	return dumpRows(ctx, c, add, `SELECT tenant, id, key FROM blobs ORDER BY key`, func(r *rows) (*archive.Item, error) {
		blob := &archive.Blob{ID: blobName(r.blob(1))}
		err := each(c, func(r *rows) { blob.Data = append(blob.Data, r.blob(0)...) }, `SELECT data FROM blob_chunks WHERE blob = ? ORDER BY n`, r.int(2))
		return &archive.Item{Tenant: r.text(0), Blob: blob}, err
	})
}

// dumpChanges goes through the logs, thread by thread.
func dumpChanges(ctx context.Context, c *conn, add func(*archive.Item) error) error {
	var threads []head
	err := each(c, func(r *rows) {
		h := head{key: r.int(0), pos: r.int(3)}
		h.Thread.Tenant, h.Thread.ID = r.text(1), selvage.ThreadID(r.text(2))
		threads = append(threads, h)
	}, `SELECT key, tenant, id, pos FROM threads WHERE version > 0 ORDER BY born IS NOT NULL, born, key`)
	for i := range threads {
		if err == nil {
			err = dumpLog(ctx, c, &threads[i], add)
		}
	}
	return err
}

// dumpLog goes through the log of one thread.
func dumpLog(ctx context.Context, c *conn, h *head, add func(*archive.Item) error) error {
	var places []int64
	for pos := h.pos; pos != 0; {
		places = append(places, pos)
		found, err := c.one(func(r *rows) { pos = r.int(0) }, `SELECT prev FROM changes WHERE pos = ? AND thread = ?`, pos, h.key)
		if err != nil {
			return err
		}
		if !found {
			return corrupt(h.Thread.ID, h.Thread.Version, "a change before it is missing")
		}
	}
	var last selvage.Hash
	for _, pos := range slices.Backward(places) {
		if err := ctx.Err(); err != nil {
			return err
		}
		ch, err := readChange(c, h, pos)
		if err != nil {
			return err
		}
		if !ch.hasPrev {
			ch.Prev = last
		}
		if err := ch.Verify(ch.Prev); err != nil {
			return err
		}
		if err := add(&archive.Item{Tenant: h.Thread.Tenant, Change: &ch.Change}); err != nil {
			return err
		}
		last = ch.Hash
	}
	return nil
}

func dumpDeliveries(ctx context.Context, c *conn, add func(*archive.Item) error) error {
	const query = `SELECT o.tenant, t.id, o.version, o.item, o.lane, o.target, o.status, o.available_at, o.done_at, o.attempts, o.max_attempts,
		o.dedupe, o.digest, o.last_error FROM outbox o JOIN threads t ON t.key = o.thread ORDER BY o.key`
	return dumpRows(ctx, c, add, query, func(r *rows) (*archive.Item, error) {
		return &archive.Item{Tenant: r.text(0), Delivery: &archive.Delivery{Thread: selvage.ThreadID(r.text(1)), Version: selvage.Version(r.int(2)),
			Index: int(r.int(3)), Lane: r.text(4), Target: r.text(5), Status: int(r.int(6)), AvailableAt: r.time(7), DoneAt: r.time(8),
			Attempts: int(r.int(9)), MaxAttempts: int(r.int(10)), Key: r.blob(11), Digest: r.blob(12), LastError: r.text(13)}}, nil
	})
}

func dumpRecords(ctx context.Context, c *conn, add func(*archive.Item) error) error {
	return dumpRows(ctx, c, add, `SELECT tenant, space, key, value, thread, expires FROM records ORDER BY tenant, space, key`, func(r *rows) (*archive.Item, error) {
		return &archive.Item{Tenant: r.text(0), Record: &archive.Record{Space: r.text(1), Key: r.blob(2), Value: r.blob(3),
			Thread: selvage.ThreadID(r.text(4)), Expires: r.time(5)}}, nil
	})
}

// Empty implements [archive.Target].
func (b backup) Empty(ctx context.Context) (empty bool, err error) {
	err = b.s.read(ctx, func(c *conn) error {
		_, err := c.one(func(r *rows) { empty = r.int(0) == 0 },
			`SELECT EXISTS (SELECT 1 FROM changes) OR EXISTS (SELECT 1 FROM records) OR EXISTS (SELECT 1 FROM blobs)`)
		return err
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

// write runs f in a transaction for a tenant.
func (b backup) write(ctx context.Context, tenant string, f func(*txn) error) error {
	if err := b.s.enter(ctx); err != nil {
		return err
	}
	defer b.s.leave()
	return b.s.writer.do(ctx, tenant, 0, f)
}

// PutDeliveries implements [archive.Target].
func (b backup) PutDeliveries(ctx context.Context, tenant string, list []*archive.Delivery) error {
	return b.write(ctx, tenant, func(t *txn) error {
		for _, d := range list {
			if err := t.putDelivery(d); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *txn) putDelivery(d *archive.Delivery) error {
	e, err := t.head(d.Thread)
	if err != nil {
		return err
	}
	at, err := e.readAt(background(), t.c, d.Version)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO outbox (tenant, thread, version, item, pos, lane, target, dedupe, digest, status, available_at, done_at, attempts, max_attempts, last_error)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, t.tenant, e.key, int64(d.Version), int64(d.Index), at.pos, d.Lane, d.Target,
		packBytes(d.Key), packBytes(d.Digest), int64(d.Status), d.AvailableAt.UnixMilli(), packTime(d.DoneAt), int64(d.Attempts), int64(d.MaxAttempts),
		packText(d.LastError))
	return err
}

// PutRecords implements [archive.Target].
func (b backup) PutRecords(ctx context.Context, tenant string, list []*archive.Record) error {
	return b.write(ctx, tenant, func(t *txn) error {
		for _, r := range list {
			if _, err := t.exec(upsertRecord, tenant, r.Space, r.Key, packText(string(r.Thread)), packTime(r.Expires), r.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

// Raise implements [archive.Target].
func (b backup) Raise(ctx context.Context, above int64) error {
	return b.write(ctx, "", func(t *txn) error {
		_, err := t.exec(`UPDATE meta SET value = max(value, ?) + 1 WHERE key = 'generation'`, above)
		return err
	})
}

// blobName is the id of the blob with that digest.
func blobName(digest []byte) string {
	var h selvage.Hash
	copy(h[:], digest)
	return selvage.BlobScheme + h.String()
}
