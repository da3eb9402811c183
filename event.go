package selvage

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/selvagehq/selvage/state"
)

// EventKind names what an event is about.
type EventKind string

// The kinds of durable events.
const (
	EventMessage  EventKind = "message"
	EventState    EventKind = "state"
	EventRun      EventKind = "run"
	EventToolCall EventKind = "tool_call"
	EventTicket   EventKind = "ticket"
	EventDispatch EventKind = "dispatch"
	EventThread   EventKind = "thread"
	EventErased   EventKind = "erased" // its payload is an [Erasure]
)

// EventDraft is an event that a change set carries besides those that derive
// from it.
type EventDraft struct {
	Kind    EventKind       `json:"kind"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Position is where an event stands in its thread: the version that made it
// and its index there. In text it is "version.index".
type Position struct {
	Version Version
	Index   int
}

// String returns the position as "version.index".
func (p Position) String() string { return p.Version.String() + "." + strconv.Itoa(p.Index) }

// MarshalText implements [encoding.TextMarshaler].
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Position) UnmarshalText(text []byte) error {
	v, i, ok := strings.Cut(string(text), ".")
	version, err1 := strconv.ParseUint(v, 10, 63)
	index, err2 := strconv.ParseUint(i, 10, 31)
	if !ok || err1 != nil || err2 != nil {
		return &InvalidError{Field: "position", Reason: fmt.Sprintf("%q is not VERSION.INDEX", text)}
	}
	*p = Position{Version: Version(version), Index: int(index)}
	return nil
}

// Event is something that durably happened to a thread.
type Event struct {
	ThreadID ThreadID        `json:"thread_id"`
	Position Position        `json:"position"`
	Kind     EventKind       `json:"kind"`
	At       time.Time       `json:"at"`
	RunID    RunID           `json:"run_id,omitempty"`
	Payload  json.RawMessage `json:"payload"`
}

// eventCount is how many events a set makes when it adds that many messages.
func eventCount(set *ChangeSet, added int) int {
	n := added + len(set.Runs) + len(set.Calls) + len(set.Events)
	if set.Snapshot != nil || len(set.Patches) > 0 || set.Rewind != nil {
		n++
	}
	if set.Thread != nil || set.Fork != nil || set.Reason == ReasonDeleted {
		n++
	}
	return n
}

// EventCount returns how many events the appended set makes: one for each
// message added, run update, call update and event given, one if the state
// changed and one if the thread itself did.
func EventCount(set *ChangeSet, added int) int { return eventCount(set, added) }

// Events derives the durable events of the change, in order: messages, state,
// runs, tool calls, thread, then the events given in the set. Nothing else is
// stored for them. Erasure and compaction change what an event says, never how
// many there are or where they stand. The error matches [ErrCorrupt].
func (c *Change) Events() ([]Event, error) {
	set, err := c.restSet()
	if err != nil {
		return nil, err
	}
	messages, err := c.AddedMessages()
	if err != nil {
		return nil, err
	}
	events := make([]Event, 0, eventCount(&set, len(messages)))
	add := func(kind EventKind, payload any) {
		data, encodeErr := encodeJSON(payload)
		if encodeErr != nil && err == nil {
			err = c.corrupt("an event of kind %s has no JSON: %v", kind, encodeErr)
		}
		events = append(events, Event{ThreadID: c.ThreadID, Position: Position{c.Version, len(events)},
			Kind: kind, At: c.At, RunID: c.RunID, Payload: data})
	}
	for i := range messages {
		add(EventMessage, &messages[i])
	}
	if set.Snapshot != nil || len(set.Patches) > 0 || set.Rewind != nil || c.StateGone() {
		add(EventState, struct {
			Snapshot  *state.Document `json:"snapshot,omitempty"`
			Patches   []StatePatch    `json:"patches,omitempty"`
			Rewind    *Version        `json:"rewind,omitempty"`
			Compacted bool            `json:"compacted,omitempty"`
		}{set.Snapshot, set.Patches, set.Rewind, c.StateGone()})
	}
	for i := range set.Runs {
		add(EventRun, &set.Runs[i])
	}
	for i := range set.Calls {
		add(EventToolCall, &set.Calls[i])
	}
	if set.Thread != nil || set.Fork != nil || set.Reason == ReasonDeleted {
		var origin *ForkOrigin
		if set.Fork != nil {
			origin = &set.Fork.Origin
		}
		add(EventThread, struct {
			Update     *ThreadUpdate `json:"update,omitempty"`
			ForkedFrom *ForkOrigin   `json:"forked_from,omitempty"`
			Deleted    bool          `json:"deleted,omitempty"`
		}{set.Thread, origin, set.Reason == ReasonDeleted})
	}
	for _, e := range set.Events {
		payload := e.Payload
		if payload == nil {
			payload = json.RawMessage("null")
		}
		add(e.Kind, payload)
	}
	return events, err
}
