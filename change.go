package selvage

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/selvagehq/selvage/state"
)

// Change is one entry of a thread's log: the header that proves it, and the
// body as it was received, or what erasure and compaction left of it. Encode it
// with HTML escaping off, or the body's bytes change and [Change.Verify] fails
// at the other end.
type Change struct {
	ThreadID    ThreadID  `json:"thread_id"`
	Version     Version   `json:"version"`
	ID          string    `json:"id"`
	RunID       RunID     `json:"run_id,omitempty"`
	ParentRunID RunID     `json:"parent_run_id,omitempty"`
	Reason      Reason    `json:"reason"`
	At          time.Time `json:"at"`
	FirstSeq    int64     `json:"first_seq"` // the seq of the first message it added, or of the next one if it added none
	Added       int       `json:"added"`     // how many messages it added
	// Dropped are the indexes of submitted messages that were already there.
	Dropped []int `json:"dropped,omitempty"`
	Content Hash  `json:"content"` // see [Body.Content]
	Prev    Hash  `json:"prev"`    // the hash of the change before it
	Hash    Hash  `json:"hash"`    // see [ChainHash]

	// Salt is what the digests of the parts are salted with. It is nil once a
	// message was erased: what is left then has salts of its own in Parts.
	Salt []byte `json:"salt,omitempty"`
	// Parts tells, for each message, then for the rest, then for what it said
	// about the state, what proves it. It is nil while all is as received.
	Parts    []PartSeal        `json:"parts,omitempty"`
	Messages []json.RawMessage `json:"messages,omitempty"` // as submitted; one that was erased is a skeleton
	Rest     json.RawMessage   `json:"rest"`               // as submitted, without the state if that was compacted
	// Base is the state document after this change, where compaction removed
	// what led to it. It is not part of what was appended.
	Base json.RawMessage `json:"base,omitempty"`
}

// LastSeq is the seq of the last message the change added, and FirstSeq-1 if
// it added none.
func (c *Change) LastSeq() int64 { return c.FirstSeq + int64(c.Added) - 1 }

// VerifyContent proves that the body is the one that was appended, apart from
// what was erased or compacted, of which it proves that it was there. The error
// matches [ErrCorrupt].
func (c *Change) VerifyContent() error {
	content, err := c.digest()
	if err != nil {
		return err
	}
	if content != c.Content {
		return c.corrupt("its content does not match its digest")
	}
	return nil
}

// Verify proves that the change is the one that was appended after prev: its
// body matches its digest, and its hash follows from the header. The error
// matches [ErrCorrupt] and names the version.
func (c *Change) Verify(prev Hash) error {
	if err := c.VerifyContent(); err != nil {
		return err
	}
	if c.Prev != prev {
		return c.corrupt("it does not follow the change before it")
	}
	if ChainHash(prev, c.Version, c.FirstSeq, c.At, c.Content) != c.Hash {
		return c.corrupt("its header does not match its hash")
	}
	return nil
}

func (c *Change) corrupt(format string, args ...any) error {
	return &CorruptError{Thread: c.ThreadID, Version: c.Version, Reason: fmt.Sprintf(format, args...)}
}

// Set decodes the change set as it was submitted, with its id and reason. A
// message that was erased is its skeleton, and patches or a snapshot that were
// compacted are missing. The error matches [ErrCorrupt].
func (c *Change) Set() (ChangeSet, error) {
	set, err := c.restSet()
	if err != nil {
		return ChangeSet{}, err
	}
	if len(c.Messages) > 0 {
		set.Messages = make([]Message, len(c.Messages))
	}
	for i := range c.Messages {
		if set.Messages[i], err = c.message(i); err != nil {
			return ChangeSet{}, err
		}
	}
	return set, nil
}

