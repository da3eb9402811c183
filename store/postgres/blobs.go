package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

const (
	// blobChunk is the size of the rows a blob is kept in.
	blobChunk = 256 << 10
	// collectAtOnce bounds the blobs that one transaction deletes.
	collectAtOnce = 16
)

// blobs is the capability [selvage.Blobs] of a store. Its clock is the
// database's.
type blobs struct{ s *Store }

var _ selvage.Blobs = blobs{}

// Put implements [selvage.Blobs].
func (b blobs) Put(ctx context.Context, r io.Reader) (selvage.BlobRef, error) {
	ref, err := b.put(ctx, r)
	if err != nil {
		return selvage.BlobRef{}, fmt.Errorf("put a blob: %w", err)
	}
	return ref, nil
}

func (b blobs) put(ctx context.Context, r io.Reader) (ref selvage.BlobRef, err error) {
	leave, err := b.s.enter(ctx)
	if err != nil {
		return ref, err
	}
	defer leave()
	content, err := commit.ReadBlob(ctx, r)
	if err != nil {
		return ref, err
	}
	ref = selvage.BlobRef{ID: selvage.BlobID(content), Size: int64(len(content))}
	id, err := selvage.ParseBlobID(ref.ID)
	if err != nil {
		return ref, err
	}
	return ref, b.s.retry(ctx, "put a blob", func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.s.pool, func(tx pgx.Tx) error { return b.insert(ctx, tx, id, content) })
	})
}

// insert writes a blob, or notes that it was put again.
func (b blobs) insert(ctx context.Context, tx pgx.Tx, id selvage.Hash, content []byte) error {
	var fresh bool
	err := tx.QueryRow(ctx, `INSERT INTO selvage.blobs AS b (tenant, id, size, put_at) VALUES ($1::text, $2::bytea, $3::bigint, date_trunc('milliseconds', now()))
		ON CONFLICT (tenant, id) DO UPDATE SET put_at = excluded.put_at RETURNING xmax = 0`, b.s.tenant, id[:], len(content)).Scan(&fresh)
	if err != nil || !fresh {
		return err
	}
	for n := 0; len(content) > 0; n++ {
		size := min(len(content), blobChunk)
		if _, err := tx.Exec(ctx, `INSERT INTO selvage.blob_chunks (tenant, id, n, data) VALUES ($1::text, $2::bytea, $3::integer, $4::bytea)`,
			b.s.tenant, id[:], n, content[:size]); err != nil {
			return err
		}
		content = content[size:]
	}
	return nil
}

// Open implements [selvage.Blobs].
func (b blobs) Open(ctx context.Context, id string) (io.ReadCloser, error) {
	content := []byte{}
	_, err := b.find(ctx, id, func(tx pgx.Tx, h selvage.Hash, size int64) error {
		content = make([]byte, 0, size)
		rows, err := tx.Query(ctx, `SELECT data FROM selvage.blob_chunks WHERE tenant = $1::text AND id = $2::bytea ORDER BY n`, b.s.tenant, h[:])
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var data []byte
			if err := rows.Scan(&data); err != nil {
				return err
			}
			content = append(content, data...)
		}
		return rows.Err()
	})
	var out io.ReadCloser
	if err == nil {
		out, err = commit.OpenBlob(id, content)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob %q: %w", id, err)
	}
	return out, nil
}

// Stat implements [selvage.Blobs].
func (b blobs) Stat(ctx context.Context, id string) (selvage.BlobInfo, error) {
	refs := 0
	info, err := b.find(ctx, id, func(tx pgx.Tx, h selvage.Hash, _ int64) error {
		return tx.QueryRow(ctx, `SELECT count(*) FROM selvage.blob_refs WHERE tenant = $1::text AND blob = $2::bytea`, b.s.tenant, h[:]).Scan(&refs)
	})
	if err != nil {
		return selvage.BlobInfo{}, fmt.Errorf("stat blob %q: %w", id, err)
	}
	info.References = refs
	return info, nil
}

// find looks a blob up and calls read in the transaction it was found in.
func (b blobs) find(ctx context.Context, id string, read func(tx pgx.Tx, h selvage.Hash, size int64) error) (selvage.BlobInfo, error) {
	info := selvage.BlobInfo{BlobRef: selvage.BlobRef{ID: id}}
	err := b.s.read(ctx, "read a blob", func(tx pgx.Tx) error {
		h, err := selvage.ParseBlobID(id)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `SELECT size, put_at FROM selvage.blobs WHERE tenant = $1::text AND id = $2::bytea`, b.s.tenant, h[:]).Scan(&info.Size, &info.PutAt)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return commit.ErrNoBlob
		case err != nil:
			return err
		}
		info.PutAt = info.PutAt.UTC().Truncate(selvage.TimePrecision)
		return read(tx, h, info.Size)
	})
	return info, err
}

