package selvage

import (
	"context"
	"time"

	"github.com/selvagehq/selvage/state"
)

// Receipt tells what an append made.
type Receipt struct {
	ChangeID string    `json:"change_id"`
	Version  Version   `json:"version"`
	Hash     Hash      `json:"hash"`
	At       time.Time `json:"at"`
	FirstSeq int64     `json:"first_seq"` // of the first message added, or of the next one if none was
	Added    int       `json:"added"`     // messages added
	Dropped  []int     `json:"dropped,omitempty"`
	Events   int       `json:"events"` // how many durable events it made: positions Version.0 to Version.(Events-1)
	// OutboxIDs and DispatchIDs name what the set enqueued, in its order.
	OutboxIDs   []string `json:"outbox_ids,omitempty"`
	DispatchIDs []string `json:"dispatch_ids,omitempty"`
	// Replayed reports that the set had been appended before: this is the
	// receipt of then, and nothing was written now.
	Replayed bool `json:"replayed,omitempty"`
}

// LastSeq is the seq of the last message added, and FirstSeq-1 if none was.
func (r *Receipt) LastSeq() int64 { return r.FirstSeq + int64(r.Added) - 1 }

// Store keeps threads. Implementations are safe for concurrent use and pass
// [github.com/selvagehq/selvage/store/storetest.Run]; every backend means the
// same by each method. Values passed in and out are never shared: neither side
// may change what the other holds, except that json.RawMessage bytes are
// read-only to both.
//
// After Close every method matches [ErrClosed]. A cancelled context is
// answered with its error; for Append and Delete the outcome is then unknown
// unless the error also matches a class that says otherwise.
type Store interface {
	// Append appends set to the thread's log atomically and returns its
	// receipt. It is the only write to a thread. When it returns nil the change
	// is durable to the degree of the store's durability profile.
	//
	// It checks, in this order: the change-set id ([ErrAlreadyExists] if it
	// was used for other content; the first receipt, marked Replayed, if for
	// the same), a tombstone ([ErrGone]; [ErrAlreadyExists] for [New]), the
	// fence ([FencedError]), the precondition ([ConflictError];
	// [ErrNotFound] if a thread must exist and does not; [ErrAlreadyExists]
	// for [New] on an existing thread), the shape of messages, the rules of
	// runs and calls, and that every patch applies ([InvalidError]). Sets
	// beyond the limits match [ErrTooLarge]. After any of these nothing was
	// written. [ErrUnknownOutcome] and [ErrUnavailable] mean it may have been:
	// append the same set with the same id again to learn it.
	Append(ctx context.Context, id ThreadID, set ChangeSet, pre Precondition) (Receipt, error)

	// Load returns the thread at one consistent point: head, state, last
	// messages, open run. It observes every append that returned before it was
	// called. A thread that does not exist, or was deleted, matches
	// [ErrNotFound]. Its cost does not grow with the length of the log.
	Load(ctx context.Context, id ThreadID, opts LoadOptions) (Head, error)

	// State returns the state document at version v, 0 being the head. A
	// version that the thread has not reached matches [ErrNotFound]; one that
	// retention removed matches [ErrGone].
	State(ctx context.Context, id ThreadID, v Version) (state.Document, error)

	// Messages returns a page of the messages visible at a version.
	Messages(ctx context.Context, id ThreadID, q MessageQuery) (MessagePage, error)

	// Changes returns a page of the log, bodies as they were received.
	Changes(ctx context.Context, id ThreadID, q ChangeQuery) (ChangePage, error)

	// Threads returns a page of threads.
	Threads(ctx context.Context, q ThreadQuery) (ThreadPage, error)

	// Runs returns a page of runs.
	Runs(ctx context.Context, q RunQuery) (RunPage, error)

	// Delete deletes the thread and, as the strategy says, looks after its
	// children, in one transaction: either all of it happens or nothing. Each
	// deleted thread gets a final change with [ReasonDeleted] whose header
	// stays as a tombstone; every other row of it goes. A thread that does not
	// exist, or was deleted, matches [ErrNotFound]; [DeleteReject] with a
	// child matches [ErrInvalid].
	Delete(ctx context.Context, id ThreadID, strategy DeleteStrategy) error

	// Close releases what the store holds, after the appends under way.
	Close() error
}
