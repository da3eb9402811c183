package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage/internal/pgtest"
)

// place is where a contestant keeps what it is given, and nobody else.
type place interface {
	create(ctx context.Context) error
	// address is the path of the database file, or the URL of the database.
	address() string
	// stored is what is kept there, in bytes. Nobody writes to it meanwhile.
	stored(ctx context.Context) (int64, error)
	// written is how many bytes have been written since some point, by the
	// process if the place is a file.
	written(ctx context.Context, pid int) (int64, error)
	remove() error
}

// file is a SQLite database in a directory of its own.
type file struct{ parent, dir string }

func (f *file) create(context.Context) (err error) {
	f.dir, err = os.MkdirTemp(f.parent, "selvage-peers-*")
	return err
}

func (f *file) address() string { return filepath.Join(f.dir, "store.db") }

// stored is the size of the whole file after a checkpoint that leaves nothing
// in the log.
func (f *file) stored(ctx context.Context) (int64, error) {
	db, err := sql.Open("sqlite", "file:"+f.address())
	if err != nil {
		return 0, err
	}
	if err := errors.Join(truncate(ctx, db), db.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(f.address())
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// truncate puts the log of a database back into its file. A store that puts its
// log back at the same time is waited for: SQLite does not.
func truncate(ctx context.Context, db *sql.DB) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		var busy, logged, moved int
		err := db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &logged, &moved)
		switch {
		case err != nil:
			return struct{}{}, backoff.Permanent(err)
		case busy != 0:
			return struct{}{}, errors.New("somebody reads the file, and its log cannot be put back")
		}
		return struct{}{}, nil
	}, backoff.WithBackOff(backoff.NewConstantBackOff(20*time.Millisecond)), backoff.WithMaxElapsedTime(10*time.Second))
	return err
}

// written is what the process has given the kernel to write.
func (f *file) written(_ context.Context, pid int) (int64, error) {
	io, err := os.Open(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, fmt.Errorf("the bytes a process writes are only counted on Linux: %w", err)
	}
	defer func() { _ = io.Close() }() // it was only read
	for lines := bufio.NewScanner(io); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "wchar: "); ok {
			return strconv.ParseInt(text, 10, 64)
		}
	}
	return 0, errors.New("the kernel does not tell what a process writes")
}

func (f *file) remove() error { return os.RemoveAll(f.dir) }

// database is one of a PostgreSQL server.
type database struct {
	cluster *pgtest.Cluster
	url     string
}

func (d *database) create(context.Context) (err error) {
	d.url, err = d.cluster.Create("")
	return err
}

func (d *database) address() string { return d.url }

// stored is the size of the database. Nothing is vacuumed but by the server
// itself.
func (d *database) stored(ctx context.Context) (n int64, err error) {
	err = d.ask(ctx, `SELECT pg_database_size(current_database())`, &n)
	return n, err
}

// written is what the server has written to its log. Nobody else uses it.
func (d *database) written(ctx context.Context, _ int) (n int64, err error) {
	err = d.ask(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`, &n)
	return n, err
}

func (d *database) ask(ctx context.Context, query string, n *int64) error {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return err
	}
	err = conn.QueryRow(ctx, query).Scan(n)
	return errors.Join(err, conn.Close(ctx))
}

func (d *database) remove() error {
	if d.url == "" {
		return nil // it was never created
	}
	return d.cluster.Drop(d.url)
}
