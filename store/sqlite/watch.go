package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/selvagehq/selvage/internal/bell"
)

const (
	// pollEvery is how often the file is looked at for what other processes
	// write, while somebody waits for it.
	pollEvery = 100 * time.Millisecond
	// lingering is for how many of these times the poller stays after the last
	// one went: who reads a stream is back in a moment.
	lingering = 10
	// maxNews is how many changes one look tells apart. Of more, everybody is
	// told that there are some.
	maxNews = 1000
)

// watch wakes who waits for changes: at once if this process commits them, and
// by looking at the file if another one does.
type watch struct {
	store *Store // of no tenant
	bells bell.Bells[threadKey]
	quit  chan struct{} // closed with the store
	work  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	polling bool
	closed  bool
}

// feedBell is the bell of the feed: no thread is called that.
var feedBell threadKey

func newWatch(s *Store) *watch { return &watch{store: s, quit: make(chan struct{})} }

// close ends every wait.
func (w *watch) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.bells.Close()
	close(w.quit)
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

// committed wakes who waits for threads that were written.
func (w *watch) committed(changed map[threadKey]*entry) {
	if w.bells.Waiting() == 0 || len(changed) == 0 {
		return
	}
	for name := range changed {
		w.bells.Ring(name)
	}
	w.bells.Ring(feedBell)
}

// poll sees to it that the file is looked at.
func (w *watch) poll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.polling || w.closed {
		return
	}
	w.polling = true
	w.work.Go(w.run)
}

// retire ends the poller if nobody waits.
func (w *watch) retire() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polling = w.bells.Waiting() > 0
	return !w.polling
}

// run looks at the file until nobody has waited for a while.
func (w *watch) run() {
	p := &poller{watch: w, last: -1}
	defer p.close()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for idle := 0; ; {
		select {
		case <-tick.C:
		case <-w.quit:
			return
		}
		if w.bells.Waiting() > 0 {
			idle = 0
			p.look()
		} else if idle++; idle >= lingering && w.retire() {
			return
		}
	}
}

// poller finds out what was written, on a connection of its own.
type poller struct {
	*watch
	conn    *conn
	version int64 // of the file's data, as of the last look
	last    int64 // position of the last change seen; -1: none yet
}

// look rings for what was written since the last look. If it cannot tell, it
// lets everybody look for themselves, who then learn what is wrong.
func (p *poller) look() {
	news, err := p.read()
	if err != nil {
		p.store.writer.warn("cannot look for what other processes write", err)
		p.close()
		p.last = -1
	}
	if err != nil || news == nil {
		p.bells.RingAll()
		return
	}
	p.bells.Ring(news...)
}

// read returns the bells to ring; nil stands for all of them.
func (p *poller) read() (news []threadKey, err error) {
	if p.conn == nil {
		if p.conn, err = p.store.readers.open(); err != nil {
			return nil, err
		}
	}
	news = []threadKey{}
	version := p.version
	if _, err := p.conn.one(func(r *rows) { version = r.int(0) }, "PRAGMA data_version"); err != nil {
		return nil, err
	}
	if p.last >= 0 && version == p.version {
		return news, nil
	}
	p.version = version
	if p.last < 0 {
		_, err := p.conn.one(func(r *rows) { p.last = r.int(0) }, lastPosition)
		return nil, err
	}
	r, err := p.conn.query(newsAfter, p.last, int64(maxNews))
	if err != nil {
		return nil, err
	}
	for r.next() {
		p.last = r.int(0)
		news = append(news, threadKey{r.text(1), threadIDOf(r, 2)})
	}
	switch err := r.close(); {
	case err != nil:
		return nil, err
	case len(news) == maxNews:
		p.last = -1 // there may be more
		return nil, nil
	case len(news) > 0:
		news = append(news, feedBell)
	}
	return news, nil
}

func (p *poller) close() {
	if p.conn == nil {
		return
	}
	if err := p.conn.close(); err != nil && !errors.Is(err, context.Canceled) {
		p.store.writer.warn("connection not closed", err)
	}
	p.conn = nil
}

const (
	lastPosition = `SELECT coalesce(max(pos), 0) FROM changes`
	newsAfter    = `SELECT c.pos, t.tenant, t.id FROM changes c CROSS JOIN threads t ON t.key = c.thread WHERE c.pos > ? ORDER BY c.pos LIMIT ?`
)
