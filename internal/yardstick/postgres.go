package yardstick

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Postgres is that engine alone: rows of a body, unique by thread and version,
// in a table of their own. It uses the driver and a pool of it as the store
// does, with prepared statements. Several threads may be written at once, each
// by one caller.
type Postgres struct {
	pool     *pgxpool.Pool
	names    []string
	versions []int64
}

// OpenPostgres makes the table, yardstick.changes, in the database of the URL.
func OpenPostgres(ctx context.Context, url string, names []string) (*Postgres, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	// A body is kept as it came, as the store does it.
	for _, sql := range []string{`DROP SCHEMA IF EXISTS yardstick CASCADE`, `CREATE SCHEMA yardstick`,
		`CREATE TABLE yardstick.changes (thread text NOT NULL, version bigint NOT NULL, body bytea NOT NULL, UNIQUE (thread, version))`,
		`ALTER TABLE yardstick.changes ALTER body SET STORAGE EXTERNAL`} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			pool.Close()
			return nil, err
		}
	}
	return &Postgres{pool: pool, names: names, versions: make([]int64, len(names))}, nil
}

// Put inserts the next row of a thread, the threads being 0 and up.
func (r *Postgres) Put(ctx context.Context, thread int, body []byte) error {
	r.versions[thread]++
	_, err := r.pool.Exec(ctx, `INSERT INTO yardstick.changes (thread, version, body) VALUES ($1, $2, $3)`, r.names[thread], r.versions[thread], body)
	return err
}

// Settings are those of the server that say what a commit survives, and its
// version.
func (r *Postgres) Settings(ctx context.Context) (map[string]string, error) {
	settings := make(map[string]string)
	for _, name := range []string{"server_version", "fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := r.pool.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value); err != nil {
			return nil, err
		}
		settings[name] = value
	}
	return settings, nil
}

// Stored is what the tables of a schema take in the database's files, with
// their indexes, in bytes: after a checkpoint where that is allowed, and
// without a vacuum, so that what updates left behind counts.
func (r *Postgres) Stored(ctx context.Context, schema string) (int64, error) {
	_, refused := r.pool.Exec(ctx, `CHECKPOINT`) // sizes are those of the files with or without it
	var stored *int64
	err := r.pool.QueryRow(ctx, `SELECT sum(pg_total_relation_size(c.oid))::bigint
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`, schema).Scan(&stored)
	switch {
	case err != nil:
		return 0, errors.Join(err, refused)
	case stored == nil:
		return 0, nil
	}
	return *stored, nil
}

// Close closes the connections.
func (r *Postgres) Close() { r.pool.Close() }

// TemporaryDatabase creates an empty database, whose name begins with
// "selvage_bench_", on the server of a URL, and returns its URL and what drops
// it, with all who are connected to it. Nothing else on the server is touched.
func TemporaryDatabase(ctx context.Context, server string) (database string, drop func(context.Context) error, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, errors.New("the URL cannot be read") // it may hold a password, and so may the cause
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never fails
	name := "selvage_bench_" + hex.EncodeToString(id[:])
	exec := func(ctx context.Context, sql string) error {
		conn, err := pgx.Connect(ctx, server)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, sql)
		return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	drop = func(ctx context.Context) error { return exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") }
	if err := exec(ctx, "CREATE DATABASE "+name); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(err, drop(context.WithoutCancel(ctx))) // it may be there all the same
		}
		return "", nil, err
	}
	query := u.Query()
	query.Del("dbname") // these would count more than the path
	query.Del("database")
	u.Path, u.RawQuery = "/"+name, query.Encode()
	return u.String(), drop, nil
}
