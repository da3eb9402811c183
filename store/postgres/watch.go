package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/bell"
)

const (
	// pollEvery is about how often the database is looked at while somebody
	// waits. Hints only make it sooner: they may be lost, and through a pooler
	// none come.
	pollEvery = 200 * time.Millisecond
	// pollApart is how far apart looks are at least, however many hints come.
	pollApart = 5 * time.Millisecond
	// lingering is how long the poller stays after the last one went: who reads
	// a stream is back in a moment.
	lingering = time.Second
	// lookTimeout bounds one look.
	lookTimeout = 10 * time.Second
	// heldLong is from when on it is logged that the feed is held back, and
	// logHeldEvery how often.
	heldLong, logHeldEvery = 10 * time.Second, time.Minute
)

// watch wakes who waits for changes: at once if this process commits them, and
// by looking at the database if another one does.
type watch struct {
	store     *Store // of no tenant
	bells     bell.Bells[threadKey]
	feedQuery string

	ctx  context.Context // of the goroutines, ended by close
	stop context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex // guards what follows
	polling  bool
	closed   bool
	heralded bool      // the herald is at work
	logged   time.Time // when it was last logged that the feed is held back

	news chan struct{} // holds a token when the herald has something to tell
	self herald
}

// feedBell is the bell of the feed: no thread is called that.
var feedBell threadKey

func newWatch(s *Store) *watch {
	w := &watch{store: s, feedQuery: feedQuery, news: make(chan struct{}, 1)}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.self.watch = w
	return w
}

// silence ends every wait, which finds the store closed.
func (w *watch) silence() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.bells.Close()
}

// close ends the goroutines, after silence.
func (w *watch) close() {
	w.stop()
	w.work.Wait()
}

// await calls look once, or until it has found something.
func (s *Store) await(ctx context.Context, name threadKey, wait bool, look func() (bool, error)) error {
	if found, err := look(); found || err != nil || !wait {
		return err
	}
	return s.watch.bells.Wait(ctx, name, func() (bool, error) {
		s.watch.poll() // before the look, so that nothing is written between the two
		return look()
	})
}

// committed wakes who waits for threads that were written, here and elsewhere.
func (w *watch) committed(names ...threadKey) {
	w.bells.Ring(names...)
	w.bells.Ring(feedBell)
	select {
	case w.news <- struct{}{}:
		w.tell()
	default: // the herald has not come to what was before
	}
}

// poll sees to it that the database is looked at.
func (w *watch) poll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.polling || w.closed {
		return
	}
	w.polling = true
	w.work.Go((&poller{watch: w}).run)
}

// retire ends the poller if nobody waits.
func (w *watch) retire() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polling = w.bells.Waiting() > 0
	return !w.polling
}

// poller finds out which of the threads that somebody waits for were written.
type poller struct {
	*watch
	hints ear
	seen  map[threadKey]int64 // versions, as of the last look
}

// run looks at the database until nobody has waited for a while.
func (p *poller) run() {
	defer p.hints.close()
	left := time.Now()
	for {
		// Not all processes at once.
		p.hints.wait(p.ctx, p.watch, pollEvery-pollEvery/10+rand.N(pollEvery/5))
		switch {
		case p.ctx.Err() != nil:
			return
		case p.bells.Waiting() > 0:
			left = time.Now()
			p.look()
			sleep(p.ctx, pollApart)
		case time.Since(left) > lingering && p.retire():
			return
		}
	}
}

// look rings for what was written since the last look, and for the feed, whose
// readers see for themselves how far it has come. If it cannot tell, everybody
// looks for themselves, and learns what is wrong.
func (p *poller) look() {
	ctx, cancel := context.WithTimeout(p.ctx, lookTimeout)
	defer cancel()
	now, err := p.store.versionsOf(ctx, p.bells.Names())
	if err != nil {
		p.seen = nil
		p.bells.RingAll()
		return
	}
	for name, version := range now {
		if before, known := p.seen[name]; !known || before != version {
			p.bells.Ring(name)
		}
	}
	p.seen = now
	p.bells.Ring(feedBell)
}

const versionsQuery = `SELECT t.tenant, t.thread, t.version FROM unnest($1::text[], $2::bytea[]) AS k (tenant, thread)
	JOIN selvage.threads t ON t.tenant = k.tenant AND t.thread = k.thread`

// versionsOf returns the versions of threads.
func (s *Store) versionsOf(ctx context.Context, names []threadKey) (versions map[threadKey]int64, err error) {
	var tenants []string
	var threads [][]byte
	for _, name := range names {
		if name != feedBell {
			tenants, threads = append(tenants, name.tenant), append(threads, packID(string(name.id)))
		}
	}
	if len(tenants) == 0 {
		return nil, nil
	}
	err = s.list(ctx, "look for news", func(from querier) error {
		versions = make(map[threadKey]int64, len(tenants))
		rows, err := from.Query(ctx, versionsQuery, tenants, threads)
		if err != nil {
			return err
		}
		var tenant string
		var thread []byte
		var version int64
		_, err = pgx.ForEachRow(rows, []any{&tenant, &thread, &version}, func() error {
			versions[threadKey{tenant, selvage.ThreadID(unpackID(thread))}] = version
			return nil
		})
		return err
	})
	return versions, err
}

// heldQuery tells who has been writing longest without an end.
const heldQuery = `SELECT coalesce(
		(SELECT format('process %s (%s) in database %s', a.pid, a.application_name, a.datname) FROM pg_stat_activity a
			WHERE a.backend_xid IS NOT NULL ORDER BY age(a.backend_xid) DESC LIMIT 1),
		(SELECT format('prepared transaction %s in database %s', p.gid, p.database) FROM pg_prepared_xacts p ORDER BY p.prepared LIMIT 1),
		'one that this user may not see')`

// held logs, now and then, that a transaction holds the feed back.
func (w *watch) held(ctx context.Context, behind time.Duration) {
	if behind < heldLong {
		return
	}
	w.mu.Lock()
	due := time.Since(w.logged) > logHeldEvery
	if due {
		w.logged = time.Now()
	}
	w.mu.Unlock()
	if !due {
		return
	}
	who := "unknown"
	err := w.store.list(ctx, "who holds the feed back", func(from querier) error { return from.QueryRow(ctx, heldQuery).Scan(&who) })
	w.store.log.Warn("an open transaction holds the feed back; changes show when it ends", "behind", behind, "transaction", who, "err", err)
}

// sleep waits for a time or for the context.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
