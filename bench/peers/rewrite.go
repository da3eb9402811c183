package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// rewrite is what every home-made store does: the messages of a thread are one
// JSON array in one row, read, appended to and written anew each turn.
type rewrite struct{ row row }

// row keeps the state of threads, one row each.
type row interface {
	open(ctx context.Context, address string) (durability string, err error)
	read(ctx context.Context, thread string) ([]byte, error)
	write(ctx context.Context, thread string, state []byte) error
	close() error
}

// said is a message as such a store has it.
type said struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (r *rewrite) open(ctx context.Context, address string) (string, int, error) {
	durability, err := r.row.open(ctx, address)
	return durability, os.Getpid(), err
}

func (r *rewrite) seed(ctx context.Context, thread string, turns []turn) error {
	var messages []said
	for _, t := range turns {
		messages = append(messages, said{"user", t[0]}, said{"assistant", t[1]})
	}
	state, err := json.Marshal(messages)
	if err != nil {
		return err
	}
	return r.row.write(ctx, thread, state)
}

func (r *rewrite) take(ctx context.Context, thread string, t turn) (cost, error) {
	begin := time.Now()
	messages, err := r.messages(ctx, thread)
	if err != nil {
		return cost{}, err
	}
	loaded := time.Now()
	state, err := json.Marshal(append(messages, said{"user", t[0]}, said{"assistant", t[1]}))
	if err == nil {
		err = r.row.write(ctx, thread, state)
	}
	end := time.Now()
	return cost{write: end.Sub(loaded), load: loaded.Sub(begin), whole: end.Sub(begin)}, err
}

func (r *rewrite) messages(ctx context.Context, thread string) ([]said, error) {
	state, err := r.row.read(ctx, thread)
	if err != nil {
		return nil, err
	}
	var messages []said
	return messages, json.Unmarshal(state, &messages)
}

func (r *rewrite) history(ctx context.Context, thread string) (int, time.Duration, error) {
	begin := time.Now()
	messages, err := r.messages(ctx, thread)
	return len(messages), time.Since(begin), err
}

func (r *rewrite) close() error { return r.row.close() }

type rowInSQLite struct{ db *sql.DB }

func (r *rowInSQLite) open(ctx context.Context, address string) (string, error) {
	db, err := sql.Open("sqlite", "file:"+address+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return "", err
	}
	db.SetMaxOpenConns(1)
	r.db = db
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS threads (id TEXT PRIMARY KEY, state BLOB NOT NULL)`)
	return "WAL, synchronous FULL", err
}

func (r *rowInSQLite) read(ctx context.Context, thread string) (state []byte, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT state FROM threads WHERE id = ?`, thread).Scan(&state)
	return state, err
}

func (r *rowInSQLite) write(ctx context.Context, thread string, state []byte) error {
	_, err := r.db.ExecContext(ctx, `INSERT INTO threads (id, state) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state`, thread, state)
	return err
}

func (r *rowInSQLite) close() error { return r.db.Close() }

type rowInPostgres struct{ conn *pgx.Conn }

func (r *rowInPostgres) open(ctx context.Context, address string) (_ string, err error) {
	if r.conn, err = pgx.Connect(ctx, address); err != nil {
		return "", err
	}
	_, err = r.conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS threads (id text PRIMARY KEY, state jsonb NOT NULL)`)
	return "synchronous_commit on", err
}

func (r *rowInPostgres) read(ctx context.Context, thread string) (state []byte, err error) {
	err = r.conn.QueryRow(ctx, `SELECT state FROM threads WHERE id = $1`, thread).Scan(&state)
	return state, err
}

func (r *rowInPostgres) write(ctx context.Context, thread string, state []byte) error {
	_, err := r.conn.Exec(ctx, `INSERT INTO threads (id, state) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET state = excluded.state`, thread, state)
	return err
}

func (r *rowInPostgres) close() error {
	if r.conn == nil {
		return errors.New("it was never opened")
	}
	return r.conn.Close(context.Background())
}
