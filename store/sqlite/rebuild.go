package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// rebuild makes the rows of a thread anew from its log, under the positions
// that it has, and keeps them if they are others than those that are there.
func (t *txn) rebuild(r *repair, l *logged, done *selvage.RepairedThread) error {
	places, err := t.newer(l, r.end)
	if err != nil {
		return err
	}
	log, err := t.readLog(l, places)
	if err != nil {
		return err
	}
	if len(log) == 0 {
		return corrupt(l.id, 1, "the whole log is missing")
	}
	done.Version = log[len(log)-1].Version
	ids, err := idsOf(log)
	if err != nil {
		return err
	}
	before, err := t.views(l, places, ids)
	if err != nil {
		return err
	}
	stray := r.ids[l.key] > before.ids
	return t.tentatively(l, func() (keep bool, err error) {
		if err := t.retake(l, log, places, ids, stray); err != nil {
			return false, err
		}
		after, err := t.views(l, places, ids)
		if err != nil {
			return false, err
		}
		done.Changed = before.differs(after)
		if stray {
			done.Changed = append(done.Changed, "stray ids")
		}
		return len(done.Changed) > 0 && !r.req.DryRun, nil
	})
}

// newer returns the positions of the log, with those of changes that came
// after it was listed.
func (t *txn) newer(l *logged, end int64) ([]int64, error) {
	places := append([]int64(nil), l.places...)
	err := each(t.c, func(r *rows) { places = append(places, r.int(0)) },
		`SELECT pos FROM changes WHERE pos > ? AND thread = ? ORDER BY version`, end, l.key)
	return places, err
}

// readLog reads the changes and proves that they follow each other.
func (t *txn) readLog(l *logged, places []int64) ([]*change, error) {
	h := &head{key: l.key}
	h.Thread.ID, h.Thread.Tenant = l.id, l.tenant
	log := make([]*change, 0, len(places))
	var last *change
	for _, pos := range places {
		ch, err := readChange(t.c, h, pos)
		if err != nil {
			return nil, err
		}
		switch {
		case last == nil && ch.Reason == selvage.ReasonDeleted:
			// What was before it is gone, and it says itself what it follows.
		case last == nil && ch.Version != 1, last != nil && ch.Version != last.Version+1:
			return nil, corrupt(l.id, ch.Version-1, "it is missing from the log")
		case last != nil:
			ch.Prev = last.Hash
		}
		log, last = append(log, ch), ch
	}
	return log, nil
}

// idsOf are the keys of all ids that the log may have claimed.
func idsOf(log []*change) (ids [][2]any, err error) {
	for _, ch := range log {
		ids = append(ids, [2]any{ch.ID, int64(kindChange)})
		messages, err := ch.MessageIDs()
		if err != nil {
			return nil, err
		}
		for _, id := range messages {
			ids = append(ids, [2]any{id, int64(kindMessage)})
		}
	}
	return ids, nil
}

// tentatively does something of which nothing stays unless it says so.
func (t *txn) tentatively(l *logged, do func() (keep bool, err error)) error {
	written, pos := t.written, t.pos
	if _, err := t.c.exec("SAVEPOINT rebuild"); err != nil {
		return err
	}
	keep, err := do()
	t.places, t.pos = nil, pos
	if err != nil || !keep {
		if _, undo := t.c.exec("ROLLBACK TO rebuild"); undo != nil {
			return errors.Join(err, undo)
		}
		t.written = written
	}
	// What was learned of the thread on the way is not to be believed.
	delete(t.changed, threadKey{l.tenant, l.id})
	t.w.store.cache.forget(threadKey{l.tenant, l.id})
	_, release := t.c.exec("RELEASE rebuild")
	return errors.Join(err, release)
}

// retake deletes what there is of a thread but its lease and its deliveries,
// and takes the log in again.
func (t *txn) retake(l *logged, log []*change, places []int64, ids [][2]any, stray bool) error {
	var epoch int64
	if _, err := t.c.one(func(r *rows) { epoch = r.int(0) }, `SELECT epoch FROM threads WHERE key = ?`, l.key); err != nil {
		return err
	}
	if err := t.strip(l, places, ids, stray); err != nil {
		return err
	}
	delete(t.changed, threadKey{l.tenant, l.id})
	t.w.store.cache.forget(threadKey{l.tenant, l.id})
	t.places = append([]int64(nil), places...)
	for _, ch := range log {
		if err := t.take(&ch.Change); err != nil {
			return err
		}
	}
	if len(t.places) > 0 {
		return fmt.Errorf("thread %q: %d changes were passed over: %w", l.id, len(t.places), selvage.ErrCorrupt)
	}
	_, err := t.exec(`UPDATE threads SET epoch = ? WHERE key = ?`, epoch, l.key)
	return err
}

