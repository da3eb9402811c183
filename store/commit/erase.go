package commit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// Erasure is a request to erase messages that has been checked as far as it can
// be without its thread. A store shows it every change of the log in which a
// message may be, in order, and then has it planned; it writes the reduced
// changes and the plan, or nothing.
type Erasure struct {
	ThreadID selvage.ThreadID
	ID       string // of the change that tells of it
	ids      map[string]bool
	told     []selvage.ErasedMessage
}

// NewErasure checks the request. The error matches [selvage.ErrInvalid] or
// [selvage.ErrTooLarge].
func NewErasure(id selvage.ThreadID, req selvage.EraseRequest) (*Erasure, error) {
	if err := checkID("thread", string(id)); err != nil {
		return nil, err
	}
	e := &Erasure{ThreadID: id, ID: req.ID, ids: make(map[string]bool, len(req.Messages))}
	if e.ID == "" {
		e.ID = selvage.NewID()
	} else if err := checkID("change set", e.ID); err != nil {
		return nil, err
	}
	switch n := len(req.Messages); {
	case n == 0:
		return nil, invalid("messages", "name the messages to erase")
	case n > selvage.MaxSetMessages:
		return nil, fmt.Errorf("at most %d messages are erased at once, these are %d: %w", selvage.MaxSetMessages, n, selvage.ErrTooLarge)
	}
	for i, m := range req.Messages {
		if err := checkID(fmt.Sprintf("messages[%d]", i), m); err != nil {
			return nil, err
		}
		e.ids[m] = true
	}
	return e, nil
}

// Replay answers an erasure whose id the thread's log already holds, in the
// change given: its receipt if it erased the same messages, an error matching
// [selvage.ErrAlreadyExists] if not.
func (e *Erasure) Replay(first *selvage.Change) (selvage.Receipt, error) {
	told, err := first.Erasures()
	if err != nil {
		return selvage.Receipt{}, err
	}
	ids := make(map[string]bool, len(told))
	for _, m := range told {
		ids[m.ID] = true
	}
	if first.Reason != selvage.ReasonErased || !maps.Equal(ids, e.ids) {
		return selvage.Receipt{}, fmt.Errorf("change set %q of thread %q was appended at version %d and is another: %w",
			e.ID, e.ThreadID, first.Version, selvage.ErrAlreadyExists)
	}
	set, err := first.Set()
	if err != nil {
		return selvage.Receipt{}, err
	}
	receipt := receiptOf(first, &set)
	receipt.Replayed = true
	return receipt, nil
}

// Admit reports why nothing can be erased from a thread.
func (e *Erasure) Admit(h *Head) error {
	switch {
	case h.Deleted:
		return fmt.Errorf("thread %q was deleted at version %d: %w", e.ThreadID, h.Thread.Version, selvage.ErrGone)
	case !h.Exists():
		return fmt.Errorf("thread %q: %w", e.ThreadID, selvage.ErrNotFound)
	}
	return nil
}

// Concerns reports whether the change holds one of the messages, and modifies
// nothing.
func (e *Erasure) Concerns(c *selvage.Change) (bool, error) {
	if len(c.Messages) == 0 {
		return false, nil
	}
	probe := *c
	told, err := probe.EraseByID(e.ids)
	return len(told) > 0, err
}

// Take erases the messages from a change of the log, and notes them. It reports
// whether the change is to be written again.
func (e *Erasure) Take(c *selvage.Change) (reduced bool, err error) {
	before := len(c.Erased())
	told, err := c.EraseByID(e.ids)
	if err != nil {
		return false, err
	}
	e.told = append(e.told, told...)
	return len(c.Erased()) > before, nil
}

// Again forgets what was taken, so that the log can be shown once more.
func (e *Erasure) Again() { e.told = nil }

// Plan is the change that tells of the messages taken. The error matches
// [selvage.ErrNotFound] if one was in no change.
func (e *Erasure) Plan(h *Head, now time.Time) (*Plan, error) {
	if err := e.Admit(h); err != nil {
		return nil, err
	}
	missing := maps.Clone(e.ids)
	for _, m := range e.told {
		delete(missing, m.ID)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("thread %q has no message %s: %w", e.ThreadID,
			strings.Join(slices.Sorted(maps.Keys(missing)), ", "), selvage.ErrNotFound)
	}
	payload, err := json.Marshal(selvage.Erasure{Messages: e.told})
	if err != nil {
		return nil, err
	}
	r := &Request{ThreadID: e.ThreadID, Pre: selvage.Any(), Set: selvage.ChangeSet{ID: e.ID, Reason: selvage.ReasonErased,
		Events: []selvage.EventDraft{{Kind: selvage.EventErased, Payload: payload}}}}
	if r.Body, err = selvage.EncodeBody(&r.Set); err != nil {
		return nil, err
	}
	if n := r.Body.Size(); n > selvage.MaxSetBytes {
		return nil, fmt.Errorf("the messages have too many copies to be erased at once; name fewer: %w", selvage.ErrTooLarge)
	}
	r.Content = r.Body.Content(r.Set.ID, "", "", r.Set.Reason)
	return r.Judge(h, nil, now)
}
