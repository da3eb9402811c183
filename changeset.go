package selvage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/selvagehq/selvage/state"
)

// Reason says why a change set was made.
type Reason string

// The reasons.
const (
	ReasonUserMessage    Reason = "user_message"
	ReasonAssistantTurn  Reason = "assistant_turn_committed"
	ReasonToolResults    Reason = "tool_results_committed"
	ReasonRunFinished    Reason = "run_finished"
	ReasonStateEdited    Reason = "state_edited"
	ReasonForked         Reason = "forked" // written by [Forker.Fork] alone
	ReasonRewound        Reason = "rewound"
	ReasonSessionEnded   Reason = "session_ended"
	ReasonThreadUpdated  Reason = "thread_updated"
	ReasonDecision       Reason = "decision"
	ReasonDispatch       Reason = "dispatch"
	ReasonDeleted        Reason = "deleted" // written by [Store.Delete] alone
	ReasonErased         Reason = "erased"  // written by [Eraser] alone
	numberOfReasons             = 13
	unknownReasonMessage        = "%q is not a reason; use user_message, assistant_turn_committed, tool_results_committed, run_finished, state_edited, rewound, session_ended, thread_updated, decision or dispatch"
)

var reasons = [numberOfReasons]Reason{
	ReasonUserMessage, ReasonAssistantTurn, ReasonToolResults, ReasonRunFinished, ReasonStateEdited, ReasonForked,
	ReasonRewound, ReasonSessionEnded, ReasonThreadUpdated, ReasonDecision, ReasonDispatch, ReasonDeleted,
	ReasonErased,
}

// CheckReason returns nil if r may be submitted with a change set: any of the
// reasons but [ReasonForked], [ReasonDeleted] and [ReasonErased], which only a
// store gives. The error matches [ErrInvalid].
func CheckReason(r Reason) error {
	if r == ReasonForked || r == ReasonDeleted || r == ReasonErased || !slices.Contains(reasons[:], r) {
		return &InvalidError{Field: "reason", Reason: fmt.Sprintf(unknownReasonMessage, r)}
	}
	return nil
}

// ChangeSet is everything one append changes about a thread, applied
// completely or not at all. The empty set is valid and makes a version.
//
// It applies in this order: Snapshot replaces the state, Patches apply to the
// result, Messages join the log without those whose id is already visible,
// then Runs, Calls and Thread take effect. A set carries a snapshot or the
// patches that led to it, never both.
type ChangeSet struct {
	// ID makes the append repeatable: the same id and content answers the
	// first receipt. Empty means a fresh UUIDv7, which only the receipt names.
	ID          string `json:"id,omitempty"`
	RunID       RunID  `json:"run_id,omitempty"`
	ParentRunID RunID  `json:"parent_run_id,omitempty"`
	// Reason says why. Empty means rewound for a rewind, user_message if there
	// are messages, else state_edited.
	Reason   Reason          `json:"reason,omitempty"`
	Runs     []RunUpdate     `json:"runs,omitempty"`
	Messages []Message       `json:"messages,omitempty"`
	Patches  []StatePatch    `json:"patches,omitempty"`
	Calls    []CallUpdate    `json:"calls,omitempty"`
	Snapshot *state.Document `json:"snapshot,omitempty"`
	// Rewind takes messages and state back to what they were at this version.
	// It comes alone but for Thread and Events, and is refused while a run is
	// open. Runs, calls, costs and events are facts and stay; seqs go on.
	Rewind *Version `json:"rewind,omitempty"`
	// Fork is how a thread begins that was forked; see [Forker].
	Fork       *ForkDraft      `json:"fork,omitempty"`
	Events     []EventDraft    `json:"events,omitempty"`
	Outbox     []OutboxEntry   `json:"outbox,omitempty"`
	Dispatches []DispatchDraft `json:"dispatches,omitempty"`
	Thread     *ThreadUpdate   `json:"thread,omitempty"`
	// Fence proves that the writer still owns the thread. It guards the
	// append like the precondition and is not part of the content.
	Fence *Fence `json:"fence,omitempty"`
}

// StatePatch is a patch of the state document and who made it.
type StatePatch struct {
	Source string      `json:"source,omitempty"` // "tool:lookup", "hook:budget", ...
	Ops    state.Patch `json:"ops"`
}

// Fence is a writer's proof of ownership: the epoch of its lease.
type Fence struct {
	Epoch int64 `json:"epoch"`
}

// OutboxEntry asks for a delivery outside the store, made durable with the
// change that caused it. See [Outbox] for what becomes of it.
type OutboxEntry struct {
	Lane    string          `json:"lane"`    // whose work it is: what a worker claims from
	Target  string          `json:"target"`  // where it goes, within the lane
	Payload json.RawMessage `json:"payload"` // any JSON, [MaxOutboxPayload] bytes at most
	// DedupeKey names the delivery within its lane and target, for the whole
	// tenant: while it is known, another entry of the same key and payload asks
	// for nothing new and gets the first one's id. With another payload the set
	// matches [ErrAlreadyExists].
	DedupeKey   string    `json:"dedupe_key,omitempty"`
	AvailableAt time.Time `json:"available_at,omitzero"`  // not before; zero is at once
	MaxAttempts int       `json:"max_attempts,omitempty"` // 0 is [DefaultOutboxAttempts]
}

// DispatchDraft asks for the thread to be run, made durable with the change
// that caused it.
type DispatchDraft struct {
	RunID       RunID     `json:"run_id,omitempty"`
	Priority    int       `json:"priority,omitempty"`
	DedupeKey   string    `json:"dedupe_key,omitempty"`
	AvailableAt time.Time `json:"available_at,omitzero"`
}

// DecodeChangeSet reads one change set from JSON, strictly: unknown fields,
// duplicate keys, trailing data, and sets above [MaxSetBytes] are refused with
// [ErrInvalid] or [ErrTooLarge]. It does not judge the content; a store does.
func DecodeChangeSet(data []byte) (ChangeSet, error) {
	if len(data) > MaxSetBytes {
		return ChangeSet{}, fmt.Errorf("a change set of %d bytes exceeds %d: %w", len(data), MaxSetBytes, ErrTooLarge)
	}
	// The value reader refuses what encoding/json lets through: duplicate
	// keys, invalid UTF-8, bottomless nesting.
	if _, err := state.ParseValue(data); err != nil {
		return ChangeSet{}, &InvalidError{Field: "change set", Reason: err.Error()}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var set ChangeSet
	if err := d.Decode(&set); err != nil {
		return ChangeSet{}, &InvalidError{Field: "change set", Reason: err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return ChangeSet{}, &InvalidError{Field: "change set", Reason: "there is more after the change set"}
	}
	return set, nil
}
