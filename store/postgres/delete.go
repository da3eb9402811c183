package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// Delete implements [selvage.Store].
func (s *Store) Delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	if err := s.delete(ctx, id, strategy); err != nil {
		return fmt.Errorf("delete thread %q: %w", id, err)
	}
	return nil
}

func (s *Store) delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := commit.CheckStrategy(strategy); err != nil {
		return err
	}
	failures, d := 0, &deletion{store: s, strategy: strategy}
	for n := range attempts {
		if n > retries {
			if err := pause(ctx, n); err != nil {
				return err
			}
		}
		d.tombstone = selvage.Change{}
		err := s.serialised(ctx, func(tx pgx.Tx) error { return d.run(ctx, tx, id) })
		d.forget()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errAgain):
			continue
		case ours(err) != nil:
			return err
		}
		if uncommitted(err) && d.tombstone.Version > 0 {
			d.sent = append(d.sent, d.tombstone)
		}
		if failures++; failures > retries || !s.heal(err) {
			if len(d.sent) > 0 {
				return d.unanswered(describe(err))
			}
			return fault(ctx, "delete", err)
		}
	}
	return fmt.Errorf("other writers were faster %d times: %w", attempts, selvage.ErrUnavailable)
}

// deletion is the deletion of a thread and what goes with it, until it is
// answered.
type deletion struct {
	store     *Store
	strategy  selvage.DeleteStrategy
	touched   []selvage.ThreadID
	tombstone selvage.Change   // that this attempt wrote for the thread itself
	sent      []selvage.Change // those of attempts that were not answered
}

// unanswered is the error of a deletion of which nobody can tell what became.
func (d *deletion) unanswered(why string) error {
	return fmt.Errorf("it was sent and not answered; load the thread to learn what became of it (%s): %w", why, selvage.ErrUnknownOutcome)
}

