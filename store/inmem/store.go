// Package inmem keeps threads in memory. It is a complete [selvage.Store]: the
// same judgement, the same chain, the same answers as a store on disk, and
// nothing left when the process ends. Use it for tests, for one-off runs, and
// to learn what the contract means.
//
// Every change of a thread stays in memory until the thread is deleted.
package inmem

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

var (
	_ selvage.Store  = (*Store)(nil)
	_ selvage.Leaser = (*Store)(nil)
)

// Options configures [New]. The zero value is ready to use.
type Options struct {
	// Now tells the time that changes are stamped with and leases are measured
	// by. Nil means time.Now. It is called while the store is locked, so it
	// must not call the store.
	Now func() time.Time
}

// Store keeps threads in memory. It implements [selvage.Store] and
// [selvage.Leaser] and is safe for concurrent use; one writer works at a time.
// Nothing of it is durable: an append that returned is lost with the process.
type Store struct {
	now     func() time.Time
	cursors selvage.CursorKey

	mu      sync.RWMutex // guards everything below, and what it points to
	threads map[selvage.ThreadID]*thread
	runs    map[selvage.RunID]*runRow
	clock   int64 // counts writes, so that what was written later sorts later within one millisecond
	closed  bool
}

// New returns an empty store.
func New(opts Options) *Store {
	s := &Store{now: opts.Now, threads: make(map[selvage.ThreadID]*thread), runs: make(map[selvage.RunID]*runRow)}
	if s.now == nil {
		s.now = time.Now
	}
	_, _ = rand.Read(s.cursors[:]) // never fails
	return s
}

// Close forgets everything. It waits for calls under way.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.closed, s.threads, s.runs = true, nil, nil
	return nil
}

var errClosed = fmt.Errorf("in-memory store: %w", selvage.ErrClosed)

// enter reports why nothing may be done now. The store must be locked.
func (s *Store) enter(ctx context.Context) error {
	if s.closed {
		return errClosed
	}
	return ctx.Err()
}

// tick returns the next number of the store's own clock.
func (s *Store) tick() int64 {
	s.clock++
	return s.clock
}

// find returns a thread that can be read.
func (s *Store) find(id selvage.ThreadID) (*thread, error) {
	t := s.threads[id]
	switch {
	case t == nil || t.head.Thread.Version == 0:
		return nil, fmt.Errorf("thread %q: %w", id, selvage.ErrNotFound)
	case t.head.Deleted:
		return nil, fmt.Errorf("thread %q was deleted at version %d: %w", id, t.head.Thread.Version, selvage.ErrNotFound)
	}
	return t, nil
}

// head returns what is known about a thread, which need not exist.
func (s *Store) head(id selvage.ThreadID) *commit.Head {
	if t := s.threads[id]; t != nil {
		return &t.head
	}
	return &commit.Head{}
}
