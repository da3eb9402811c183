package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
)

// tryWithin is try for a set that takes more than one statement: one that names
// a parent, because all such appends of a tenant go one after the other, so that
// two of them cannot close a circle, and one that rewinds.
func (a *attempt) tryWithin(ctx context.Context, within func(context.Context, func(pgx.Tx) error) error) (receipt selvage.Receipt, err error) {
	a.store.heads.drop(a.key)
	var w *write
	wrote := false
	err = within(ctx, func(tx pgx.Tx) error {
		h, plan, first, err := a.judge(ctx, tx)
		if err != nil || first != nil {
			receipt = valueOf(first)
			return err
		}
		if w, err = a.store.newWrite(h, plan, a.request); err != nil {
			return err
		}
		written, err := w.exec(ctx, tx)
		switch {
		case err == nil && !written, err != nil && (judge(err) == duplicate || judge(err) == crossed):
			return errAgain
		case err != nil:
			return err
		}
		wrote, receipt = true, plan.Receipt
		return nil
	})
	switch {
	case err == nil && wrote:
		a.store.remember(a.key, w)
	case err != nil && wrote && ours(err) == nil && uncommitted(err):
		a.lose(err, w)
	}
	return receipt, err
}

// transaction calls do in a transaction that sees the database at one point. A
// head that has moved on since is not one that can be written.
func (s *Store) transaction(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, do)
}

// serialised calls do in a transaction that no other serialised one of the
// tenant runs beside.
func (s *Store) serialised(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := lockHierarchy(ctx, tx, s.tenant); err != nil {
			return err
		}
		return do(tx)
	})
}

// lockHierarchy keeps other serialised transactions of a tenant out until this
// one ends.
func lockHierarchy(ctx context.Context, tx pgx.Tx, tenant string) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::integer, hashtext($2::text))`, int32(hierarchyLock), tenant)
	return err
}

// hierarchyLock is the first key of the advisory locks of tenants; the second
// is the tenant's hash.
const hierarchyLock = 0x53454c48 // "SELH"

func valueOf(r *selvage.Receipt) selvage.Receipt {
	if r == nil {
		return selvage.Receipt{}
	}
	return *r
}
