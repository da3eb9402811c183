package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/selvagehq/selvage"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrationTable is where the versions of the schema are recorded.
const migrationTable = "selvage.migrations"

// migrationLock is the advisory lock that those who migrate hold. It ends with
// its transaction, so it works through a pooler.
const migrationLock = 0x53454c56 // "SELV"

// migrate brings the schema up to date, unless it is or is to be kept.
func (s *Store) migrate(ctx context.Context, keep bool) error {
	latest, err := latestSchema()
	if err != nil {
		return err
	}
	current, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	switch {
	case current == latest:
		return nil
	case current > latest:
		return fmt.Errorf("the database has schema %d and this program knows up to %d; use a newer program: %w", current, latest, selvage.ErrUnsupported)
	case keep && current == 0:
		return fmt.Errorf("the database holds no store yet: %w", selvage.ErrNotFound)
	case keep:
		return fmt.Errorf("the database has schema %d and this program needs %d; migrate it first: %w", current, latest, selvage.ErrUnsupported)
	}
	return s.retry(ctx, "migrate the schema", s.migrateLocked)
}

// latestSchema returns the version of the schema that this program knows.
func latestSchema() (latest int64, err error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	for _, name := range names {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("read the migrations: %w", err)
		}
		latest = max(latest, n)
	}
	return latest, err
}

// schemaVersion returns the version of the schema, 0 if there is none.
func (s *Store) schemaVersion(ctx context.Context) (version int64, err error) {
	err = s.retry(ctx, "read the version of the schema", func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+migrationTable+` WHERE is_applied`).Scan(&version)
		var pg *pgconn.PgError
		if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000") { // no such table, no such schema
			return nil
		}
		return err
	})
	return version, err
}

// migrateLocked migrates while a transaction of another connection keeps
// everybody else from doing so.
func (s *Store) migrateLocked(ctx context.Context) error {
	provider, closeDB, err := s.provider()
	if err != nil {
		return err
	}
	defer closeDB()
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::bigint)`, int64(migrationLock)); err != nil {
			return err
		}
		// Asked first, because IF NOT EXISTS needs the right to create even if it does.
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT to_regnamespace('selvage') IS NOT NULL`).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			// Elsewhere, because the migrations do not see what is not committed.
			if _, err := s.pool.Exec(ctx, `CREATE SCHEMA selvage`); err != nil {
				return err
			}
		}
		results, err := provider.Up(ctx)
		for _, r := range results {
			s.log.LogAttrs(ctx, slog.LevelInfo, "schema migrated", slog.Int64("schema", r.Source.Version), slog.Duration("took", r.Duration))
		}
		return err
	})
}

// provider returns what applies the migrations, through a connection of its
// own that prepares no statements: they would be of no use. It serves for one
// attempt: what it has once found out it does not look up again.
func (s *Store) provider() (*goose.Provider, func(), error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, nil, err
	}
	config := s.pool.Config().ConnConfig
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(1)
	p, err := goose.NewProvider(goose.DialectPostgres, db, dir, goose.WithTableName(migrationTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read the migrations: %w", err), db.Close())
	}
	return p, func() { _ = db.Close() }, nil // nothing is under way that could be lost
}
