package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// querier is what a pool, a connection and a transaction have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// retries is how often a call that may be repeated is tried again when the
// connection broke or others got in its way.
const retries = 3

// retry calls do, which must be safe to repeat, until the database answers.
func (s *Store) retry(ctx context.Context, what string, do func(context.Context) error) error {
	for n := 0; ; n++ {
		err := do(ctx)
		if err == nil || n == retries || ctx.Err() != nil || !s.heal(err) {
			return fault(ctx, what, err)
		}
	}
}

// heal sees to it that the next attempt meets working connections, and reports
// whether one is worth it. An error that is not the driver's is final.
func (s *Store) heal(err error) bool {
	if ours(err) != nil {
		return false
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return false // it was tried just now
	}
	switch judge(err) {
	case crossed:
		return true
	case unprepared:
		if s.plain.CompareAndSwap(false, true) {
			s.log.Info("prepared statements do not outlive a transaction here, as behind a pooler; going on without them")
		}
		s.pool.Reset()
		return true
	case unsent, lost:
		// What broke one connection, a restart say, broke its neighbours.
		s.pool.Reset()
		return true
	default:
		return false
	}
}

// snapshot calls read with a transaction that sees the database at one point
// and writes nothing. Read is repeated if the connection breaks.
func (s *Store) snapshot(ctx context.Context, what string, read func(pgx.Tx) error) error {
	return s.retry(ctx, what, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, read)
	})
}

// list calls read, each of whose queries sees the database at a point of its
// own. Read is repeated if the connection breaks.
func (s *Store) list(ctx context.Context, what string, read func(querier) error) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.retry(ctx, what, func(context.Context) error { return read(s.pool) })
}
