package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"
)

// reference is the engine alone: rows of a body, unique by thread and version,
// in a file of its own. It uses the driver as the store does, below
// database/sql, with prepared statements, and checkpoints as SQLite does when
// it is let.
type reference struct {
	path                  string
	conn                  driver.Conn
	insert, begin, commit driver.StmtExecContext
	args                  []driver.NamedValue
	versions              []int64
}

func openReference(path string, threads int) (*reference, error) {
	connector, err := sqlite.NewConnector("file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	r := &reference{path: path, conn: conn, versions: make([]int64, threads),
		args: []driver.NamedValue{{Ordinal: 1}, {Ordinal: 2}, {Ordinal: 3}}}
	exec, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, fmt.Errorf("%T executes nothing", conn)
	}
	if _, err := exec.ExecContext(context.Background(),
		"CREATE TABLE changes (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (thread, version))", nil); err != nil {
		return nil, err
	}
	for query, stmt := range map[string]*driver.StmtExecContext{
		"INSERT INTO changes (thread, version, body) VALUES (?, ?, ?)": &r.insert,
		"BEGIN IMMEDIATE": &r.begin,
		"COMMIT":          &r.commit,
	} {
		prepared, err := conn.Prepare(query)
		if err != nil {
			return nil, err
		}
		if *stmt, ok = prepared.(driver.StmtExecContext); !ok {
			return nil, fmt.Errorf("%T executes nothing", prepared)
		}
	}
	return r, nil
}

// put inserts the next row of a thread.
func (r *reference) put(thread int, body []byte) error {
	r.versions[thread]++
	r.args[0].Value, r.args[1].Value, r.args[2].Value = int64(thread), r.versions[thread], body
	_, err := r.insert.ExecContext(context.Background(), r.args)
	return err
}

// together runs f in one transaction.
func (r *reference) together(f func() error) error {
	if _, err := r.begin.ExecContext(context.Background(), nil); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	_, err := r.commit.ExecContext(context.Background(), nil)
	return err
}

func (r *reference) close() error {
	err := r.conn.Close()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if rm := os.Remove(r.path + suffix); !errors.Is(rm, os.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}
	return err
}
