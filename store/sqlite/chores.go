package sqlite

import (
	"log/slog"
	"time"

	"github.com/selvagehq/selvage"
)

const (
	pageSize = 4096 // bytes, SQLite's default

	// checkpointAfter is how many pages the writer writes to the log before it
	// copies them to the database. The log then starts over in place, which
	// costs the disk less than growing does.
	checkpointAfter = 8 << 20 / pageSize

	// longLog is the length of the log, in pages, from which it is cut.
	longLog = 64 << 20 / pageSize

	// idleAfter is how long nothing has to happen before chores are done.
	idleAfter = 250 * time.Millisecond
)

// chores are what the writer does beside appends: checkpoints, and cached
// state documents. They belong to its goroutine.
type chores struct {
	w     *writer
	pages int // written since the log was last copied
	docs  map[selvage.ThreadID]struct{}
	last  time.Time // when a group was last committed
	timer *time.Timer
	armed bool
}

// keepDoc notes that a thread's document is worth caching when there is time.
func (c *chores) keepDoc(id selvage.ThreadID) {
	if c.docs == nil {
		c.docs = make(map[selvage.ThreadID]struct{})
	}
	c.docs[id] = struct{}{}
}

// afterGroup does what cannot wait and sees to the rest later.
func (c *chores) afterGroup() {
	if c.w.conn == nil {
		return
	}
	n, err := c.w.conn.pagesWritten()
	if err != nil {
		c.complain("pages not counted", err)
	}
	if c.pages += n; c.pages >= checkpointAfter {
		c.checkpoint()
	}
	if c.last = time.Now(); !c.armed && (c.pages > 0 || len(c.docs) > 0) {
		c.arm(idleAfter)
	}
}

func (c *chores) arm(d time.Duration) {
	if c.timer == nil {
		c.timer = time.NewTimer(d)
	} else {
		c.timer.Reset(d)
	}
	c.armed = true
}

// idle is ready when chores may be due. It is nil if there are none.
func (c *chores) idle() <-chan time.Time {
	if !c.armed {
		return nil
	}
	return c.timer.C
}

// rest does the chores, if nothing happened for a while.
func (c *chores) rest() {
	c.armed = false
	if left := idleAfter - time.Since(c.last); left > 0 {
		c.arm(left)
		return
	}
	c.saveDocs()
	if c.pages > 0 && c.w.conn != nil {
		c.checkpoint()
	}
}

func (c *chores) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
}

// saveDocs caches the documents whose threads grew a long tail.
func (c *chores) saveDocs() {
	if len(c.docs) == 0 {
		return
	}
	var group []*request
	for id := range c.docs {
		group = append(group, &request{done: make(chan struct{}), run: func(t *txn) error { return t.saveDoc(id) }})
	}
	clear(c.docs)
	c.w.commit(group)
	for _, r := range group {
		if r.err != nil {
			c.complain("state document not cached", r.err)
		}
	}
	if n, err := c.w.conn.pagesWritten(); err == nil {
		c.pages += n
	}
}

// checkpoint copies the log to the database. It never waits for readers or
// for other processes: what is left is copied next time.
func (c *chores) checkpoint() {
	mode := "PRAGMA wal_checkpoint(PASSIVE)"
	for {
		var blocked, length, copied int64
		_, err := c.w.conn.one(func(r *rows) { blocked, length, copied = r.int(0), r.int(1), r.int(2) }, mode)
		if err != nil && !busy(err) {
			c.complain("log not copied to the database", err)
		}
		c.pages = 0
		c.w.store.tally.checkpoints.Add(1)
		if length < longLog || mode != "PRAGMA wal_checkpoint(PASSIVE)" || blocked != 0 || copied < length {
			return
		}
		mode = "PRAGMA wal_checkpoint(TRUNCATE)"
	}
}

func (c *chores) complain(what string, err error) {
	c.w.store.opts.Logger.LogAttrs(background(), slog.LevelWarn, what, slog.String("database", c.w.store.path), slog.Any("error", err))
}
