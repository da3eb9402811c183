package runner

import (
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// The kinds of events a run adds to the durable kinds of the root.
const (
	// EventDelta: the model's text goes on with Text.
	EventDelta selvage.EventKind = "delta"
	// EventReasoning: the model's visible thinking goes on with Note.
	EventReasoning selvage.EventKind = "reasoning"
	// EventRetry: the request to the model failed and is repeated, Note says
	// why. Deltas since the last recorded message do not count.
	EventRetry selvage.EventKind = "retry"
	// EventContinue: the answer broke off, Note says why, and is gone on with.
	// Deltas since the last recorded message, or the last EventRetry, count, and
	// the next ones follow them. In a run that another process began, the first
	// of them is what that process had of the answer.
	EventContinue selvage.EventKind = "continue"
	// EventCall: the tool call Call begins to run.
	EventCall selvage.EventKind = "call"
	// EventProgress: the tool of Call reports Note.
	EventProgress selvage.EventKind = "progress"
	// EventQueued: the run waits for another to end; Note says whose.
	EventQueued selvage.EventKind = "queued"
	// EventEnd: the run is over, or waits, and that is recorded. Result says how,
	// or for what. It is the last event.
	EventEnd selvage.EventKind = "end"
)

// Event is something that happened in a run. A durable event is told after the
// change that makes it is recorded, and has the position the store gives it.
// An ephemeral one has no position, is stored nowhere, and may be lost; what it
// said is in a later durable event.
type Event struct {
	Kind     selvage.EventKind
	Position selvage.Position // zero if ephemeral
	At       time.Time        // when it was recorded; zero if ephemeral
	ThreadID selvage.ThreadID
	RunID    selvage.RunID
	Step     int // the turn, from 1; 0 before the first

	// MessageID is, for a delta, the id that the whole message will have.
	MessageID string
	Text      string // of the answer; only in a delta, so that printing it prints the answer
	Note      string // of any other ephemeral event

	Message  *selvage.Message      // kind message
	Patches  []selvage.StatePatch  // kind state
	Snapshot *state.Document       // kind state: replaced by this
	Run      *selvage.RunUpdate    // kind run
	ToolCall *selvage.CallUpdate   // kind tool_call
	Thread   *selvage.ThreadUpdate // kind thread
	Call     *selvage.ToolCall     // kinds call and progress
	Result   *Result               // kind end
}

// Durable reports whether the event is recorded.
func (e *Event) Durable() bool { return e.Position.Version > 0 }

// committed derives the durable events of a recorded set, in the order in
// which the store counts them.
func committed(id selvage.ThreadID, step int, set *selvage.ChangeSet, messages []selvage.Message, receipt *selvage.Receipt) []Event {
	events := make([]Event, 0, receipt.Events)
	add := func(e Event) {
		e.Position = selvage.Position{Version: receipt.Version, Index: len(events)}
		e.At, e.ThreadID, e.RunID, e.Step = receipt.At, id, set.RunID, step
		events = append(events, e)
	}
	for i := range messages {
		add(Event{Kind: selvage.EventMessage, Message: &messages[i]})
	}
	if set.Snapshot != nil || len(set.Patches) > 0 {
		add(Event{Kind: selvage.EventState, Patches: set.Patches, Snapshot: set.Snapshot})
	}
	for i := range set.Runs {
		add(Event{Kind: selvage.EventRun, Run: &set.Runs[i]})
	}
	for i := range set.Calls {
		add(Event{Kind: selvage.EventToolCall, ToolCall: &set.Calls[i]})
	}
	if set.Thread != nil {
		add(Event{Kind: selvage.EventThread, Thread: set.Thread})
	}
	return events
}
