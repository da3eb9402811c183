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

// migrate brings the schema up to date, unless it is.
func (s *Store) migrate(ctx context.Context) error {
	provider, closeDB, err := s.provider()
	if err != nil {
		return err
	}
	defer closeDB()
	sources := provider.ListSources()
	latest := sources[len(sources)-1].Version
	current, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	if current > latest {
		return fmt.Errorf("the database has schema %d and this program knows up to %d; use a newer program: %w", current, latest, selvage.ErrUnsupported)
	}
	if current == latest {
		return nil
	}
	return s.retry(ctx, "migrate the schema", func(ctx context.Context) error { return s.migrateLocked(ctx, provider) })
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
func (s *Store) migrateLocked(ctx context.Context, provider *goose.Provider) error {
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

// provider returns what applies the migrations, through the pool.
func (s *Store) provider() (*goose.Provider, func() error, error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, nil, err
	}
	db := stdlib.OpenDBFromPool(s.pool)
	p, err := goose.NewProvider(goose.DialectPostgres, db, dir, goose.WithTableName(migrationTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read the migrations: %w", err), db.Close())
	}
	return p, db.Close, nil
}
