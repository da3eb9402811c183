package selvage

import "context"

// Importer is a store that takes in the logs of threads as other stores wrote
// them: every version, time and hash stays what it was, so that the chain goes
// on and receipts stay true. Views of a log, such as state, runs and messages,
// are made from it anew.
type Importer interface {
	// Import takes in changes of the log of a thread, in order and without
	// gaps, from any place at or before the version after the thread's own.
	// Those the thread has already are passed over, so that an import that
	// broke off is repeated, or gone on with at the version that Load tells.
	// It returns the version the thread has come to, which on an error, too,
	// may be beyond where it was: what was taken in before stays.
	//
	// Every change is judged as if it were appended now, and its hash must
	// follow: one that does not matches [ErrCorrupt]. A thread with other
	// changes at these versions, or with an id that another change or message
	// of it bears, matches [ErrAlreadyExists]; changes that begin beyond the
	// version after the thread's own match a [ConflictError]. A parent need
	// not be there. A tombstone deletes what there is of the thread, and may
	// be the first change of a thread that does not exist. The fence is not
	// asked: import into threads that nobody runs. Outbox entries are imported
	// as facts and not delivered: that is for the store they were appended to.
	//
	// [ErrUnavailable] and [ErrUnknownOutcome] leave open how far it came;
	// import the same changes again.
	Import(ctx context.Context, id ThreadID, changes []Change) (Version, error)
}
