package sqlite

import (
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

// txn is a transaction of the writer. Nobody else can write until it ends, so
// what is read in it stays true.
type txn struct {
	w       *writer
	c       *conn
	tenant  string // of the member that runs now
	now     time.Time
	written int64   // rows, those undone again left out
	pos     int64   // of the last change of the store; -1: not read yet
	places  []int64 // what the next changes are given, before new positions; for a log that is taken in again
	// changed are the threads as they will be after the commit.
	changed map[threadKey]*entry
}

// begin prepares for the members of a group.
func (t *txn) begin(c *conn) error {
	if err := t.w.store.probe.at(afterBegin); err != nil {
		return err
	}
	version, err := c.dataVersion()
	if err != nil {
		return err
	}
	if version != t.w.version {
		t.w.forget()
	}
	if t.changed == nil {
		t.changed = make(map[threadKey]*entry)
	}
	clear(t.changed)
	if t.c != c || version != t.w.version {
		t.pos = -1
	}
	// Heads read from here on are as true as this version, also if nothing gets
	// written. Versions of two connections do not compare: after a new one was
	// opened the old number must not be found again.
	t.w.version = version
	t.c, t.now, t.written = c, t.w.store.opts.Now(), 0
	return nil
}

// publish lets the cache know what the commit made true.
func (t *txn) publish() error {
	version, err := t.c.dataVersion()
	if err != nil {
		return err
	}
	t.w.version = version
	t.w.store.tally.groups.Add(1)
	for _, e := range t.changed {
		t.w.store.cache.put(e)
	}
	t.w.store.watch.committed(t.changed)
	return nil
}

// exec runs a statement that writes, and counts its rows.
func (t *txn) exec(query string, args ...driver.Value) (int64, error) {
	n, _, err := t.insert(query, args...)
	return n, err
}

func (t *txn) insert(query string, args ...driver.Value) (n, id int64, err error) {
	n, id, err = t.c.insert(query, args...)
	t.written += n
	t.w.store.tally.rows.Add(n)
	return n, id, err
}

// head returns a thread as it is at this point of the transaction. One without
// a row has no key.
func (t *txn) head(id selvage.ThreadID) (*entry, error) {
	if e := t.changed[threadKey{t.tenant, id}]; e != nil {
		return e, nil
	}
	cached := t.w.store.cache.get(threadKey{t.tenant, id})
	if cached != nil && cached.seen == t.w.seen {
		return cached, nil
	}
	h, err := readHead(t.c, t.tenant, id)
	if err != nil {
		return nil, err
	}
	e := &entry{head: h, seen: t.w.seen}
	if cached != nil && cached.Hash == h.Hash && cached.Thread.Version == h.Thread.Version {
		e.doc, e.docKnown, e.tail = cached.doc, cached.docKnown, cached.tail
	}
	if h.key != 0 {
		t.w.store.cache.put(e)
	}
	return e, nil
}

// remember keeps what was found out about a thread.
func (t *txn) remember(e *entry) {
	if t.changed[e.name()] != nil {
		t.changed[e.name()] = e
		return
	}
	t.w.store.cache.put(e)
}

// nextPos returns the position of the next change of the store. Positions are
// never used twice: the last change of all is never deleted, only followed.
func (t *txn) nextPos() (int64, error) {
	if len(t.places) > 0 {
		pos := t.places[0]
		t.places = t.places[1:]
		return pos, nil
	}
	if t.pos < 0 {
		found, err := t.c.one(func(r *rows) { t.pos = r.int(0) }, lastPosition)
		if err != nil {
			return 0, err
		}
		if !found {
			return 0, fmt.Errorf("the last position: %w", errNoRow)
		}
	}
	return t.pos + 1, nil
}
