package commit

import (
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

// Request is a change set that has been encoded and checked as far as it can
// be without its thread. Making one costs the most CPU of an append, so it is
// done before any lock is taken.
type Request struct {
	ThreadID selvage.ThreadID
	Set      selvage.ChangeSet // with id and reason filled in
	Pre      selvage.Precondition
	Body     *selvage.Body
	Content  selvage.Hash

	shape error // what is wrong with the set itself; told in its turn
	again bool  // it is judged from the log
	// copied says that the set is a version of a fork: its messages are those
	// of another log, where they were judged, and the first has this seq.
	copied   bool
	firstSeq int64
}

// NewRequest encodes the set. It fails if the thread or change-set id cannot
// be one ([selvage.ErrInvalid]), if the set has no JSON, or if it exceeds the
// limits ([selvage.ErrTooLarge]); faults of content wait for their turn in
// [Request.Judge].
func NewRequest(id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (*Request, error) {
	if err := checkID("thread", string(id)); err != nil {
		return nil, err
	}
	if set.ID == "" {
		set.ID = selvage.NewID()
	} else if err := checkID("change set", set.ID); err != nil {
		return nil, err
	}
	if set.Reason == "" {
		set.Reason = selvage.ReasonStateEdited
		switch {
		case set.Rewind != nil:
			set.Reason = selvage.ReasonRewound
		case len(set.Messages) > 0:
			set.Reason = selvage.ReasonUserMessage
		}
	}
	if n := len(set.Messages); n > selvage.MaxSetMessages {
		return nil, fmt.Errorf("a change set has at most %d messages, this one has %d: %w", selvage.MaxSetMessages, n, selvage.ErrTooLarge)
	}
	body, err := selvage.EncodeBody(&set)
	if err != nil {
		return nil, err
	}
	if n := body.Size(); n > selvage.MaxSetBytes {
		return nil, fmt.Errorf("a change set has at most %d bytes, this one has %d: %w", selvage.MaxSetBytes, n, selvage.ErrTooLarge)
	}
	r := &Request{ThreadID: id, Set: set, Pre: pre, Body: body}
	r.Content = body.Content(set.ID, set.RunID, set.ParentRunID, set.Reason)
	r.shape = checkShape(&r.Set)
	return r, nil
}

// Replay answers a request whose change-set id the thread's log already holds,
// in the change given: the first receipt if the content is the same, an error
// matching [selvage.ErrAlreadyExists] if not. Messages that were erased since are
// compared by their skeletons.
func (r *Request) Replay(first *selvage.Change) (selvage.Receipt, error) {
	if !first.Same(&r.Set, r.Body) {
		return selvage.Receipt{}, fmt.Errorf("change set %q of thread %q was appended at version %d with other content: %w",
			r.Set.ID, r.ThreadID, first.Version, selvage.ErrAlreadyExists)
	}
	receipt := receiptOf(first, &r.Set)
	receipt.Replayed = true
	return receipt, nil
}

// receiptOf derives the receipt of a change. Everything in it follows from
// the header and the set, so that it is the same whenever it is asked for.
func receiptOf(c *selvage.Change, set *selvage.ChangeSet) selvage.Receipt {
	return selvage.Receipt{
		ChangeID: c.ID, Version: c.Version, Hash: c.Hash, At: c.At,
		FirstSeq: c.FirstSeq, Added: c.Added, Dropped: c.Dropped,
		Events: selvage.EventCount(set, c.Added), OutboxIDs: outboxIDs(c, set.Outbox),
	}
}

func outboxIDs(c *selvage.Change, entries []selvage.OutboxEntry) []string {
	var ids []string
	for i := range entries {
		ids = append(ids, selvage.OutboxID(c.ThreadID, c.Version, i, &entries[i]))
	}
	return ids
}

// stamp is now as it is stored.
func stamp(now time.Time) time.Time { return now.UTC().Truncate(selvage.TimePrecision) }