// happened reports whether an attempt that was not answered has deleted the
// thread after all. Nobody else's deletion will do: the thread may have come
// back since, and is then to stay. An attempt is over by now, because it held
// the lock that this one waited for.
func (d *deletion) happened(ctx context.Context, tx pgx.Tx, id selvage.ThreadID, h *head) (bool, error) {
	for i := range d.sent {
		var there bool
		c := &d.sent[i]
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM selvage.changes WHERE tenant = $1::text AND thread = $2::bytea AND version = $3::bigint AND hash = $4::bytea)`,
			d.store.tenant, packID(string(id)), int64(c.Version), c.Hash[:]).Scan(&there)
		if err != nil || there {
			return there, err
		}
		if h.tombstone > int64(c.Version) || h.Deleted && h.Thread.Version > c.Version {
			return false, d.unanswered("it was deleted again since")
		}
	}
	return false, nil
}

// forget drops what is remembered of the threads that were written, and wakes
// who waits for news of them.
func (d *deletion) forget() {
	for _, id := range d.touched {
		key := threadKey{d.store.tenant, id}
		d.store.heads.drop(key)
		d.store.watch.committed(key)
	}
}

func (d *deletion) run(ctx context.Context, tx pgx.Tx, id selvage.ThreadID) error {
	h, _, err := d.store.readHead(ctx, tx, id, "")
	if err != nil {
		return err
	}
	if done, err := d.happened(ctx, tx, id, h); err != nil || done {
		return err
	}
	if err := h.missing(id); err != nil {
		return err
	}
	children, err := d.children(ctx, tx, []selvage.ThreadID{id})
	if err != nil {
		return err
	}
	doomed := []selvage.ThreadID{id}
	switch {
	case d.strategy == selvage.DeleteReject && len(children) > 0:
		return &selvage.InvalidError{Field: "strategy",
			Reason: fmt.Sprintf("the thread has children (%d); detach them or cascade to delete them too", len(children))}
	case d.strategy == selvage.DeleteCascade:
		for level := children; len(level) > 0; {
			doomed = append(doomed, level...)
			if level, err = d.children(ctx, tx, level); err != nil {
				return err
			}
		}
	case d.strategy == selvage.DeleteDetach:
		for _, child := range children {
			if err := d.detach(ctx, tx, child); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Backward(doomed) {
		if err := d.bury(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// children returns the children of threads.
func (d *deletion) children(ctx context.Context, tx pgx.Tx, parents []selvage.ThreadID) ([]selvage.ThreadID, error) {
	keys := make([][]byte, len(parents))
	for i, id := range parents {
		keys[i] = packID(string(id))
	}
	rows, err := tx.Query(ctx, `SELECT t.thread FROM selvage.threads t WHERE t.tenant = $1::text AND t.parent = ANY($2::bytea[]) AND t.born > 0 ORDER BY t.thread`,
		d.store.tenant, keys)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (selvage.ThreadID, error) {
		var key []byte
		err := row.Scan(&key)
		return selvage.ThreadID(unpackID(key)), err
	})
}

// detach makes a child a root.
func (d *deletion) detach(ctx context.Context, tx pgx.Tx, child selvage.ThreadID) error {
	request, err := commit.Detach(child)
	if err != nil {
		return err
	}
	h, _, err := d.store.readHead(ctx, tx, child, "")
	if err != nil {
		return err
	}
	l := &lookup{ctx: ctx, store: d.store, from: tx, thread: packID(string(child)), head: h}
	plan, err := request.Judge(&h.Head, l, d.store.now())
	if err != nil {
		return err
	}
	w, err := d.store.newWrite(h, plan, request)
	if err != nil {
		return err
	}
	return d.exec(ctx, tx, w)
}

// exec writes one change.
func (d *deletion) exec(ctx context.Context, tx pgx.Tx, w *write) error {
	d.touched = append(d.touched, w.plan.Change.ThreadID)
	written, err := w.exec(ctx, tx)
	if err == nil && !written {
		return errAgain
	}
	return err
}

// bury replaces a thread by its tombstone.
func (d *deletion) bury(ctx context.Context, tx pgx.Tx, id selvage.ThreadID) error {
	s := d.store
	h, _, err := s.readHead(ctx, tx, id, "")
	if err != nil {
		return err
	}
	plan, err := commit.Delete(id, &h.Head, s.now())
	if err != nil {
		return err
	}
	d.tombstone = plan.Change // the thread itself is buried last
	// The head first: its row is what writers wait for.
	if err := d.exec(ctx, tx, s.newTombstone(h, plan)); err != nil {
		return err
	}
	return d.clear(ctx, tx, id, plan.Change.Version)
}

// clear deletes the rows that depend on a thread, its tombstone left out.
func (d *deletion) clear(ctx context.Context, tx pgx.Tx, id selvage.ThreadID, tombstone selvage.Version) error {
	s, thread, version := d.store, packID(string(id)), int64(tombstone)
	if err := s.forgetRecords(ctx, tx, id); err != nil {
		return err
	}
	for _, sql := range [...]string{
		`DELETE FROM selvage.changes WHERE tenant = $1::text AND thread = $2::bytea AND version < $3::bigint`,
		`DELETE FROM selvage.runs WHERE tenant = $1::text AND thread = $2::bytea AND version < $3::bigint`,
		`DELETE FROM selvage.state_cache WHERE tenant = $1::text AND thread = $2::bytea AND version < $3::bigint`,
		`DELETE FROM selvage.outbox WHERE tenant = $1::text AND thread = $2::bytea AND version < $3::bigint`,
		`DELETE FROM selvage.blob_refs WHERE tenant = $1::text AND thread = $2::bytea AND version < $3::bigint`,
	} {
		if _, err := tx.Exec(ctx, sql, s.tenant, thread, version); err != nil {
			return err
		}
	}
	for _, sql := range [...]string{
		`DELETE FROM selvage.message_ids WHERE tenant = $1::text AND thread = $2::bytea`,
		`DELETE FROM selvage.calls WHERE tenant = $1::text AND thread = $2::bytea`,
	} {
		if _, err := tx.Exec(ctx, sql, s.tenant, thread); err != nil {
			return err
		}
	}
	return nil
}

// newTombstone turns the plan of a deletion into a statement.
func (s *Store) newTombstone(h *head, plan *commit.Plan) *write {
	w := &write{store: s, from: h, plan: plan, next: &head{Head: plan.Next}}
	w.key()
	w.sql.WriteString("WITH h AS (UPDATE selvage.threads t SET ord = greatest(t.ord, " + place + `), deleted = true, born = 0, state_version = 0,
		open_run = NULL, run = NULL, calls = NULL, parent = NULL, user_id = NULL, info = NULL, expires_at = NULL, ready_at = NULL, rewinds = NULL,
		horizon = 0, lease_owner = NULL, lease_token = NULL, lease_took = NULL, lease_until = NULL, epoch = t.epoch + 1`)
	w.set("version", int64(plan.Next.Thread.Version), "bigint")
	w.set("next_seq", plan.Next.NextSeq, "bigint")
	w.set("updated_at", plan.Next.Thread.UpdatedAt.UnixMilli(), "bigint")
	w.set("hash", plan.Next.Hash[:], "bytea")
	w.sql.WriteString(" WHERE t.tenant = $1::text AND t.thread = $2::bytea")
	w.guard()
	w.sql.WriteString(" RETURNING t.ord)")
	w.insertChange(effectNone)
	w.sql.WriteString(" SELECT ord FROM h")
	return w
}
