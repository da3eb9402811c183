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
	"github.com/selvagehq/selvage/internal/bell"
	"github.com/selvagehq/selvage/store/commit"
	"github.com/selvagehq/selvage/store/record"
)

var (
	_ selvage.Store   = (*Store)(nil)
	_ selvage.Leaser  = (*Store)(nil)
	_ selvage.Tenancy = (*Store)(nil)
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
	*engine
	*space                    // of the tenant
	tenant  string            // empty for the store that was opened
	cursors selvage.CursorKey // of the tenant
	keeper  *record.Keeper    // of the tenant's records
	left    bool              // a tenant's store that was closed; guarded by engine.mu
}

// engine is what the tenants of a store share.
type engine struct {
	now func() time.Time

	mu     sync.RWMutex // guards everything below, and what it points to
	spaces map[string]*space
	clock  int64 // counts writes, so that what was written later sorts later within one millisecond
	feed   feed
	closed bool

	bells bell.Bells[threadKey] // of threads, and feedBell
}

// space is what there is of one tenant. It is guarded by engine.mu.
type space struct {
	threads map[selvage.ThreadID]*thread
	runs    map[selvage.RunID]*runRow
	records records
	// outbox holds the deliveries by their ids.
	outbox map[string]*delivery
	blobs  map[selvage.Hash]*blob
}

func newSpace() *space {
	return &space{threads: make(map[selvage.ThreadID]*thread), runs: make(map[selvage.RunID]*runRow),
		outbox: make(map[string]*delivery), blobs: make(map[selvage.Hash]*blob)}
}

// New returns an empty store.
func New(opts Options) *Store {
	s := &Store{engine: &engine{now: opts.Now, feed: newFeed()}, space: newSpace()}
	s.spaces = map[string]*space{"": s.space}
	if s.now == nil {
		s.now = time.Now
	}
	_, _ = rand.Read(s.cursors[:]) // never fails
	s.keeper = record.New(rows{s}, &s.cursors, "")
	return s
}

// Close forgets everything. It waits for calls under way. The store of a
// tenant forgets nothing when it is closed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.left:
		return errClosed
	case s.tenant != "":
		s.left = true
		s.bells.RingAll() // who waits on this store finds it closed
		return nil
	}
	for _, tenant := range s.spaces {
		*tenant = space{}
	}
	s.closed, s.spaces, s.feed = true, nil, feed{}
	s.bells.Close()
	return nil
}

var errClosed = fmt.Errorf("in-memory store: %w", selvage.ErrClosed)

// enter reports why nothing may be done now. The store must be locked.
func (s *Store) enter(ctx context.Context) error {
	if s.closed || s.left {
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
	return &commit.Head{Thread: selvage.Thread{Tenant: s.tenant}}
}
