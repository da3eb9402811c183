package sqlite

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of a group: what is committed, and forced to the disk, together.
const (
	maxGroup      = 256     // requests
	maxGroupBytes = 1 << 20 // of bodies
)

// request is something to be done in a transaction. The writer answers it
// after the commit.
type request struct {
	// run does it. It is called again if the transaction it ran in could not
	// be committed because of another request. An error that matches no class
	// of the contract is taken for a fault of the engine.
	run   func(*txn) error
	bytes int

	state atomic.Int32 // one of the following
	err   error        // the answer
	done  chan struct{}
}

const (
	queued int32 = iota
	running
	left // by its caller
)

// start claims the request for the writer, unless its caller left.
func (r *request) start() bool { return r.state.CompareAndSwap(queued, running) }

// answer lets the caller go on.
func (r *request) answer(err error) {
	r.err = err
	close(r.done)
}

// writer owns the one connection that writes. Its goroutine takes what is
// queued and commits it as one transaction; there is no waiting for more, and
// while one group is forced to the disk the next one gathers.
type writer struct {
	store *Store
	wake  chan struct{} // holds a token when there may be something to do
	done  chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex // guards the following
	queue  []*request
	closed bool

	// The rest belongs to the goroutine.
	conn    *conn // nil after a failed commit, until it is opened anew
	txn     txn
	errs    []error // of a group, to be used again

	idStatements [idsAtOnce + 1]string
	chores  chores
	version uint32 // of the file's data, as of our last commit
	seen    uint64 // how often the file was found changed by somebody else
	closing error
}

func startWriter(s *Store, c *conn) *writer {
	w := &writer{store: s, conn: c, wake: make(chan struct{}, 1), done: make(chan struct{}), seen: 1}
	w.txn.w, w.chores.w = w, w
	go w.work()
	return w
}

// do has run done in a transaction and waits until it is committed. A caller
// whose context ends while the request still waits leaves the queue.
func (w *writer) do(ctx context.Context, bytes int, run func(*txn) error) error {
	r := &request{run: run, bytes: bytes, done: make(chan struct{})}
	if !w.enqueue(r) {
		return w.store.errClosed()
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(queued, left) {
		return cancelled(ctx)
	}
	<-r.done
	return r.err
}

func (w *writer) enqueue(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, r)
	if len(w.queue) == 1 {
		w.poke()
	}
	return true
}

// poke wakes the goroutine if it sleeps.
func (w *writer) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// close lets the goroutine finish what is queued, and waits for it.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.poke()
	w.mu.Unlock()
	<-w.done
	return w.closing
}

// next takes a group from the queue.
func (w *writer) next(into []*request) (group []*request, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, bytes := 0, 0
	for n < len(w.queue) && n < maxGroup && (n == 0 || bytes+w.queue[n].bytes <= maxGroupBytes) {
		bytes += w.queue[n].bytes
		n++
	}
	group = append(into, w.queue[:n]...)
	rest := copy(w.queue, w.queue[n:])
	clear(w.queue[rest:])
	w.queue = w.queue[:rest]
	return group, w.closed
}

func (w *writer) work() {
	defer close(w.done)
	var group []*request
	for {
		var closed bool
		if group, closed = w.next(group[:0]); len(group) > 0 {
			w.commit(group)
			clear(group)
			w.chores.afterGroup()
			continue
		}
		if closed {
			w.closing = w.shut()
			return
		}
		select {
		case <-w.wake:
		case <-w.chores.idle():
			w.chores.rest()
		}
	}
}

// shut ends the connection.
func (w *writer) shut() error {
	w.chores.stop()
	if w.conn == nil {
		return nil
	}
	return w.conn.close()
}

// commit runs a group in one transaction and answers its members. If one
// spoils the transaction, each gets one of its own.
func (w *writer) commit(group []*request) {
	n := 0
	for _, r := range group {
		if r.start() {
			group[n] = r
			n++
		}
	}
	group = group[:n]
	if n == 0 || w.tryGroup(group) {
		return
	}
	for i := range group {
		if one := group[i : i+1]; !w.tryGroup(one) {
			// Alone, a request is answered whatever happens to it.
			panic("sqlite: a request was neither written nor refused")
		}
	}
}

// tryGroup runs the group and answers it. It reports false, with nothing
// written and nobody answered, if a member spoiled it for the others.
func (w *writer) tryGroup(group []*request) bool {
	err := w.begin()
	if err != nil {
		answerAll(group, w.store.fault(err))
		return true
	}
	w.errs = append(w.errs[:0], make([]error, len(group))...)
	errs := w.errs
	for i, r := range group {
		before := w.txn.written
		if errs[i] = r.run(&w.txn); errs[i] == nil {
			continue
		}
		if classified(errs[i]) && w.txn.written == before {
			continue // refused, and no trace of it: it alone is answered so
		}
		w.rollback()
		if len(group) > 1 {
			return false
		}
		r.answer(w.store.fault(errs[i]))
		return true
	}
	err = w.end()
	w.store.tally.changes.Add(int64(len(group)))
	for i, r := range group {
		if errs[i] == nil {
			errs[i] = err
		}
		r.answer(errs[i])
	}
	return true
}

func answerAll(group []*request, err error) {
	for _, r := range group {
		r.answer(err)
	}
}

// begin starts a transaction that may write, waiting for other processes.
func (w *writer) begin() error {
	if w.conn == nil {
		c, err := w.store.openWriting(background())
		if err != nil {
			return err
		}
		w.conn = c
		w.forget()
	}
	timeout := w.store.opts.BusyTimeout
	var start time.Time
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		_, err := w.conn.exec("BEGIN IMMEDIATE")
		if err == nil {
			return w.txn.begin(w.conn)
		}
		if start.IsZero() {
			start = time.Now()
		}
		if !busy(err) || time.Since(start) > timeout {
			return err
		}
		// Not all at once: several processes may wait for the same lock.
		time.Sleep(wait/2 + rand.N(wait))
	}
}

// forget makes the writer read heads anew before it trusts them.
func (w *writer) forget() { w.seen++ }

// rollback undoes the transaction. What goes wrong shows at the next begin.
func (w *writer) rollback() {
	w.forget()
	if _, err := w.conn.exec("ROLLBACK"); err != nil {
		// The engine may have rolled back by itself; the connection is not
		// worth the question.
		w.drop(err)
	}
}

// end commits. Its error is the answer to everybody whose change was in it.
func (w *writer) end() error {
	if w.txn.written == 0 {
		if _, err := w.conn.exec("ROLLBACK"); err != nil {
			w.drop(err)
		}
		return nil
	}
	if err := w.store.probe.at(beforeCommit); err != nil {
		w.rollback()
		return w.store.fault(err)
	}
	_, err := w.conn.exec("COMMIT")
	if err == nil {
		err = w.store.probe.at(afterCommit)
	}
	if err == nil {
		err = w.txn.publish()
	}
	if err != nil {
		// Whether the bytes that were written will be found is open. What the
		// connection believes is no guide: the next one reads the file.
		w.drop(err)
		return w.store.unknown(err)
	}
	return nil
}

// drop gives the connection up; the next group opens another.
func (w *writer) drop(cause error) {
	s := w.store
	s.opts.Logger.LogAttrs(background(), slog.LevelWarn, "connection given up", slog.String("database", s.path), slog.Any("error", cause))
	if err := w.conn.close(); err != nil {
		s.opts.Logger.LogAttrs(background(), slog.LevelWarn, "connection not closed", slog.String("database", s.path), slog.Any("error", err))
	}
	w.conn = nil
	w.forget()
}
