package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// AppendTx is [Store.Append] inside a transaction of the caller's, so that rows
// of the caller's own and the thread's change are committed together or not at
// all. The transaction must be one of the database that the store is in; it may
// come from any connection to it.
//
// The receipt counts once the caller has committed. Until then nobody else sees
// the change, and whoever else appends to the thread waits, this process too.
// If the commit is not answered, append the same set again, in or out of a
// transaction: it tells whether the change is there.
//
// Errors are those of Append. A set that is refused leaves the transaction as
// it was, open for more. In a transaction that is not READ COMMITTED a thread
// that was written after the transaction began matches [selvage.ErrConflict]:
// roll it back and run it again; and a set that names a parent matches
// [selvage.ErrUnsupported], because such a transaction cannot see the parents
// of this moment. An error matching [selvage.ErrUnavailable] means that nothing
// was written, and often that the transaction is lost.
func (s *Store) AppendTx(ctx context.Context, tx pgx.Tx, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	receipt, err := s.appendTx(ctx, tx, id, set, pre)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("append to thread %q: %w", id, err)
	}
	return receipt, nil
}

func (s *Store) appendTx(ctx context.Context, tx pgx.Tx, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return selvage.Receipt{}, err
	}
	defer leave()
	request, err := commit.NewRequest(id, set, pre)
	if err != nil {
		return selvage.Receipt{}, err
	}
	a := &attempt{store: s, request: request, key: threadKey{s.tenant, id}, thread: packID(string(id))}
	for range attempts {
		var receipt selvage.Receipt
		// A transaction in a transaction is a savepoint, to which it returns
		// when the set is refused.
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) (err error) {
			receipt, err = a.inside(ctx, tx)
			return err
		})
		switch {
		case err == nil:
			return receipt, nil
		case errors.Is(err, pgx.ErrTxClosed):
			return selvage.Receipt{}, fmt.Errorf("the transaction is over: %w", selvage.ErrClosed)
		case serialization(err):
			return selvage.Receipt{}, errSnapshot
		case !errors.Is(err, errAgain):
			return selvage.Receipt{}, fault(ctx, "append", err)
		}
		// Somebody else was faster, which only a transaction that sees what
		// was committed meanwhile can make up for.
		if fresh, err := readsCommitted(ctx, tx); err != nil {
			return selvage.Receipt{}, fault(ctx, "append", err)
		} else if !fresh {
			return selvage.Receipt{}, errSnapshot
		}
	}
	return selvage.Receipt{}, fmt.Errorf("other writers were faster %d times: %w", attempts, selvage.ErrUnavailable)
}

// errSnapshot is the answer to a transaction that sees the thread as it no
// longer is.
var errSnapshot = fmt.Errorf("the thread was written after the transaction began; roll it back and run it again: %w", selvage.ErrConflict)

// serialization reports whether the server says that the transaction sees too
// old a state of the database.
func serialization(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "40001"
}

// readsCommitted reports whether each statement of the transaction sees what
// was committed before it.
func readsCommitted(ctx context.Context, tx pgx.Tx) (bool, error) {
	var level string
	err := tx.QueryRow(ctx, `SELECT current_setting('transaction_isolation')`).Scan(&level)
	return level == "read committed" || level == "read uncommitted", err
}

// inside judges the request and writes it, in a transaction that goes on.
// Nothing of it is remembered: it may yet be rolled back.
func (a *attempt) inside(ctx context.Context, tx pgx.Tx) (selvage.Receipt, error) {
	if u := a.request.Set.Thread; u != nil && u.ParentID != nil {
		if err := a.lockParents(ctx, tx); err != nil {
			return selvage.Receipt{}, err
		}
	}
	// What is read below is read by several statements, each of which may see
	// more than the one before. Locked, the thread stays what it is.
	if _, err := tx.Exec(ctx, `SELECT FROM selvage.threads t WHERE t.tenant = $1::text AND t.thread = $2::bytea FOR NO KEY UPDATE`,
		a.key.tenant, a.thread); err != nil {
		return selvage.Receipt{}, err
	}
	h, plan, first, err := a.judge(ctx, tx)
	if err != nil || first != nil {
		return valueOf(first), err
	}
	w, err := a.store.newWrite(h, plan, a.request)
	if err != nil {
		return selvage.Receipt{}, err
	}
	written, err := w.exec(ctx, tx)
	switch {
	case err == nil && !written, err != nil && judge(err) == duplicate:
		return selvage.Receipt{}, errAgain
	case err != nil:
		return selvage.Receipt{}, err
	}
	return plan.Receipt, nil
}

// lockParents keeps other changes of parents of the tenant out until the
// transaction ends, see [Store.serialised].
func (a *attempt) lockParents(ctx context.Context, tx pgx.Tx) error {
	fresh, err := readsCommitted(ctx, tx)
	if err != nil {
		return err
	}
	if !fresh {
		return fmt.Errorf("a parent is set in a READ COMMITTED transaction: %w", selvage.ErrUnsupported)
	}
	return lockHierarchy(ctx, tx, a.store.tenant)
}
