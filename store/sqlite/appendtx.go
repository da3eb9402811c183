package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// AppendTx is [Store.Append] with statements of the caller's own in the same
// transaction: both are committed or neither is. It is for tables that the
// caller keeps in the same file, beside those of the store, which are not to be
// written.
//
// It appends first and then calls with, once at most, in the caller's
// goroutine. An error that with returns undoes everything and is returned,
// wrapped; so does a panic, which goes on. A set that is refused, or that was
// appended before, does not lead to a call: what with did then was committed
// together with it, and the receipt says Replayed. Errors are otherwise those
// of Append.
//
// Everybody who writes to this store waits until with returns, and so do other
// processes: it must not take long, and a write to the store from inside it
// would wait for itself. A context that ends while others write means that
// nothing was written; with itself is not interrupted.
func (s *Store) AppendTx(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition, with func(*Tx) error) (selvage.Receipt, error) {
	receipt, err := s.appendTx(ctx, id, set, pre, with)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("append to thread %q: %w", id, err)
	}
	return receipt, nil
}

// errUndone takes a transaction back because of what its caller said.
var errUndone = errors.New("taken back by its caller")

func (s *Store) appendTx(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition, with func(*Tx) error) (receipt selvage.Receipt, err error) {
	if err := s.enter(ctx); err != nil {
		return receipt, err
	}
	defer s.leave()
	r, err := commit.NewRequest(id, set, pre)
	if err != nil {
		return receipt, err
	}
	var refused error
	err = s.writer.alone(ctx, s.tenant, func(t *txn) (err error) {
		if receipt, err = t.append(r); err != nil || receipt.Replayed {
			return err
		}
		tx := &Tx{t: t, receipt: receipt}
		defer func() { tx.t = nil }()
		if refused = with(tx); refused != nil {
			return errUndone
		}
		return nil
	})
	if refused != nil {
		return receipt, refused
	}
	return receipt, err
}

// alone is do for a request that gets a transaction of its own, and runs in
// the goroutine of its caller.
func (w *writer) alone(ctx context.Context, tenant string, run func(*txn) error) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return cancelled(ctx)
	}
	r := &request{run: run, tenant: tenant, done: make(chan struct{})}
	ended := false
	defer func() {
		if !ended { // run panicked
			w.abandon()
		}
		<-w.turn
	}()
	w.group = append(w.group[:0], r)
	begun := w.begin(ctx)
	if begun != nil && ctx.Err() != nil {
		r.answer(cancelled(ctx))
	} else {
		w.commit(w.group, begun)
	}
	clear(w.group)
	w.chores.afterGroup()
	ended = true
	return r.err
}
