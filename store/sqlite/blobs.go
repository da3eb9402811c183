package sqlite

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

const (
	selectBlob  = `SELECT key, size, put_at FROM blobs WHERE tenant = ? AND id = ?`
	insertBlob  = `INSERT INTO blobs (tenant, id, size, put_at) VALUES (?, ?, ?, ?)`
	touchBlob   = `UPDATE blobs SET put_at = ? WHERE key = ?`
	insertChunk = `INSERT INTO blob_chunks (blob, n, data) VALUES (?, ?, ?)`
	selectChunk = `SELECT data FROM blob_chunks WHERE blob = ? ORDER BY n`
	insertRef   = `INSERT INTO blob_refs (thread, version, blob) VALUES (?, ?, ?)`
	deleteRefs  = `DELETE FROM blob_refs WHERE thread = ? AND version = ?`
	countRefs   = `SELECT count(*) FROM blob_refs WHERE blob = ?`

	selectIdle = `SELECT b.key, b.size, b.put_at FROM blobs b WHERE b.put_at <= ? AND (b.put_at, b.key) > (?, ?)
		AND (? = '' OR b.tenant = ?) AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob = b.key) ORDER BY b.put_at, b.key LIMIT ?`
)

const (
	// blobChunk is the size of the rows a blob is kept in.
	blobChunk = 256 << 10
	// collectAtOnce bounds the blobs that one transaction deletes.
	collectAtOnce = 16
)

// blobs is the capability [selvage.Blobs] of a store.
type blobs struct{ s *Store }

var _ selvage.Blobs = blobs{}

// blobKey returns the key of a blob's row, 0 if there is none.
func blobKey(c *conn, tenant string, id selvage.Hash) (key int64, err error) {
	_, err = c.one(func(r *rows) { key = r.int(0) }, selectBlob, tenant, id[:])
	return key, err
}

// refer notes that a change refers to a blob.
func (t *txn) refer(h *entry, v selvage.Version, id selvage.Hash) error {
	key, err := blobKey(t.c, h.Thread.Tenant, id)
	if err == nil && key == 0 {
		err = corrupt(h.Thread.ID, v, "blob %s%s is gone since it was looked up", selvage.BlobScheme, id)
	}
	if err != nil {
		return err
	}
	_, err = t.exec(insertRef, h.key, int64(v), key)
	return err
}

// referAgain notes what a change that lost messages still refers to.
func (t *txn) referAgain(h *entry, ch *change) error {
	ids, err := commit.BlobsOf(&ch.Change)
	if err != nil {
		return err
	}
	if _, err := t.exec(deleteRefs, h.key, int64(ch.Version)); err != nil {
		return err
	}
	for _, id := range ids {
		// One that stayed behind when the thread was imported has no row.
		if key, err := blobKey(t.c, h.Thread.Tenant, id); err != nil || key == 0 {
			if err != nil {
				return err
			}
			continue
		}
		if err := t.refer(h, ch.Version, id); err != nil {
			return err
		}
	}
	return nil
}

// Put implements [selvage.Blobs].
func (b blobs) Put(ctx context.Context, r io.Reader) (ref selvage.BlobRef, err error) {
	if err := b.s.enter(ctx); err != nil {
		return ref, fmt.Errorf("put a blob: %w", err)
	}
	defer b.s.leave()
	content, err := commit.ReadBlob(ctx, r)
	if err != nil {
		return ref, fmt.Errorf("put a blob: %w", err)
	}
	ref = selvage.BlobRef{ID: selvage.BlobID(content), Size: int64(len(content))}
	id, err := selvage.ParseBlobID(ref.ID)
	if err == nil {
		err = b.s.writer.do(ctx, b.s.tenant, len(content), func(t *txn) error { return t.put(id, content) })
	}
	if err != nil {
		return selvage.BlobRef{}, fmt.Errorf("put a blob: %w", err)
	}
	return ref, nil
}

