package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// eraser implements [selvage.Eraser].
type eraser struct{ s *Store }

// Erase implements [selvage.Eraser]. The rows that held the content are
// replaced, and no statement sees the old ones any more; their bytes go when
// the database vacuums the table changes and its TOAST table, by itself in time
// or by VACUUM at once, and from the write-ahead log when its segments are used
// again. Archived segments, replicas and backups are the caller's.
//
// The log of the thread is read through, and appends to the thread wait until
// that is done.
func (e eraser) Erase(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
	receipt, err := e.s.eraseMessages(ctx, id, req)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("erase messages of thread %q: %w", id, err)
	}
	return receipt, nil
}

func (s *Store) eraseMessages(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return selvage.Receipt{}, err
	}
	defer leave()
	e, err := commit.NewErasure(id, req)
	if err != nil {
		return selvage.Receipt{}, err
	}
	a := &erasing{store: s, what: e, key: threadKey{s.tenant, id}}
	pass, err := s.gates.enter(ctx, a.key)
	if err != nil {
		return selvage.Receipt{}, err
	}
	defer pass()
	return a.run(ctx)
}

// erasing is one erasure until it is answered.
type erasing struct {
	store *Store
	what  *commit.Erasure
	key   threadKey
	sent  *selvage.Hash // what a transaction without an answer would have made
}

func (a *erasing) run(ctx context.Context) (receipt selvage.Receipt, err error) {
	defer a.store.heads.drop(a.key)
	for n := 0; ; n++ {
		var w *write
		err = pgx.BeginFunc(ctx, a.store.pool, func(tx pgx.Tx) (err error) {
			receipt, w, err = a.try(ctx, tx)
			return err
		})
		switch {
		case err == nil:
			if a.sent != nil && receipt.Hash == *a.sent {
				receipt.Replayed = false // it is what this call sent and got no answer to
			}
			return receipt, nil
		case ours(err) != nil:
			return selvage.Receipt{}, err
		case ctx.Err() != nil:
			return selvage.Receipt{}, ctx.Err()
		}
		if w != nil && uncommitted(err) {
			a.sent = &w.plan.Change.Hash
		}
		if n == retries || !errors.Is(err, errAgain) && !a.store.heal(err) {
			return selvage.Receipt{}, a.fault(ctx, err)
		}
	}
}

// fault is the error of an erasure that the database did not answer.
func (a *erasing) fault(ctx context.Context, err error) error {
	if a.sent == nil {
		return fault(ctx, "erase", err)
	}
	return fmt.Errorf("erasure %q was sent and not answered; ask for it again with the same id to learn what became of it (%s): %w",
		a.what.ID, describe(err), selvage.ErrUnknownOutcome)
}

// try erases in a transaction. It returns what it wrote, if it did.
func (a *erasing) try(ctx context.Context, tx pgx.Tx) (receipt selvage.Receipt, w *write, err error) {
	a.what.Again()
	s, thread := a.store, packID(string(a.key.id))
	// Whoever writes to the thread waits from here on, a compaction too.
	_, err = tx.Exec(ctx, `SELECT FROM selvage.threads WHERE tenant = $1::text AND thread = $2::bytea FOR UPDATE`, s.tenant, thread)
	if err != nil {
		return receipt, nil, err
	}
	h, first, err := s.readHead(ctx, tx, a.key.id, a.what.ID)
	if err != nil {
		return receipt, nil, err
	}
	if first != 0 {
		c, err := s.readChange(ctx, tx, a.key.id, first)
		if err != nil {
			return receipt, nil, err
		}
		receipt, err = a.what.Replay(&c)
		return receipt, nil, err
	}
	if err := a.what.Admit(&h.Head); err != nil {
		return receipt, nil, err
	}
	reduced, err := a.reduce(ctx, tx, h)
	if err != nil {
		return receipt, nil, err
	}
	plan, err := a.what.Plan(&h.Head, s.now())
	if err != nil {
		return receipt, nil, err
	}
	if w, err = s.newWrite(h, plan, &commit.Request{}); err != nil {
		return receipt, nil, err
	}
	written, err := w.exec(ctx, tx)
	switch {
	case err == nil && !written, err != nil && judge(err) == duplicate:
		return receipt, nil, errAgain
	case err != nil:
		return receipt, nil, err
	}
	return plan.Receipt, w, s.rewrite(ctx, tx, reduced)
}

// reduce reads the log and returns the changes that lose something, without it.
func (a *erasing) reduce(ctx context.Context, tx pgx.Tx, h *head) ([]rewritten, error) {
	rows, err := tx.Query(ctx, `SELECT `+changeColumns+` FROM selvage.changes c
		WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.version > $3::bigint AND c.messages IS NOT NULL ORDER BY c.version`,
		a.key.tenant, packID(string(a.key.id)), h.tombstone)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var reduced []rewritten
	for rows.Next() {
		var row changeRow
		if err := rows.Scan(row.targets()...); err != nil {
			return nil, err
		}
		c, err := row.change(a.key.id)
		if err != nil {
			return nil, err
		}
		loses, err := a.what.Take(&c)
		if err != nil {
			return nil, err
		}
		if loses {
			reduced = append(reduced, rewritten{c, row.effect})
		}
	}
	return reduced, rows.Err()
}

// rewriteChange replaces what a change has lost. The head of its thread must be
// locked.
const rewriteChange = `UPDATE selvage.changes SET salt = $4::bytea, sizes = $5::bytea, rest = $6::bytea, messages = $7::bytea, effect = $8::smallint
	WHERE tenant = $1::text AND thread = $2::bytea AND version = $3::bigint`

// rewritten is a change of the log that lost something, and its effect on the
// state as it is now.
type rewritten struct {
	selvage.Change
	effect int16
}

// rewrite writes changes of the log anew that lost something.
func (s *Store) rewrite(ctx context.Context, tx pgx.Tx, changes []rewritten) error {
	if len(changes) == 0 {
		return nil
	}
	var b pgx.Batch
	for i := range changes {
		c := &changes[i]
		sizes, messages := packMessages(c.Messages)
		var rest []byte
		if len(c.Rest) > len(emptyRest) {
			rest = c.Rest
		}
		b.Queue(rewriteChange, s.tenant, packID(string(c.ThreadID)), int64(c.Version), c.Seal(), sizes, rest, messages, c.effect)
		if len(c.Erased()) > 0 {
			if err := s.referAgain(&b, &c.Change); err != nil {
				return err
			}
		}
	}
	return tx.SendBatch(ctx, &b).Close()
}

// readChange reads the change of a version, and proves its content.
func (s *Store) readChange(ctx context.Context, q querier, id selvage.ThreadID, v int64) (selvage.Change, error) {
	var row changeRow
	err := q.QueryRow(ctx, `SELECT `+changeColumns+` FROM selvage.changes c
		WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.version = $3::bigint`, s.tenant, packID(string(id)), v).Scan(row.targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return selvage.Change{}, damaged(id, v, "it is missing")
	}
	if err != nil {
		return selvage.Change{}, err
	}
	return row.change(id)
}
