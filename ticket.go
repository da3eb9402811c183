package selvage

import (
	"encoding/json"
	"fmt"
	"time"
)

// ResumeMode is how a suspended call goes on when a decision says so.
type ResumeMode string

// The modes.
const (
	// ResumeReplay runs the tool with the arguments of the call.
	ResumeReplay ResumeMode = "replay_call"
	// ResumeResult takes the result of the decision for that of the call; the
	// tool is not run.
	ResumeResult ResumeMode = "decision_as_result"
	// ResumeArguments runs the tool with the arguments of the decision.
	ResumeArguments ResumeMode = "decision_as_arguments"
)

// Ticket is a question that a call waits for, in [CallUpdate.Suspension]. Its
// id is [CallUpdate.Ticket].
type Ticket struct {
	ID      string     `json:"id"`
	Reason  WaitReason `json:"reason"`
	Message string     `json:"message,omitempty"` // for people
	// Details is what is known, any JSON: the arguments as proposed, what is
	// known of an interrupted call, what an agent was asked.
	Details json.RawMessage `json:"details,omitempty"`
	// Schema is the JSON Schema that the result or the arguments of a decision
	// satisfy; none takes anything.
	Schema json.RawMessage `json:"schema,omitempty"`
	// ArgumentsSchema is the JSON Schema of the arguments that the tool takes,
	// which those of a decision are held against where the tool itself is not at
	// hand. The run loop fills it in; none takes any object.
	ArgumentsSchema json.RawMessage `json:"arguments_schema,omitempty"`
	// Mode is how the call goes on. Empty is [ResumeReplay].
	Mode ResumeMode `json:"mode,omitempty"`
	// Unknown reports that the call was begun by a process that is no more, so
	// that it may or may not have taken effect.
	Unknown bool `json:"unknown,omitempty"`
	// Until is when the call goes on without a decision.
	Until *time.Time `json:"until,omitempty"`
	// Signal names the signal that the call waits for.
	Signal string `json:"signal,omitempty"`
	// Child is the run that the call waits for.
	Child *ChildRun `json:"child,omitempty"`
}

// ChildRun names a run on a thread of its own that a call caused.
type ChildRun struct {
	ThreadID ThreadID `json:"thread_id"`
	RunID    RunID    `json:"run_id"`
}

// Asks returns the question that a suspended call waits for, or nil if it does
// not wait. The error matches [ErrCorrupt].
func (c *Call) Asks() (*Ticket, error) {
	if c.Status != CallSuspended || c.Suspension == nil {
		return nil, nil
	}
	var t Ticket
	if err := json.Unmarshal(c.Suspension, &t); err != nil {
		return nil, fmt.Errorf("suspension of call %q: %w (%w)", c.ID, err, ErrCorrupt)
	}
	return &t, nil
}

// DecisionAction is what a decision says about a suspended call.
type DecisionAction string

// The actions.
const (
	DecisionResume DecisionAction = "resume" // it goes on, as the mode of its ticket says
	DecisionCancel DecisionAction = "cancel" // it is not run: the model reads that it was denied, and goes on
	DecisionAbort  DecisionAction = "abort"  // it is not run, and its run ends as cancelled
)

// Decision answers a ticket. It is recorded in [CallUpdate.Decision].
type Decision struct {
	// ID makes a decision repeatable: the same id decides once.
	ID     string         `json:"id"`
	Action DecisionAction `json:"action"`
	// Result is the result of the call, any JSON; a string is taken as text.
	// It decides that the tool is not run.
	Result json.RawMessage `json:"result,omitempty"`
	// Arguments are what the tool is run with, in place of what the model
	// asked for: a JSON object.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Reason    string          `json:"reason,omitempty"` // for the model and for people
	By        string          `json:"by,omitempty"`     // who decided
	At        time.Time       `json:"at,omitzero"`
}

// Decided returns the decision recorded with a call, or nil. The error matches
// [ErrCorrupt].
func (c *Call) Decided() (*Decision, error) {
	if c.Decision == nil {
		return nil, nil
	}
	var d Decision
	if err := json.Unmarshal(c.Decision, &d); err != nil {
		return nil, fmt.Errorf("decision on call %q: %w (%w)", c.ID, err, ErrCorrupt)
	}
	return &d, nil
}
