package selvage

import (
	"context"
	"time"
)

// Retention says how much of the history of a state document is kept. What is
// older than Age and not among the last Checkpoints changes of the state may be
// compacted. Messages, runs, calls, events and the chain are kept whatever it
// says.
type Retention struct {
	Age         time.Duration
	Checkpoints int
}

// DefaultRetention keeps the state of the last 30 days, and of the last ten
// changes of the state.
func DefaultRetention() Retention { return Retention{Age: 30 * 24 * time.Hour, Checkpoints: 10} }

// Check returns nil if the retention can be one. The error matches [ErrInvalid].
func (r Retention) Check() error {
	switch {
	case r.Age < 0:
		return &InvalidError{Field: "age", Reason: "an age may not be negative"}
	case r.Checkpoints < 0:
		return &InvalidError{Field: "checkpoints", Reason: "the number of checkpoints may not be negative"}
	}
	return nil
}

// Compactor is a store that can give up the history of state documents.
type Compactor interface {
	// Compact removes patches and snapshots that retention no longer asks for.
	// Each thread gets a horizon, the version of the newest change of the state
	// that may go; the document at the horizon is kept in place of what led there.
	// From then on [Store.State], and with it diffs and rewinds, match [ErrGone]
	// below the horizon; everything else answers as before. The digests of what
	// went stay, so the chain still verifies, positions and receipts are the same,
	// and an append is still found to be a repetition.
	//
	// It works in transactions of bounded size, one thread at a time, beside other
	// writers. If it ends early, by its context or an error, what it did stays
	// done, the report tells it, and calling it again goes on from there. A thread
	// that does not exist matches [ErrNotFound].
	Compact(ctx context.Context, req CompactRequest) (CompactReport, error)
}

// CompactRequest says what is to be compacted.
type CompactRequest struct {
	Thread    ThreadID   // empty: all threads of the store
	Retention *Retention // nil: [DefaultRetention]
	// DryRun works out the report and changes nothing. Archive is not called.
	DryRun bool
	// Archive is given each change whole before it is reduced, those of a thread
	// in the order of their versions. What it returned nil for may be gone when it
	// is called next; an error ends the compaction, and nothing that it has not
	// been given is lost. It may be given a change twice if a compaction is begun
	// again. It must not call the store.
	Archive func(*Change) error
	// Progress is told how far the work is, after each transaction.
	Progress func(CompactReport)
}

// CompactReport tells what a compaction did, or would do.
type CompactReport struct {
	Threads int   `json:"threads"` // how many were looked at
	Moved   int   `json:"moved"`   // how many of them have a new horizon
	Changes int64 `json:"changes"` // how many were reduced
	Bytes   int64 `json:"bytes"`   // how much smaller their bodies are, documents kept instead taken off
}
