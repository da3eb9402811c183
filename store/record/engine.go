// Package record keeps what a store keeps besides threads: memory, versioned
// configuration, the audit log, stream checkpoints and the replay log. All of
// it is rows, a space and a key and a value, which a store keeps in one ordered
// table and offers as an [Engine]; what the rows mean is worked out here, once
// for every store.
//
// Store authors need it; users of a store do not.
package record

import (
	"context"
	"time"

	"github.com/selvagehq/selvage"
)

// Engine keeps rows for one tenant. Keys are ordered as bytes within their
// space, and none begins with 0xff. It is safe for concurrent use; its errors are those of a store.
//
// A row whose time is over is not there for any method of [Tx] but Sweep. A
// row of a thread is deleted by the transaction that deletes the thread.
type Engine interface {
	// View calls read with the rows as of one moment. Read may be called
	// again, and must not write.
	View(ctx context.Context, read func(Tx) error) error

	// Update calls write and then commits what it wrote, all of it, or nothing
	// if write fails. Updates of one topic run one after the other, whoever
	// makes them, and each sees all that those before it wrote. Topic "" waits
	// for nobody. Write may be called again, also after a commit of which
	// nobody knows whether it took effect.
	//
	// An error matching [selvage.ErrUnknownOutcome] says that the commit was
	// asked for and not answered.
	Update(ctx context.Context, topic string, write func(Tx) error) error
}

// Tx reads and writes rows. It belongs to the call that was given it. Bytes
// that go in or come out are not changed afterwards by either side.
type Tx interface {
	// Now is the time of the transaction, to the millisecond.
	Now() time.Time

	// Get returns the value of a row, nil if there is none.
	Get(space string, key []byte) ([]byte, error)

	// Scan returns rows of a space in the order of their keys. Ranges have a
	// limit of at most a few hundred rows.
	Scan(space string, r Range) ([]Row, error)

	// Put writes a row, in place of the one that is there. A thread it names
	// that does not exist matches [selvage.ErrNotFound].
	Put(space string, row Row) error

	// Insert is Put, and reports false, having written nothing, if there is
	// such a row. What another transaction committed meanwhile counts, so it
	// keeps keys unique across topics.
	Insert(space string, row Row) (bool, error)

	// Delete removes the rows of a range and returns how many there were.
	Delete(space string, r Range) (int, error)

	// Sweep removes up to limit rows whose time is over, the oldest first, and
	// returns how many.
	Sweep(limit int) (int, error)
}

// Row is a row of a space. No value is empty.
type Row struct {
	Key   []byte
	Value []byte
	// Thread is the thread that the row is deleted with, and Expires when its
	// time is over; both are empty for most. Scan leaves them out.
	Thread  selvage.ThreadID
	Expires time.Time
}

// Range is a range of keys: those at or after From and before To, nil being no
// bound. Limit 0 means that there is none.
type Range struct {
	From, To []byte
	Reverse  bool // from the end; Delete ignores it
	Limit    int
}

// One is the range of a single key.
func One(key []byte) Range { return Range{From: key, To: after(key), Limit: 1} }

// MaxValueBytes bounds the value of a row, in bytes, and MaxKeyBytes its key.
// They leave room for what is kept beside the bounded values of the root.
const (
	MaxValueBytes = 2 << 20
	MaxKeyBytes   = 1 << 10
)