func (t *txn) put(id selvage.Hash, content []byte) error {
	key, err := blobKey(t.c, t.tenant, id)
	if err != nil {
		return err
	}
	if key != 0 {
		_, err := t.exec(touchBlob, t.now.UnixMilli(), key)
		return err
	}
	if _, key, err = t.insert(insertBlob, t.tenant, id[:], int64(len(content)), t.now.UnixMilli()); err != nil {
		return err
	}
	for n := 0; len(content) > 0; n++ {
		size := min(len(content), blobChunk)
		if _, err := t.exec(insertChunk, key, int64(n), content[:size]); err != nil {
			return err
		}
		content = content[size:]
	}
	return nil
}

// Open implements [selvage.Blobs].
func (b blobs) Open(ctx context.Context, id string) (out io.ReadCloser, err error) {
	err = b.find(ctx, id, func(c *conn, key int64, info selvage.BlobInfo) error {
		content := make([]byte, 0, info.Size)
		r, err := c.query(selectChunk, key)
		if err != nil {
			return err
		}
		for r.next() {
			content = append(content, r.blob(0)...)
		}
		if err := r.close(); err != nil {
			return err
		}
		out, err = commit.OpenBlob(id, content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open blob %q: %w", id, err)
	}
	return out, nil
}

// Stat implements [selvage.Blobs].
func (b blobs) Stat(ctx context.Context, id string) (out selvage.BlobInfo, err error) {
	err = b.find(ctx, id, func(c *conn, key int64, info selvage.BlobInfo) error {
		out = info
		_, err := c.one(func(r *rows) { out.References = int(r.int(0)) }, countRefs, key)
		return err
	})
	if err != nil {
		return selvage.BlobInfo{}, fmt.Errorf("stat blob %q: %w", id, err)
	}
	return out, nil
}

// find looks a blob up and calls read with it.
func (b blobs) find(ctx context.Context, id string, read func(c *conn, key int64, info selvage.BlobInfo) error) error {
	return b.s.read(ctx, func(c *conn) error {
		h, err := selvage.ParseBlobID(id)
		if err != nil {
			return err
		}
		var key int64
		info := selvage.BlobInfo{BlobRef: selvage.BlobRef{ID: id}}
		found, err := c.one(func(r *rows) { key, info.Size, info.PutAt = r.int(0), r.int(1), r.time(2) }, selectBlob, b.s.tenant, h[:])
		if err != nil {
			return err
		}
		if !found {
			return commit.ErrNoBlob
		}
		return read(c, key, info)
	})
}

// Collect implements [selvage.Blobs].
func (b blobs) Collect(ctx context.Context, req selvage.BlobCollect) (report selvage.BlobReport, err error) {
	if err := b.s.enter(ctx); err != nil {
		return report, fmt.Errorf("collect blobs: %w", err)
	}
	defer b.s.leave()
	grace, err := commit.Grace(req)
	if err != nil {
		return report, fmt.Errorf("collect blobs: %w", err)
	}
	var place idleBlob // the last one looked at
	for {
		var found []idleBlob
		err := b.s.writer.do(ctx, b.s.tenant, 0, func(t *txn) (err error) {
			found, err = t.idleBlobs(t.now.Add(-grace), place)
			for i := 0; err == nil && !req.DryRun && i < len(found); i++ {
				err = t.deleteBlob(found[i].key)
			}
			return err
		})
		if err != nil {
			return report, fmt.Errorf("collect blobs: %w", err)
		}
		for _, f := range found {
			report.Blobs, report.Bytes, place = report.Blobs+1, report.Bytes+f.size, f
		}
		if len(found) < collectAtOnce {
			return report, nil
		}
	}
}

// idleBlob is a blob that nothing refers to.
type idleBlob struct{ key, size, put int64 }

// idleBlobs returns some that were put before a time, after a place.
func (t *txn) idleBlobs(before time.Time, place idleBlob) (found []idleBlob, err error) {
	r, err := t.c.query(selectIdle, before.UnixMilli(), place.put, place.key, t.tenant, t.tenant, int64(collectAtOnce))
	if err != nil {
		return nil, err
	}
	for r.next() {
		found = append(found, idleBlob{r.int(0), r.int(1), r.int(2)})
	}
	return found, r.close()
}

func (t *txn) deleteBlob(key int64) error {
	if _, err := t.exec(`DELETE FROM blob_chunks WHERE blob = ?`, key); err != nil {
		return err
	}
	_, err := t.exec(`DELETE FROM blobs WHERE key = ?`, key)
	return err
}
