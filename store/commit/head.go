// Package commit works out what one change set does to one thread. It is the
// part of a store that must be the same everywhere: the order of the checks,
// the rules of runs and calls, deduplication, the hash chain. It reads through
// a [Reader] and writes nothing; a store turns the [Plan] into rows.
//
// Store authors need it; users of a store do not.
package commit

import (
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Head is what a store keeps at hand about a thread in order to judge the next
// change set. The zero Head is a thread that does not exist.
type Head struct {
	Thread  selvage.Thread  // Version 0: does not exist
	Deleted bool            // Version is the tombstone's
	Hash    selvage.Hash    // of the last change
	NextSeq int64           // of the next message; 0 counts as 1
	Epoch   int64           // of the last lease
	Horizon selvage.Version // state below this version was compacted; 0: none was
	OpenRun *selvage.Run
	// OpenCalls are the journalled calls in no terminal status, oldest first.
	OpenCalls []selvage.Call
	// Rewinds are where the history of this life jumps, in order.
	Rewinds []Rewind
}

// Exists reports whether the thread can be read.
func (h *Head) Exists() bool { return h.Thread.Version > 0 && !h.Deleted }

func (h *Head) nextSeq() int64 { return max(h.NextSeq, 1) }

// openCall returns the index of an open call, or -1.
func (h *Head) openCall(id string) int {
	return slices.IndexFunc(h.OpenCalls, func(c selvage.Call) bool { return c.ID == id })
}

// GoneBelow is the error about the state at a version below the horizon.
func GoneBelow(h *Head, v selvage.Version) error {
	return fmt.Errorf("thread %q: its state below version %d was compacted, and that of version %d with it: %w",
		h.Thread.ID, h.Horizon, v, selvage.ErrGone)
}

// Reader looks up what a judgement needs beyond the head, at the head's
// version and in the transaction that will write the plan. Each method is
// called only when the change set makes it matter.
type Reader interface {
	// State returns the state document at the head.
	State() (state.Document, error)
	// At returns what a thread that exists was at one of its versions, the head
	// included. The error matches [selvage.ErrNotFound] if the thread has not
	// reached it, and [selvage.ErrGone] if it went with a former life or its
	// state was compacted; NextSeq is told then all the same.
	At(v selvage.Version) (Past, error)
	// KnownMessages reports for each id whether a visible message bears it. A
	// store whose unique index will tell may answer that none does, and judge
	// again with the truth if the index objects.
	KnownMessages(ids []string) ([]bool, error)
	// Run returns a run of the tenant, or nil.
	Run(id selvage.RunID) (*selvage.Run, error)
	// Call returns a journalled call of the thread, or nil.
	Call(id string) (*selvage.Call, error)
	// Blobs reports for each id whether the tenant has a blob of it.
	Blobs(ids []selvage.Hash) ([]bool, error)
	// Delivery returns the digest of the tenant's delivery that is known by a
	// dedupe key, or nil.
	Delivery(key []byte) (digest []byte, err error)
	// Parent returns the parent of another thread of the tenant, and whether
	// that thread exists.
	Parent(id selvage.ThreadID) (parent selvage.ThreadID, exists bool, err error)
}

// Past is what a thread was at one of its versions.
type Past struct {
	State   state.Document
	NextSeq int64 // of the next message then
}

// Plan is what an accepted change set writes, all of it or nothing.
type Plan struct {
	Next    Head           // the head after the change
	Change  selvage.Change // the row of the log
	Receipt selvage.Receipt
	// MessageIDs are the ids of the messages added, in seq order.
	MessageIDs []string
	// Runs are the rows of the runs the set created or moved on, as they now
	// stand; the open one also stands in Next.
	Runs []selvage.Run
	// Calls are the rows of the calls the set journalled.
	Calls []selvage.Call
	// Blobs are those that the messages added refer to, each once. A store
	// without blobs has none to refer to.
	Blobs  []selvage.Hash
	absent []selvage.Hash
	// Outbox are the deliveries the set makes due.
	Outbox []Delivery
	// State is the document after the change; nil if the set leaves it alone.
	State *state.Document
	// Rewind is the version the thread goes back to; 0 if it goes on. State is
	// then the document of that version.
	Rewind selvage.Version
}
