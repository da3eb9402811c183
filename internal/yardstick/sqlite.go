package yardstick

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// SQLite is that engine alone: rows of a body, unique by thread and version,
// in a file of its own. It uses the driver as the store does, below
// database/sql, with prepared statements, and checkpoints as SQLite does when
// it is let. It is not safe for concurrent use.
type SQLite struct {
	conn                  driver.Conn
	insert, begin, commit driver.StmtExecContext
	args                  []driver.NamedValue
	versions              []int64
}

// OpenSQLite makes the file. Synchronous is what a commit waits for, as
// SQLite's pragma names it: FULL, NORMAL or OFF.
func OpenSQLite(ctx context.Context, path, synchronous string, threads int) (*SQLite, error) {
	connector, err := sqlite.NewConnector("file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(" + synchronous + ")")
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	r := &SQLite{conn: conn, versions: make([]int64, threads), args: []driver.NamedValue{{Ordinal: 1}, {Ordinal: 2}, {Ordinal: 3}}}
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return r, nil
}

func (r *SQLite) prepare(ctx context.Context) error {
	exec, ok := r.conn.(driver.ExecerContext)
	if !ok {
		return fmt.Errorf("%T executes nothing", r.conn)
	}
	if _, err := exec.ExecContext(ctx,
		"CREATE TABLE changes (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (thread, version))", nil); err != nil {
		return err
	}
	for query, stmt := range map[string]*driver.StmtExecContext{
		"INSERT INTO changes (thread, version, body) VALUES (?, ?, ?)": &r.insert,
		"BEGIN IMMEDIATE": &r.begin,
		"COMMIT":          &r.commit,
	} {
		prepared, err := r.conn.Prepare(query)
		if err != nil {
			return err
		}
		if *stmt, ok = prepared.(driver.StmtExecContext); !ok {
			return fmt.Errorf("%T executes nothing", prepared)
		}
	}
	return nil
}

// Put inserts the next row of a thread, the threads being 0 and up.
func (r *SQLite) Put(ctx context.Context, thread int, body []byte) error {
	r.versions[thread]++
	r.args[0].Value, r.args[1].Value, r.args[2].Value = int64(thread), r.versions[thread], body
	_, err := r.insert.ExecContext(ctx, r.args)
	return err
}

// PutAll inserts n rows in one transaction, into all threads by turns.
func (r *SQLite) PutAll(ctx context.Context, n int, body []byte) error {
	if _, err := r.begin.ExecContext(ctx, nil); err != nil {
		return err
	}
	for i := range n {
		if err := r.Put(ctx, i%len(r.versions), body); err != nil {
			return err
		}
	}
	_, err := r.commit.ExecContext(ctx, nil)
	return err
}

// Close closes the file.
func (r *SQLite) Close() error { return r.conn.Close() }
