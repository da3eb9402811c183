package sqlite

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	pageSize = 4096 // bytes, SQLite's default

	// checkpointAfter is how many pages are written to the log before they are
	// copied to the database. The log then starts over in place, which costs
	// the disk less than growing does.
	checkpointAfter = 8 << 20 / pageSize

	// longLog is the length of the log, in pages, from which it is cut.
	longLog = 64 << 20 / pageSize

	// idleAfter is how long nothing has to happen before chores are done that
	// can wait.
	idleAfter = 250 * time.Millisecond
)

// chores are what is done beside appends: checkpoints, and cached state
// documents. Their goroutine takes its turn at the writer like anybody.
type chores struct {
	w     *writer
	due   chan struct{} // holds a token when something cannot wait
	soon  chan struct{} // holds a token when something can
	quit  chan struct{}
	done  chan struct{} // closed when the goroutine has ended
	last  atomic.Int64  // when a group was last committed, in Unix nanoseconds
	wipes atomic.Bool   // the log holds what was erased, and is to be cut

	mu   sync.Mutex // guards docs
	docs map[threadKey]struct{}

	pages int // written since the log was last copied; belongs to who has the turn
}

func startChores(w *writer) *chores {
	c := &chores{w: w, due: make(chan struct{}, 1), soon: make(chan struct{}, 1), quit: make(chan struct{}),
		done: make(chan struct{}), docs: make(map[threadKey]struct{})}
	go c.work()
	return c
}

// stop ends the goroutine. What was left to do is lost, which costs time only.
func (c *chores) stop() {
	close(c.quit)
	<-c.done
}

// poke leaves a token, if there is none.
func poke(tokens chan struct{}) {
	select {
	case tokens <- struct{}{}:
	default:
	}
}

// keepDoc has the document of a thread cached when there is time.
func (c *chores) keepDoc(id threadKey) {
	c.mu.Lock()
	c.docs[id] = struct{}{}
	c.mu.Unlock()
	poke(c.soon)
}

// afterGroup counts what a group wrote. It is called by who has the turn.
func (c *chores) afterGroup() {
	if c.w.conn == nil {
		return
	}
	n, err := c.w.conn.pagesWritten()
	if err != nil {
		c.w.warn("pages not counted", err)
	}
	c.w.store.tally.pages.Add(int64(n))
	if c.pages += n; c.pages == 0 {
		return
	}
	c.last.Store(time.Now().UnixNano())
	poke(c.soon)
	if c.pages >= checkpointAfter {
		poke(c.due)
	}
}

func (c *chores) work() {
	defer close(c.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	soon := c.soon // nil while the timer runs
	for {
		select {
		case <-c.quit:
			return
		case <-c.due:
			c.atTurn(c.checkpoint)
		case <-soon:
			soon = nil
			timer.Reset(idleAfter)
		case <-timer.C:
			if c.wipes.Load() {
				c.atTurn(c.retryWipe) // however busy it is
			}
			if left := idleAfter - time.Duration(time.Now().UnixNano()-c.last.Load()); left > 0 {
				timer.Reset(left)
				continue
			}
			soon = c.soon
			c.atTurn(c.rest)
		}
	}
}

// atTurn does something when it is the goroutine's turn.
func (c *chores) atTurn(do func()) {
	select {
	case c.w.turn <- struct{}{}:
		do()
		<-c.w.turn
	case <-c.quit:
	}
}

// rest does what could wait for a quiet moment.
func (c *chores) rest() {
	c.saveDocs()
	if c.wipes.Load() {
		c.retryWipe()
	}
	if c.pages > 0 {
		c.checkpoint()
	}
}

// saveDocs caches the documents whose threads grew a long tail.
func (c *chores) saveDocs() {
	c.mu.Lock()
	var group []*request
	for id := range c.docs {
		group = append(group, &request{done: make(chan struct{}), tenant: id.tenant, run: func(t *txn) error { return t.saveDoc(id.id) }})
	}
	clear(c.docs)
	c.mu.Unlock()
	if len(group) == 0 {
		return
	}
	c.w.commit(group, c.w.begin(background()))
	for _, r := range group {
		if r.err != nil {
			c.w.warn("state document not cached", r.err)
		}
	}
	c.afterGroup()
}

// checkpoint copies the log to the database, and gives pages back. It never
// waits for readers or for other processes: what is left is copied next time.
func (c *chores) checkpoint() {
	if c.w.conn == nil {
		return
	}
	c.pages = 0
	c.w.store.tally.checkpoints.Add(1)
	c.w.conn.tally = nil // what an append costs is to be seen in the counts
	defer func() { c.w.conn.tally = &c.w.store.tally }()
	blocked, length, copied := c.copyLog("PASSIVE")
	if length >= longLog && !blocked && copied == length {
		c.copyLog("TRUNCATE")
	}
	if _, err := c.w.conn.exec("PRAGMA shrink_memory"); err != nil {
		c.w.warn("memory not given back", err)
	}
}

// The log is cut after an erasure at once if no reader is in the way for long.
const (
	wipeTries = 20
	wipeWait  = 2 * time.Millisecond
)

// wipe sees to it that nothing that was erased stays in the log.
func (c *chores) wipe() {
	c.wipes.Store(true)
	c.atTurn(func() {
		for range wipeTries {
			if c.cut() {
				return
			}
			time.Sleep(wipeWait)
		}
	})
	if c.wipes.Load() {
		poke(c.soon)
	}
}

// retryWipe tries again to cut the log, and once more later if it cannot.
func (c *chores) retryWipe() {
	if !c.cut() {
		poke(c.soon)
	}
}

// cut copies the log to the database and empties its file, and reports whether
// it could.
func (c *chores) cut() bool {
	if c.w.conn == nil {
		return false // the next one to be opened is asked again
	}
	blocked, length, _ := c.copyLog("TRUNCATE")
	if blocked || length != 0 {
		return false
	}
	c.pages = 0
	c.wipes.Store(false)
	return true
}

// copyLog runs a checkpoint and returns how many pages the log has, and how
// many of them are now in the database.
func (c *chores) copyLog(mode string) (blocked bool, length, copied int64) {
	_, err := c.w.conn.one(func(r *rows) { blocked, length, copied = r.int(0) != 0, r.int(1), r.int(2) }, "PRAGMA wal_checkpoint("+mode+")")
	if err != nil && !busy(err) {
		c.w.warn("log not copied to the database", err)
	}
	return blocked, length, copied
}
