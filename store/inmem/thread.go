package inmem

import (
	"cmp"
	"fmt"
	"slices"

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

// turn hides messages and shows others again, as a plan says that rewinds the
// thread from where it was before.
func (t *thread) turn(plan *commit.Plan, before commit.Head) {
	hidden, shown := plan.Turned(&before, 1)
	for _, m := range t.visible(hidden) {
		delete(t.ids, m.ID)
	}
	for _, m := range t.visible(shown) {
		t.ids[m.ID] = struct{}{}
	}
}

// visible returns the messages of segments.
func (t *thread) visible(segments []commit.Segment) []selvage.Message {
	if len(segments) == 1 {
		return t.window(segments[0].First, segments[0].Last)
	}
	var all []selvage.Message
	for _, s := range segments {
		all = append(all, t.window(s.First, s.Last)...)
	}
	return all
}

func bySeq(m selvage.Message, seq int64) int { return cmp.Compare(m.Seq, seq) }

// window returns the messages with lo <= seq <= hi.
func (t *thread) window(lo, hi int64) []selvage.Message {
	from, _ := slices.BinarySearchFunc(t.messages, lo, bySeq)
	to, there := slices.BinarySearchFunc(t.messages, hi, bySeq)
	if there {
		to++
	}
	return t.messages[from:max(from, to)]
}
