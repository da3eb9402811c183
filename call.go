package selvage

import (
	"encoding/json"
	"fmt"
	"time"
)

// Effect declares what running a tool twice would do.
type Effect string

// The effects.
const (
	EffectNone       Effect = "none"       // reads only: simply run again
	EffectIdempotent Effect = "idempotent" // running twice is running once: retried with its key
	EffectOnce       Effect = "once"       // journalled before it runs, and never repeated silently
)

// CallStatus is where a journalled tool call stands.
type CallStatus string

// The call statuses. Succeeded, failed and cancelled are terminal: such a call
// never reopens.
const (
	CallStarted   CallStatus = "started"   // about to run, or running: unknown after a crash
	CallSuspended CallStatus = "suspended" // waits for a decision
	CallResuming  CallStatus = "resuming"  // decided, about to run again
	CallSucceeded CallStatus = "succeeded"
	CallFailed    CallStatus = "failed"
	CallCancelled CallStatus = "cancelled"
)

// Terminal reports whether s is final.
func (s CallStatus) Terminal() bool {
	return s == CallSucceeded || s == CallFailed || s == CallCancelled
}

// valid reports whether s is one of the statuses.
func (s CallStatus) valid() bool {
	switch s {
	case CallStarted, CallSuspended, CallResuming:
		return true
	default:
		return s.Terminal()
	}
}

// Call is a journalled tool call. It is kept after it ends.
type Call struct {
	ID             string          `json:"id"`
	ThreadID       ThreadID        `json:"thread_id"`
	RunID          RunID           `json:"run_id,omitempty"`
	Name           string          `json:"name"`
	Effect         Effect          `json:"effect,omitempty"`
	Status         CallStatus      `json:"status"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	Ticket         string          `json:"ticket,omitempty"`
	Suspension     json.RawMessage `json:"suspension,omitempty"` // a [Ticket]
	Decision       json.RawMessage `json:"decision,omitempty"`
	CreatedAt      time.Time       `json:"created_at"`
	UpdatedAt      time.Time       `json:"updated_at"`
}

// CallUpdate journals a tool call. An empty field leaves what is there.
type CallUpdate struct {
	CallID         string          `json:"call_id"`
	Name           string          `json:"name,omitempty"`
	Effect         Effect          `json:"effect,omitempty"`
	Status         CallStatus      `json:"status"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	Ticket         string          `json:"ticket,omitempty"`
	Suspension     json.RawMessage `json:"suspension,omitempty"` // a [Ticket]
	Decision       json.RawMessage `json:"decision,omitempty"`
}

// Apply returns the call that u makes of c at the given time. A nil c is a
// call that is not in the journal yet. The error matches [ErrInvalid]; c is
// never modified.
func (u *CallUpdate) Apply(c *Call, thread ThreadID, run RunID, at time.Time) (*Call, error) {
	if !u.Status.valid() {
		return nil, &InvalidError{Field: "calls", Reason: fmt.Sprintf("call %q: %q is not a call status", u.CallID, u.Status)}
	}
	next := Call{ID: u.CallID, ThreadID: thread, RunID: run, CreatedAt: at}
	if c != nil {
		if c.Status.Terminal() {
			return nil, &InvalidError{Field: "calls", Reason: fmt.Sprintf("call %q is %s, and a terminal call never reopens", u.CallID, c.Status)}
		}
		next = *c
	}
	next.Status, next.UpdatedAt = u.Status, at
	if u.Name != "" {
		next.Name = u.Name
	}
	if u.Effect != "" {
		next.Effect = u.Effect
	}
	if u.IdempotencyKey != "" {
		next.IdempotencyKey = u.IdempotencyKey
	}
	if u.Ticket != "" {
		next.Ticket = u.Ticket
	}
	if u.Suspension != nil {
		next.Suspension = u.Suspension
	}
	if u.Decision != nil {
		next.Decision = u.Decision
	}
	return &next, nil
}