func (c *Change) restSet() (ChangeSet, error) {
	var r rest
	if err := json.Unmarshal(c.Rest, &r); err != nil {
		return ChangeSet{}, c.corrupt("its body cannot be read: %v", err)
	}
	set := ChangeSet{ID: c.ID, RunID: c.RunID, ParentRunID: c.ParentRunID, Reason: c.Reason,
		Runs: r.Runs, Patches: r.Patches, Calls: r.Calls, Rewind: r.Rewind, Fork: r.Fork, Events: r.Events,
		Outbox: r.Outbox, Dispatches: r.Dispatches, Thread: r.Thread}
	if r.Snapshot != nil {
		doc, err := state.Parse(r.Snapshot)
		if err != nil {
			return ChangeSet{}, c.corrupt("its snapshot cannot be read: %v", err)
		}
		set.Snapshot = &doc
	}
	return set, nil
}

func (c *Change) message(i int) (Message, error) {
	m, err := decodeMessage(c.Messages[i])
	if err != nil {
		return m, c.corrupt("message %d cannot be read: %v", i, err)
	}
	return m, nil
}

// MessageIDs returns the ids of all messages the change carries, also of those
// that were dropped or erased. The error matches [ErrCorrupt].
func (c *Change) MessageIDs() ([]string, error) {
	ids := make([]string, len(c.Messages))
	for i, raw := range c.Messages {
		id, err := decodeMessageID(raw)
		if err != nil {
			return nil, c.corrupt("message %d cannot be read: %v", i, err)
		}
		if ids[i] = id; id == "" {
			ids[i] = MessageID(c.ID, i, c.At)
		}
	}
	return ids, nil
}

// AddedMessages decodes the messages the change added to the log, with their
// seq, id and time. The error matches [ErrCorrupt].
func (c *Change) AddedMessages() ([]Message, error) {
	added := make([]Message, 0, c.Added)
	dropped := c.Dropped
	for i := range c.Messages {
		if len(dropped) > 0 && dropped[0] == i {
			dropped = dropped[1:]
			continue
		}
		m, err := c.message(i)
		if err != nil {
			return nil, err
		}
		m.Seq = c.FirstSeq + int64(len(added))
		if c.Reason != ReasonForked || m.CreatedAt.IsZero() {
			m.CreatedAt = c.At
		}
		if m.RunID == "" {
			m.RunID = c.RunID
		}
		if m.ID == "" {
			m.ID = MessageID(c.ID, i, c.At)
		}
		added = append(added, m)
	}
	if len(added) != c.Added {
		return nil, c.corrupt("it holds %d new messages instead of %d", len(added), c.Added)
	}
	return added, nil
}

// ApplyState returns the state document after the change, doc being the one
// before it. The error matches [ErrGone] if what the change said about the state
// was compacted and no document stands for it, else [ErrCorrupt]: what was
// appended applied when it was. The state that a rewind goes back to is not in
// its change: the error then matches [ErrInvalid], and [Store.State] answers it.
func (c *Change) ApplyState(doc state.Document) (state.Document, error) {
	switch {
	case c.Base != nil:
		base, err := state.Parse(c.Base)
		if err != nil {
			return doc, c.corrupt("the state kept with it cannot be read: %v", err)
		}
		return base, nil
	case c.StateGone():
		return doc, fmt.Errorf("thread %q version %d: its change of the state was compacted: %w", c.ThreadID, c.Version, ErrGone)
	case len(c.Rest) <= len("{}"):
		return doc, nil
	}
	var r struct {
		Patches  []StatePatch    `json:"patches"`
		Snapshot json.RawMessage `json:"snapshot"`
		Rewind   *Version        `json:"rewind"`
	}
	if err := json.Unmarshal(c.Rest, &r); err != nil {
		return doc, c.corrupt("its body cannot be read: %v", err)
	}
	if r.Rewind != nil {
		return doc, &InvalidError{Field: "rewind", Reason: fmt.Sprintf("version %d has the state of version %d again", c.Version, *r.Rewind)}
	}
	var err error
	if r.Snapshot != nil {
		if doc, err = state.Parse(r.Snapshot); err != nil {
			return doc, c.corrupt("its snapshot cannot be read: %v", err)
		}
	}
	for _, p := range r.Patches {
		if doc, err = p.Ops.Apply(doc); err != nil {
			return doc, c.corrupt("its patch does not apply: %v", err)
		}
	}
	return doc, nil
}
