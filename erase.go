package selvage

import (
	"context"
	"crypto/sha256"
	"encoding/json"
)

// Eraser is a store that can take the content of messages out of a thread's
// history.
type Eraser interface {
	// Erase replaces the content of messages by skeletons, for good, and appends
	// a change with [ReasonErased] whose event, of kind [EventErased], tells which
	// ones, so that who follows the thread can forget them too. All of it happens
	// in one transaction, or nothing. Versions, seqs, ids, event positions and
	// receipts stay as they were, and the chain still verifies: a digest stays
	// whose salt is gone, so that it gives nothing away.
	//
	// Every copy of the messages in the thread's log goes: those that a rewind
	// hid, and those that were submitted again and dropped. Copies that were made
	// elsewhere are the caller's to find: in the state document, in other messages
	// and the arguments of their calls, in forks, exports and backups. When Erase
	// has returned, no read of this store answers the content, and the store does
	// what its engine allows to make the bytes go too; see its package.
	//
	// It is repeatable by its id as an append is: the same id and messages answer
	// the first receipt, other messages match [ErrAlreadyExists]. Messages that
	// were erased before do no harm. A message that the log does not hold matches
	// [ErrNotFound], and so does a thread that never was; a deleted thread matches
	// [ErrGone]. More than [MaxSetMessages] messages match [ErrTooLarge], none
	// [ErrInvalid]. After any of these nothing was erased. [ErrUnknownOutcome] and
	// [ErrUnavailable] mean that it may have been: ask again with the same id.
	Erase(ctx context.Context, id ThreadID, req EraseRequest) (Receipt, error)
}

// EraseRequest says what is to be erased.
type EraseRequest struct {
	// ID is the id of the change that tells of it. Empty means a fresh UUIDv7.
	ID string
	// Messages are ids of messages.
	Messages []string
}

// Erasure is the payload of the event that tells of erased messages. It names
// every copy of them in the log.
type Erasure struct {
	Messages []ErasedMessage `json:"messages"`
}

// ErasedMessage is a message that was erased, and what proves that it was.
type ErasedMessage struct {
	ID      string  `json:"id"`
	Version Version `json:"version"`       // of the change it was submitted with
	Index   int     `json:"index"`         // in that change
	Seq     int64   `json:"seq,omitempty"` // 0: it was dropped as a duplicate
	Digest  Hash    `json:"digest"`        // of what was received; see [PartSeal]
	Left    Hash    `json:"left"`          // SHA-256 of the skeleton
}

// CheckErased proves that a message the change has lost is the one that e tells
// of, and that its skeleton is the one that was left. The error matches
// [ErrCorrupt].
func (c *Change) CheckErased(e *ErasedMessage) error {
	if c.Version != e.Version || e.Index < 0 || e.Index >= len(c.Messages) || e.Index >= len(c.Parts) || c.Parts[e.Index].Digest.IsZero() {
		return c.corrupt("message %d is said to have been erased and was not", e.Index)
	}
	if c.Parts[e.Index].Digest != e.Digest {
		return c.corrupt("message %d was erased, and another digest is said to stay", e.Index)
	}
	if Hash(sha256.Sum256(c.Messages[e.Index])) != e.Left {
		return c.corrupt("what is left of the erased message %d is not what was left", e.Index)
	}
	return nil
}

// Erasures returns what the change tells of erased messages. The error matches
// [ErrCorrupt].
func (c *Change) Erasures() ([]ErasedMessage, error) {
	if c.Reason != ReasonErased {
		return nil, nil
	}
	set, err := c.restSet()
	if err != nil {
		return nil, err
	}
	var all []ErasedMessage
	for _, e := range set.Events {
		if e.Kind != EventErased {
			continue
		}
		var told Erasure
		if err := json.Unmarshal(e.Payload, &told); err != nil {
			return nil, c.corrupt("what it tells of erased messages cannot be read: %v", err)
		}
		all = append(all, told.Messages...)
	}
	return all, nil
}

// erasedMessage describes the i-th message, which was erased, under the id it
// has in the log.
func (c *Change) erasedMessage(i int, id string) ErasedMessage {
	e := ErasedMessage{ID: id, Version: c.Version, Index: i, Digest: c.Parts[i].Digest, Left: sha256.Sum256(c.Messages[i])}
	seq := c.FirstSeq + int64(i)
	for _, d := range c.Dropped {
		if d == i {
			return e
		}
		if d < i {
			seq--
		}
	}
	e.Seq = seq
	return e
}

// EraseByID erases the messages of the change that bear one of the ids, as
// [Change.EraseMessages] does, and tells of each, also of those erased before.
// The error matches [ErrCorrupt].
func (c *Change) EraseByID(ids map[string]bool) ([]ErasedMessage, error) {
	all, err := c.MessageIDs()
	if err != nil {
		return nil, err
	}
	var indexes []int
	for i, id := range all {
		if ids[id] {
			indexes = append(indexes, i)
		}
	}
	if len(indexes) == 0 {
		return nil, nil
	}
	if err := c.EraseMessages(indexes...); err != nil {
		return nil, err
	}
	told := make([]ErasedMessage, len(indexes))
	for n, i := range indexes {
		told[n] = c.erasedMessage(i, all[i])
	}
	return told, nil
}
