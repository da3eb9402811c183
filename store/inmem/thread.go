package inmem

import (
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// thread is all there is of one thread. Values in it are replaced, never
// modified, and nobody outside holds any part of them.
type thread struct {
	head    commit.Head
	created int64 // store clock of the change that created it
	updated int64 // and of its last change
	lease   *selvage.Lease

	log []selvage.Change // dense by version; a recreated thread's begins with its tombstone
	// docs are the state documents after each change of the log. They share
	// what did not change, so that each costs what its patches touched.
	docs      []state.Document
	tombstone selvage.Version // of the thread's former life; 0 if it had none

	changes  map[string]int // change-set id: index in log
	messages []selvage.Message
	ids      map[string]struct{} // of the messages
	calls    map[string]selvage.Call
}

// runRow is a run and its place in the order of creation.
type runRow struct {
	run     selvage.Run
	created int64
}

// at returns the index in the log of version v, 0 being the head.
func (t *thread) at(v selvage.Version) (int, error) {
	head := t.head.Thread
	switch {
	case v == 0:
		v = head.Version
	case v < 0:
		return 0, &selvage.InvalidError{Field: "version", Reason: fmt.Sprintf("%d is not a version; the first is 1", v)}
	case v > head.Version:
		return 0, fmt.Errorf("thread %q has not reached version %d, it is at %d: %w", head.ID, v, head.Version, selvage.ErrNotFound)
	case v <= t.tombstone:
		return 0, fmt.Errorf("thread %q was deleted at version %d, and version %d went with it: %w", head.ID, t.tombstone, v, selvage.ErrGone)
	}
	return int(v - t.log[0].Version), nil
}

// window returns the messages with lo <= seq <= hi.
func (t *thread) window(lo, hi int64) []selvage.Message {
	if len(t.messages) == 0 {
		return nil
	}
	first, last := t.messages[0].Seq, t.messages[len(t.messages)-1].Seq
	lo, hi = max(lo, first), min(hi, last)
	if lo > hi {
		return nil
	}
	return t.messages[lo-first : hi-first+1]
}
