// Package toystore is the smallest honest store: a log for each thread, in
// memory, and everything else read from the logs. docs/writing-a-store.md
// explains it, and its test runs the whole conformance kit on it.
//
// Its reads cost time proportional to the length of the log, which is what
// tells it from a real one.
package toystore

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

// Store keeps threads in memory. It is safe for concurrent use; one caller
// works at a time, and nothing outlives the process.
type Store struct {
	cursors selvage.CursorKey

	mu      sync.Mutex // guards everything below
	threads map[selvage.ThreadID]*thread
	clock   int64 // counts what was written, so that what came later sorts later
	closed  bool
}

// thread is a log and what the next append must know.
type thread struct {
	head  commit.Head
	lease *selvage.Lease
	log   []entry // of a thread that was deleted, the tombstone and what came after
}

// entry is one change: its row of the log, and the rows it made or moved on.
type entry struct {
	commit.Plan
	messages []selvage.Message // that it added
	place    int64             // on the store's clock
}

// New returns an empty store.
func New() *Store {
	s := &Store{threads: make(map[selvage.ThreadID]*thread)}
	_, _ = rand.Read(s.cursors[:]) // never fails
	return s
}

// Append implements [selvage.Store]. Its outcome is never unknown.
func (s *Store) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	request, malformed := commit.NewRequest(id, set, pre) // most of the work, before the lock
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.Receipt{}, err
	}
	if malformed != nil {
		return selvage.Receipt{}, malformed
	}
	t := s.thread(id)
	if first := t.change(request.Set.ID); first != nil {
		change, err := reread(first.Change)
		if err != nil {
			return selvage.Receipt{}, err
		}
		return request.Replay(&change)
	}
	e, err := s.judge(t, request)
	if err != nil {
		return selvage.Receipt{}, err // nothing was written
	}
	s.write(t, e)
	return e.Receipt, nil
}

// judge works out what the request writes, and writes nothing.
func (s *Store) judge(t *thread, request *commit.Request) (*entry, error) {
	plan, err := request.Judge(&t.head, reader{s, t}, time.Now())
	if err != nil {
		return nil, err
	}
	return newEntry(plan)
}

// newEntry brings a plan to the form in which it is kept. It goes through
// JSON, as on its way to a disk and back, so that nothing in it is the caller's.
func newEntry(plan *commit.Plan) (*entry, error) {
	doc := plan.State // a document never changes
	plan.State = nil
	kept, err := reread(*plan)
	if err != nil {
		return nil, err
	}
	kept.State = doc
	messages, err := kept.Change.AddedMessages()
	return &entry{Plan: kept, messages: messages}, err
}

// write adds an entry to the log. It cannot fail: what may fail came before.
func (s *Store) write(t *thread, e *entry) {
	s.clock++
	e.place = s.clock
	s.clock += int64(len(e.Runs)) // the runs it created have places of their own
	t.log = append(t.log, *e)
	t.head = e.Next
	s.threads[e.Change.ThreadID] = t
}

// change returns the entry of a change set, or nil.
func (t *thread) change(id string) *entry {
	for i := range t.log {
		if t.log[i].Change.ID == id {
			return &t.log[i]
		}
	}
	return nil
}

// thread returns what there is of a thread, which need not exist.
func (s *Store) thread(id selvage.ThreadID) *thread {
	if t := s.threads[id]; t != nil {
		return t
	}
	return &thread{}
}

// find returns a thread that can be read.
func (s *Store) find(id selvage.ThreadID) (*thread, error) {
	t := s.thread(id)
	if !t.head.Exists() {
		return nil, fmt.Errorf("thread %q: %w", id, selvage.ErrNotFound)
	}
	return t, nil
}

// enter reports why nothing may be done now. The store must be locked.
func (s *Store) enter(ctx context.Context) error {
	if s.closed {
		return fmt.Errorf("toy store: %w", selvage.ErrClosed)
	}
	return ctx.Err()
}

// Close forgets everything.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(context.Background()); err != nil {
		return err
	}
	s.threads, s.closed = nil, true
	return nil
}
