package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// channel is where processes tell each other that something was committed.
	// It is a hint, not a message: who hears it looks. It is never sent in the
	// transaction of a change, because notifying takes a lock of the whole
	// database while it commits.
	channel = "selvage_changes"
	// tellEvery is how far apart hints are at least.
	tellEvery = 20 * time.Millisecond
	// hintName is what the server knows connections for hints by.
	hintName = "selvage hints"
	// hintRetry is how long a connection for hints is left alone after it
	// broke. Without one the looks go on as they are.
	hintRetry   = 5 * time.Second
	hintTimeout = 10 * time.Second // of one statement or connection for hints
)

// herald tells other processes that something was committed, on a connection
// of its own.
type herald struct {
	*watch
	conn *pgx.Conn
	pid  atomic.Uint32 // of the connection, whose hints need not be heard here
}

// tell sees to it that the herald is at work.
func (w *watch) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.heralded || w.closed {
		return
	}
	w.heralded = true
	w.work.Go(w.self.run)
}

func (h *herald) run() {
	defer func() { closeHint(h.conn) }()
	for {
		select {
		case <-h.news:
		case <-h.ctx.Done():
			return
		}
		if err := h.notify(); err != nil {
			closeHint(h.conn)
			h.conn = nil
			sleep(h.ctx, hintRetry)
			continue
		}
		sleep(h.ctx, tellEvery)
	}
}

func (h *herald) notify() (err error) {
	ctx, cancel := context.WithTimeout(h.ctx, hintTimeout)
	defer cancel()
	if h.conn == nil {
		if h.conn, err = h.store.connectHint(ctx); err != nil {
			return err
		}
		h.pid.Store(h.conn.PgConn().PID())
	}
	_, err = h.conn.Exec(ctx, "NOTIFY "+channel)
	return err
}

// ear hears the hints of other processes, if the server lets it.
type ear struct {
	conn  *pgx.Conn
	again time.Time // when to try to get a connection
}

// wait waits for a hint, for a time at most.
func (e *ear) wait(ctx context.Context, w *watch, atMost time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	if e.conn == nil && time.Now().After(e.again) {
		e.listen(w)
	}
	for e.conn != nil {
		hint, err := e.conn.WaitForNotification(ctx)
		switch {
		case err == nil && hint.PID == w.self.pid.Load():
			continue // those who wait here were told when it was committed
		case err != nil && ctx.Err() == nil:
			e.close()
			e.again = time.Now().Add(hintRetry)
		default:
			return
		}
	}
	<-ctx.Done()
}

// listen gets a connection to hear hints on. Through a pooler that lends
// connections by transaction there is none: it would be lent to others.
func (e *ear) listen(w *watch) {
	e.again = time.Now().Add(hintRetry)
	ctx, cancel := context.WithTimeout(w.ctx, hintTimeout)
	defer cancel()
	conn, err := w.store.connectHint(ctx)
	if err != nil {
		return
	}
	var pid uint32
	if err = conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err == nil && pid == conn.PgConn().PID() {
		if _, err = conn.Exec(ctx, "LISTEN "+channel); err == nil {
			e.conn = conn
			return
		}
	}
	closeHint(conn)
}

func (e *ear) close() {
	closeHint(e.conn)
	e.conn = nil
}

// connectHint makes a connection beside the pool.
func (s *Store) connectHint(ctx context.Context) (*pgx.Conn, error) {
	config := s.pool.Config().ConnConfig
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // prepares nothing
	config.RuntimeParams["application_name"] = hintName
	return pgx.ConnectConfig(ctx, config)
}

func closeHint(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // it is of no use any more
}