// Collect implements [selvage.Blobs].
func (b blobs) Collect(ctx context.Context, req selvage.BlobCollect) (selvage.BlobReport, error) {
	report, err := b.collect(ctx, req)
	if err != nil {
		return report, fmt.Errorf("collect blobs: %w", err)
	}
	return report, nil
}

func (b blobs) collect(ctx context.Context, req selvage.BlobCollect) (report selvage.BlobReport, err error) {
	leave, err := b.s.enter(ctx)
	if err != nil {
		return report, err
	}
	defer leave()
	grace, err := commit.Grace(req)
	if err != nil {
		return report, err
	}
	place := idleBlob{id: []byte{}}
	for {
		var found, gone []idleBlob
		err := b.s.retry(ctx, "collect blobs", func(ctx context.Context) error {
			return pgx.BeginFunc(ctx, b.s.pool, func(tx pgx.Tx) (err error) {
				found, err = b.idle(ctx, tx, grace, place)
				if gone = found; err == nil && !req.DryRun {
					gone, err = b.remove(ctx, tx, found)
				}
				return err
			})
		})
		if err != nil {
			return report, err
		}
		for _, f := range gone {
			report.Blobs, report.Bytes = report.Blobs+1, report.Bytes+f.size
		}
		if len(found) < collectAtOnce {
			return report, nil
		}
		place = found[len(found)-1]
	}
}

// idleBlob is a blob that nothing refers to.
type idleBlob struct {
	tenant string
	id     []byte
	size   int64
}

// idle locks some blobs that nothing refers to, after a place. One that is
// locked cannot be referred to before the transaction ends; one that an append
// refers to at this moment is passed over.
func (b blobs) idle(ctx context.Context, tx pgx.Tx, grace time.Duration, place idleBlob) ([]idleBlob, error) {
	rows, err := tx.Query(ctx, `SELECT b.tenant, b.id, b.size FROM selvage.blobs b
		WHERE b.put_at <= now() - $1::bigint * interval '1 millisecond' AND (b.tenant, b.id) > ($2::text, $3::bytea) AND ($4::text = '' OR b.tenant = $4::text)
		AND NOT EXISTS (SELECT FROM selvage.blob_refs r WHERE r.tenant = b.tenant AND r.blob = b.id)
		ORDER BY b.tenant, b.id LIMIT $5::bigint FOR UPDATE OF b SKIP LOCKED`, grace.Milliseconds(), place.tenant, place.id, b.s.tenant, collectAtOnce)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (f idleBlob, err error) {
		return f, row.Scan(&f.tenant, &f.id, &f.size)
	})
}

// remove deletes blobs that are locked, unless somebody has come to refer to
// them between the look and the lock.
func (b blobs) remove(ctx context.Context, tx pgx.Tx, found []idleBlob) (gone []idleBlob, err error) {
	for _, f := range found {
		tag, err := tx.Exec(ctx, `DELETE FROM selvage.blobs b WHERE b.tenant = $1::text AND b.id = $2::bytea
			AND NOT EXISTS (SELECT FROM selvage.blob_refs r WHERE r.tenant = b.tenant AND r.blob = b.id)`, f.tenant, f.id)
		if err != nil {
			return nil, err
		}
		if tag.RowsAffected() > 0 {
			gone = append(gone, f)
		}
	}
	return gone, nil
}

// insertRefs notes which blobs the messages of a change refer to. The foreign
// key keeps them from being collected.
func (w *write) insertRefs() {
	if len(w.plan.Blobs) == 0 {
		return
	}
	w.sql.WriteString(`, bi AS (INSERT INTO selvage.blob_refs (tenant, thread, version, blob) SELECT $1::text, $2::bytea, `)
	w.arg(int64(w.plan.Change.Version), "bigint")
	w.sql.WriteString(", unnest(")
	w.arg(hashSlices(w.plan.Blobs), "bytea[]")
	w.sql.WriteString(") FROM h)")
}

func hashSlices(in []selvage.Hash) [][]byte {
	out := make([][]byte, len(in))
	for i := range in {
		out[i] = in[i][:]
	}
	return out
}

// referAgain notes what a change that lost messages still refers to.
func (s *Store) referAgain(b *pgx.Batch, c *selvage.Change) error {
	ids, err := commit.BlobsOf(c)
	if err != nil {
		return err
	}
	b.Queue(`DELETE FROM selvage.blob_refs WHERE tenant = $1::text AND thread = $2::bytea AND version = $3::bigint AND NOT blob = ANY($4::bytea[])`,
		s.tenant, packID(string(c.ThreadID)), int64(c.Version), hashSlices(ids))
	return nil
}
