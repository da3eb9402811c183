package selvage

import "context"

// Forker is a store that can make a new thread out of what another one was.
type Forker interface {
	// Fork makes a thread whose first version is what another thread was at a
	// version: its state, and the messages that could be seen then, with their
	// ids, seqs, runs, steps and times. From then on the two are independent:
	// neither deleting the origin nor rewinding it touches the fork. Runs, calls
	// and leases stay with the origin. All of it happens in one transaction.
	//
	// Title, user, metadata and parent are the origin's as they are now, as far
	// as Thread does not say otherwise; the thread names its origin in
	// [Thread.ForkedFrom]. More than [MaxSetMessages] messages or [MaxSetBytes]
	// bytes, and messages between which some of the origin's were hidden, take
	// several versions; the receipt is the last one's. Seqs go on after the last
	// message that was taken over.
	//
	// It is repeatable by its id as an append is: the same request answers the
	// first receipt, also if the origin went on or is gone; another request
	// matches [ErrAlreadyExists], as does any fork to a thread that exists or
	// existed. An origin that does not exist, or has not reached the version,
	// matches [ErrNotFound]; a version that went with a former life or was
	// compacted away matches [ErrGone]. After any of these nothing was written.
	// [ErrUnknownOutcome] and [ErrUnavailable] mean that it may have been: ask
	// again with the same id. The cost is that of what is copied.
	Fork(ctx context.Context, req ForkRequest) (Receipt, error)
}

// ForkRequest says what to make a fork of.
type ForkRequest struct {
	// ID is the id of the fork's first change. Empty means a fresh UUIDv7,
	// which only the receipt names.
	ID   string
	From ThreadID
	At   Version // of the origin; 0 is its head
	To   ThreadID
	// Thread is what the fork says about itself other than its origin.
	Thread *ThreadUpdate
}

// ForkDraft is what the first change of a fork says about its making. Only a
// store writes one.
type ForkDraft struct {
	Origin   ForkOrigin `json:"origin"`
	Versions int        `json:"versions"` // how many versions it took to copy everything
	// Thread is what the fork was asked to say about itself.
	Thread *ThreadUpdate `json:"thread,omitempty"`
}
