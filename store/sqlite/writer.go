package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// The bounds of a group: what is committed, and forced to the disk, together.
const (
	maxGroup      = 256     // requests
	maxGroupBytes = 1 << 20 // of bodies
)

// writer owns the one connection that writes. Callers take turns at it: who
// has the turn writes for all who wait, in one transaction, and answers them.
// There is no waiting for more; while one group is forced to the disk the next
// one gathers. A lone caller so writes in its own goroutine.
type writer struct {
	store *Store        // of no tenant
	turn  chan struct{} // holds a token while somebody has the turn

	mu    sync.Mutex // guards queue
	queue []*request

	// The rest belongs to who has the turn.
	conn    *conn // nil after a failed commit, until it is opened anew
	txn     txn
	group   []*request // to be used again
	errs    []error    // to be used again
	version uint32     // of the file's data, as of our last commit
	seen    uint64     // how often the file was found changed by somebody else

	chores       *chores
	idStatements [idsAtOnce + 1]string
}

func newWriter(s *Store, c *conn) *writer {
	w := &writer{store: s, conn: c, turn: make(chan struct{}, 1), seen: 1}
	w.txn.w = w
	w.chores = startChores(w)
	return w
}

// do has run done in a transaction, for a tenant, and waits until it is committed. A caller
// whose context ends while the request still waits leaves the queue.
func (w *writer) do(ctx context.Context, tenant string, bytes int, run func(*txn) error) error {
	r := &request{run: run, tenant: tenant, bytes: bytes, done: make(chan struct{})}
	w.mu.Lock()
	w.queue = append(w.queue, r)
	w.mu.Unlock()
	for {
		select {
		case <-r.done:
			return r.err
		case w.turn <- struct{}{}:
			w.takeTurn(ctx)
		case <-ctx.Done():
			if r.state.CompareAndSwap(queued, left) {
				return cancelled(ctx)
			}
			<-r.done
			return r.err
		}
	}
}

// takeTurn leads a group, and passes the turn on.
func (w *writer) takeTurn(ctx context.Context) {
	led := false
	defer func() {
		if !led { // a member panicked, which is for its leader to see
			w.abandon()
		}
		<-w.turn
	}()
	w.lead(ctx)
	led = true
}

// lead commits a group. If the context ends while another process is waited
// for, it leaves the group to somebody else.
func (w *writer) lead(ctx context.Context) {
	if !w.waiting() {
		return
	}
	err := w.begin(ctx)
	if err != nil && ctx.Err() != nil {
		return
	}
	// Whoever came meanwhile is in it.
	w.group = w.take(w.group[:0])
	w.commit(w.group, err)
	clear(w.group)
	w.chores.afterGroup()
}

func (w *writer) waiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) > 0
}

// take takes a group from the queue.
func (w *writer) take(group []*request) []*request {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, bytes := 0, 0
	for ; n < len(w.queue) && len(group) < maxGroup; n++ {
		r := w.queue[n]
		if len(group) > 0 && bytes+r.bytes > maxGroupBytes {
			break
		}
		if r.start() {
			group, bytes = append(group, r), bytes+r.bytes
		}
	}
	rest := copy(w.queue, w.queue[n:])
	clear(w.queue[rest:])
	w.queue = w.queue[:rest]
	return group
}

// commit runs and answers a group in the transaction that has begun, or not,
// with that error. Who could not be answered gets a transaction of his own.
func (w *writer) commit(group []*request, begun error) {
	again := w.try(group, begun)
	for i := range again {
		w.try(again[i:i+1], w.begin(background()))
	}
}

// try runs and answers a group. It returns those it could not answer: all, with
// nothing written, if one of several members spoiled it for the others; and, if
// the commit failed, those who were refused because of what it was to bring.
func (w *writer) try(group []*request, begun error) (again []*request) {
	if begun != nil {
		begun = w.store.fault(begun)
		for _, r := range group {
			r.answer(begun)
		}
		return nil
	}
	w.errs = append(w.errs[:0], make([]error, len(group))...)
	clean := 0 // how many members found the thread as it was before the group
	for i, r := range group {
		before := w.txn.written
		if before == 0 {
			clean = i + 1
		}
		w.txn.tenant = r.tenant
		err := r.run(&w.txn)
		if w.errs[i] = err; err == nil || classified(err) && w.txn.written == before {
			continue // one that was refused, and left no trace, is alone in that
		}
		w.rollback()
		if len(group) > 1 {
			return group
		}
		r.answer(w.store.fault(err))
		return nil
	}
	err := w.end()
	again = group[:0]
	for i, r := range group {
		switch {
		case w.errs[i] == nil:
			r.answer(err)
		case err != nil && i >= clean:
			again = append(again, r)
		default:
			r.answer(w.errs[i])
		}
	}
	if err == nil {
		w.store.tally.changes.Add(int64(len(group)))
	}
	return again
}

// abandon gives the connection up in the middle of a group, and answers the
// members that have no answer yet.
func (w *writer) abandon() {
	if w.conn != nil {
		w.drop(errPanic)
	}
	for _, r := range w.group {
		if r != nil && !r.answered() {
			r.answer(w.store.unknown(errPanic))
		}
	}
	clear(w.group)
}

var errPanic = errors.New("the transaction broke off in a panic")

// begin starts a transaction that may write, waiting for other processes.
func (w *writer) begin(ctx context.Context) error {
	if w.conn == nil {
		c, err := w.store.openWriting(ctx)
		if err != nil {
			return err
		}
		w.conn = c
		w.forget()
	}
	var start time.Time
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		_, err := w.conn.exec("BEGIN IMMEDIATE")
		if err == nil {
			if err = w.txn.begin(w.conn); err != nil {
				w.drop(err) // and with it the transaction
			}
			return err
		}
		if start.IsZero() {
			start = time.Now()
		}
		if !busy(err) || time.Since(start) > w.store.opts.BusyTimeout {
			return err
		}
		select {
		// Not all at once: several processes may wait for the same lock.
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// forget makes the writer read heads anew before it trusts them.
func (w *writer) forget() { w.seen++ }

// rollback undoes the transaction.
func (w *writer) rollback() {
	w.forget()
	w.txn.pos = -1
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
		if sqliteCode(err) == codeFull {
			// The frame that would have committed is the last to be written,
			// and there was no room for it.
			return w.store.fault(err)
		}
		return w.store.unknown(err)
	}
	return nil
}

// drop gives the connection up; the next group opens another.
func (w *writer) drop(cause error) {
	w.warn("connection given up", cause)
	if err := w.conn.close(); err != nil {
		w.warn("connection not closed", err)
	}
	w.conn = nil
	w.forget()
}

func (w *writer) warn(what string, err error) {
	w.store.opts.Logger.LogAttrs(background(), slog.LevelWarn, what, slog.String("database", w.store.path), slog.Any("error", err))
}

// close ends the connection. Nobody waits any more.
func (w *writer) close() error {
	w.chores.stop()
	w.turn <- struct{}{}
	if w.conn == nil {
		return nil
	}
	return w.conn.close()
}
