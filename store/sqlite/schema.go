package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/selvagehq/selvage"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// schemaVersion is the number of the last migration, which it leaves in
	// the file's header.
	schemaVersion = 1
	// applicationID marks a file as ours ("Selv").
	applicationID = 1399155830
)

// header is what the head of a database file says about it.
type header struct {
	schema, application, tables int64
}

func readHeader(c *conn) (h header, err error) {
	_, err = c.one(func(r *rows) { h = header{r.int(0), r.int(1), r.int(2)} },
		`SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
			(SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('goose_db_version', 'sqlite_sequence'))`)
	return h, err
}

// check reports whether the schema is the one this program knows. If it is
// older it has to be migrated; any other database is refused untouched.
func (h header) check(path string) (current bool, err error) {
	switch {
	case h.application != applicationID && (h.application != 0 || h.schema != 0 || h.tables != 0):
		return false, &selvage.InvalidError{Field: "path", Reason: path + " is a SQLite database of another program"}
	case h.schema > schemaVersion:
		return false, fmt.Errorf("database %s has schema version %d, and this program knows versions up to %d; use a newer one: %w",
			path, h.schema, schemaVersion, selvage.ErrUnsupported)
	default:
		return h.schema == schemaVersion, nil
	}
}

// migrate brings the schema up to date, unless it is. Several processes may do
// so at once: who comes second finds the work done.
func migrate(ctx context.Context, path string, c *conn, opts Options) error {
	deadline := time.Now().Add(max(opts.BusyTimeout, time.Second))
	for wait := time.Millisecond; ; wait *= 2 {
		h, err := readHeader(c)
		if err != nil {
			return err
		}
		current, err := h.check(path)
		if current || err != nil {
			return err
		}
		err = runMigrations(ctx, path, opts)
		if err == nil {
			continue // and see that it is so
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("migrate the schema from version %d to %d: %w", h.schema, schemaVersion, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func runMigrations(ctx context.Context, path string, opts Options) (err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	pool, err := opts.drive.pool(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	// One connection, so that the migrations see what they made.
	pool.SetMaxOpenConns(1)
	// Later commits then cost one flush each.
	if _, err := pool.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, pool, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	applied, err := provider.Up(ctx)
	for _, m := range applied {
		opts.Logger.LogAttrs(ctx, slog.LevelInfo, "schema migrated", slog.String("database", path),
			slog.Int64("version", m.Source.Version), slog.Duration("took", m.Duration))
	}
	return err
}
