package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
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
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := commit.CheckStrategy(strategy); err != nil {
		return err
	}
	return s.writer.do(ctx, s.tenant, 0, func(t *txn) error { return t.delete(id, strategy) })
}

// delete buries a thread and looks after its children.
func (t *txn) delete(id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	e, err := t.head(id)
	if err == nil {
		err = e.readable()
	}
	if err != nil {
		return err
	}
	doomed := []selvage.ThreadID{id}
	for i := 0; i < len(doomed); i++ {
		children, err := t.children(doomed[i])
		if err != nil {
			return err
		}
		switch {
		case strategy == selvage.DeleteCascade:
			doomed = append(doomed, children...)
		case strategy == selvage.DeleteReject && len(children) > 0:
			return &selvage.InvalidError{Field: "strategy",
				Reason: fmt.Sprintf("the thread has children (%d); detach them or cascade to delete them too", len(children))}
		case strategy == selvage.DeleteDetach:
			if err := t.detach(children); err != nil {
				return err
			}
		}
	}
	for _, d := range slices.Backward(doomed) {
		if err := t.bury(d); err != nil {
			return err
		}
	}
	return nil
}

// children returns the children of a thread, the oldest first.
func (t *txn) children(id selvage.ThreadID) (ids []selvage.ThreadID, err error) {
	r, err := t.c.query(`SELECT id FROM threads WHERE tenant = ? AND born IS NOT NULL AND parent <> '' AND parent = ? ORDER BY born`,
		t.tenant, string(id))
	if err != nil {
		return nil, err
	}
	for r.next() {
		ids = append(ids, selvage.ThreadID(r.text(0)))
	}
	return ids, r.close()
}

// detach makes children roots.
func (t *txn) detach(children []selvage.ThreadID) error {
	for _, child := range children {
		r, err := commit.Detach(child)
		if err != nil {
			return err
		}
		if _, err := t.append(r); err != nil {
			return err
		}
	}
	return nil
}

// bury replaces everything there is of a thread by its tombstone.
func (t *txn) bury(id selvage.ThreadID) error {
	e, err := t.head(id)
	if err != nil {
		return err
	}
	plan, err := commit.Delete(id, &e.Head, t.now)
	if err != nil {
		return err
	}
	// The tombstone comes first, so that the position of the store's last
	// change is not given out again.
	pos, err := t.nextPos()
	if err != nil {
		return err
	}
	next := &entry{head: head{Head: plan.Next, key: e.key, pos: pos}, doc: state.Document{}, docKnown: true, seen: t.w.seen}
	if err := t.updateHead(e, next, plan, true); err != nil {
		return err
	}
	if err := t.insertChange(&change{Change: plan.Change, pos: pos, hasPrev: true}, e.key); err != nil {
		return err
	}
	t.pos = pos
	if err := t.erase(e); err != nil {
		return err
	}
	t.changed[next.name()] = next
	return nil
}

// erase deletes the rows that depend on a thread, its tombstone left out.
func (t *txn) erase(e *entry) error {
	if _, err := t.exec(recordsOfThread, e.Thread.Tenant, string(e.Thread.ID)); err != nil {
		return err
	}
	log, err := t.eraseIDs(e)
	if err != nil {
		return err
	}
	for _, pos := range log {
		if _, err := t.exec(`DELETE FROM changes WHERE pos = ?`, pos); err != nil {
			return err
		}
	}
	for _, query := range []string{
		`DELETE FROM marks WHERE thread = ?`,
		`DELETE FROM runs WHERE thread = ?`,
		`DELETE FROM calls WHERE thread = ?`,
		`DELETE FROM outbox WHERE thread = ?`,
		`DELETE FROM blob_refs WHERE thread = ?`,
		`DELETE FROM state_cache WHERE thread = ?`,
		`UPDATE threads SET lease_owner = NULL, lease_token = NULL, lease_until = NULL, ready_at = NULL, rewinds = NULL, horizon = 0 WHERE key = ?`,
	} {
		if _, err := t.exec(query, e.key); err != nil {
			return err
		}
	}
	return nil
}

// eraseIDs deletes the ids of a thread's change sets and messages and returns
// the positions of its changes. The ids are taken from the changes, because
// the table of ids is not ordered by thread; only for a log that cannot be
// read is all of it gone through.
func (t *txn) eraseIDs(e *entry) (log []int64, err error) {
	r, err := t.c.query(walkBack, e.pos, int64(0), int64(e.Thread.Version))
	if err != nil {
		return nil, err
	}
	readable := true
	for err == nil && r.next() {
		log = append(log, r.int(0))
		ch, damage := scanChange(r, &e.head)
		var ids []string
		if damage == nil {
			ids, damage = ch.MessageIDs()
		}
		if damage != nil {
			readable = false
			continue
		}
		err = t.eraseID(e.key, ch.ID, kindChange)
		for i := 0; err == nil && i < len(ids); i++ {
			err = t.eraseID(e.key, ids[i], kindMessage)
		}
	}
	if err = errors.Join(err, r.close()); err != nil || readable {
		return log, err
	}
	_, err = t.exec(`DELETE FROM ids WHERE thread = ?`, e.key)
	return log, err
}

func (t *txn) eraseID(thread int64, id string, kind int64) error {
	_, err := t.exec(`DELETE FROM ids WHERE key = ? AND thread = ? AND kind = ?`, idKey(id, thread), thread, kind)
	return err
}
