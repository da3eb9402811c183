package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/selvagehq/selvage"
)

// Inspect implements [selvage.Inspector]. The bytes are those of the database
// and of its write-ahead log.
func (s *Store) Inspect(ctx context.Context) (selvage.StoreInfo, error) {
	info := selvage.StoreInfo{Backend: "sqlite", Durability: string(s.opts.Durability), Schema: schemaVersion}
	err := s.read(ctx, func(c *conn) error {
		for _, q := range inspections {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := c.one(func(r *rows) { q.into(&info, r) }, q.sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		info.Bytes, err = s.fileBytes()
	}
	if err != nil {
		return selvage.StoreInfo{}, fmt.Errorf("inspect database %s: %w", s.path, err)
	}
	return info, nil
}

// inspections are the statements that count, and where what they find goes.
var inspections = []struct {
	sql  string
	into func(*selvage.StoreInfo, *rows)
}{
	{`SELECT 'SQLite ' || sqlite_version(), (SELECT value FROM meta WHERE key = 'generation')`,
		func(i *selvage.StoreInfo, r *rows) { i.Engine, i.Generation = r.text(0), r.int(1) }},
	{`SELECT count(*) FILTER (WHERE born IS NOT NULL), count(*) FILTER (WHERE deleted = 1) FROM threads`,
		func(i *selvage.StoreInfo, r *rows) { i.Threads, i.Tombstones = r.int(0), r.int(1) }},
	{`SELECT count(*), coalesce(sum(added), 0), coalesce(sum(coalesce(length(rest), 0) + coalesce(length(messages), 0)), 0),
		coalesce(sum(CASE WHEN effect > 0 THEN coalesce(length(rest), 0) ELSE 0 END), 0) FROM changes`,
		func(i *selvage.StoreInfo, r *rows) {
			i.Changes, i.Messages, i.BodyBytes, i.StateBytes = r.int(0), r.int(1), r.int(2), r.int(3)
		}},
	{`SELECT count(*), coalesce(sum(open), 0) FROM runs`,
		func(i *selvage.StoreInfo, r *rows) { i.Runs, i.OpenRuns = r.int(0), r.int(1) }},
	{`SELECT coalesce(sum(length(doc)), 0) FROM state_cache`,
		func(i *selvage.StoreInfo, r *rows) { i.CacheBytes = r.int(0) }},
	{`SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size`,
		func(i *selvage.StoreInfo, r *rows) { i.Free = r.int(0) }},
}

// fileBytes is the size of the files of the database.
func (s *Store) fileBytes() (total int64, err error) {
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(s.path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, fmt.Errorf("%w: %w", selvage.ErrUnavailable, err)
		default:
			total += info.Size()
		}
	}
	return total, nil
}