// strip deletes the rows that are made of the log.
func (t *txn) strip(l *logged, places []int64, ids [][2]any, stray bool) error {
	for _, pos := range places {
		if _, err := t.exec(`DELETE FROM changes WHERE pos = ?`, pos); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := t.eraseID(l.key, id[0].(string), id[1].(int64)); err != nil {
			return err
		}
	}
	queries := []string{
		`DELETE FROM marks WHERE thread = ?`, `DELETE FROM runs WHERE thread = ?`, `DELETE FROM calls WHERE thread = ?`,
		`DELETE FROM state_cache WHERE thread = ?`, `DELETE FROM blob_refs WHERE thread = ?`,
		`UPDATE threads SET version = 0, pos = 0, next_seq = 1, hash = x'', updated_at = 0, state_pos = 0, state_version = 0, message_pos = 0,
			deleted = 0, latest_run = NULL, run = NULL, calls = NULL, born = NULL, created_at = 0, parent = '', user = '', title = '',
			metadata = NULL, forked_from = NULL, expires_at = NULL, horizon = 0, rewinds = NULL WHERE key = ?`,
	}
	if stray {
		queries = append(queries, `DELETE FROM ids WHERE thread = ?`)
	}
	for _, query := range queries {
		if _, err := t.exec(query, l.key); err != nil {
			return err
		}
	}
	return nil
}

// views are the rows of a thread that are made of its log, as text.
type views struct {
	names []string
	texts map[string]*strings.Builder
	ids   int64 // how many of the ids of the log are there
}

// viewQueries select the rows of each view, in order, as text. What a tombstone
// still knows of the life before it is not in the log.
var viewQueries = []struct{ name, sql string }{
	{"head", `SELECT quote(version) || ' ' || quote(pos) || ' ' || quote(next_seq) || ' ' || quote(hash) || ' ' || quote(updated_at) || ' ' ||
		quote(state_pos) || ' ' || quote(state_version) || ' ' || quote(message_pos) || ' ' || quote(deleted) || ' ' || quote(latest_run) || ' ' ||
		quote(run) || ' ' || quote(calls) || ' ' || quote(born) || ' ' || quote(CASE WHEN deleted = 0 THEN created_at END) || ' ' || quote(parent) || ' ' || quote(user) || ' ' ||
		quote(title) || ' ' || quote(metadata) || ' ' || quote(forked_from) || ' ' || quote(expires_at) || ' ' || quote(horizon) || ' ' || quote(rewinds)
		FROM threads WHERE key = ?`},
	{"runs", `SELECT quote(key) || ' ' || quote(tenant) || ' ' || quote(id) || ' ' || quote(agent) || ' ' || quote(parent) || ' ' ||
		quote(created_at) || ' ' || quote(open) || ' ' || quote(spec) || ' ' || quote(data) FROM runs WHERE thread = ? ORDER BY key`},
	{"calls", `SELECT quote(id) || ' ' || quote(data) FROM calls WHERE thread = ? ORDER BY id`},
	{"marks", `SELECT quote(version) || ' ' || quote(first_seq) || ' ' || quote(pos) FROM marks WHERE thread = ? ORDER BY version`},
}

// views reads them.
func (t *txn) views(l *logged, places []int64, ids [][2]any) (*views, error) {
	v := &views{names: []string{"head", "runs", "calls", "marks", "links", "ids"}, texts: make(map[string]*strings.Builder)}
	for _, name := range v.names {
		v.texts[name] = &strings.Builder{}
	}
	for _, q := range viewQueries {
		if err := each(t.c, func(r *rows) { v.texts[q.name].WriteString(r.text(0) + "\n") }, q.sql, l.key); err != nil {
			return nil, err
		}
	}
	for _, pos := range places {
		err := each(t.c, func(r *rows) { v.texts["links"].WriteString(r.text(0) + "\n") },
			`SELECT prev || ' ' || state_prev || ' ' || message_prev || ' ' || effect FROM changes WHERE pos = ?`, pos)
		if err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		at := "none"
		found, err := t.c.one(func(r *rows) { at = fmt.Sprint(r.int(0)) }, selectID, idKey(id[0].(string), l.key), l.key, id[1])
		if err != nil {
			return nil, err
		}
		if found {
			v.ids++
		}
		v.texts["ids"].WriteString(at + "\n")
	}
	return v, nil
}

// differs names the views that are not the same.
func (v *views) differs(other *views) (names []string) {
	for _, name := range v.names {
		if v.texts[name].String() != other.texts[name].String() {
			names = append(names, name)
		}
	}
	return names
}

func driverValues(args []any) []driver.Value {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		values[i] = a
	}
	return values
}
