package runner

import (
	"context"
	"encoding/json"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// unknownOutcome is the result of a call that may or may not have happened.
func unknownOutcome(name string) *selvage.ToolResult {
	result := tool.Failed("%s was interrupted. Its outcome is unknown: it may or may not have taken effect, and it was not repeated.", name)
	return &result
}

// judgeUnknown finds out what is to be done about a call that a process which
// is no more had begun: nobody knows whether it took effect.
func (x *run) judgeUnknown(ctx context.Context, t *task, c *selvage.Call) {
	if t.bound == nil {
		t.verdict, t.unknown = unknownOutcome(c.Name), true
		return
	}
	if d, err := c.Decided(); err == nil && d != nil {
		t.decision = d
		if d.Arguments != nil {
			t.edit(d.Arguments)
		}
	}
	switch t.bound.Spec().OnUnknown {
	case selvage.OnUnknownRetry:
	case selvage.OnUnknownProbe:
		x.probe(ctx, t, c)
	case selvage.OnUnknownAsk:
		t.ticket = unknownTicket(t, c)
	default:
		t.verdict, t.unknown = unknownOutcome(c.Name), true
	}
}

// probe asks the tool what became of a call.
func (x *run) probe(ctx context.Context, t *task, c *selvage.Call) {
	found, result, err := t.bound.Probe(ctx, x.toolCall(t))
	if err != nil {
		x.log.WarnContext(ctx, "probe failed", "run", x.id, "call", t.call.ID, "tool", t.call.Name, "err", err)
	}
	switch found {
	case tool.Happened:
		t.verdict = &result
	case tool.Untouched:
	default:
		t.ticket = unknownTicket(t, c)
	}
}

// unknownCall is what a ticket says of a call of unknown outcome.
type unknownCall struct {
	Tool           string          `json:"tool"`
	Arguments      json.RawMessage `json:"arguments,omitempty"`
	IdempotencyKey string          `json:"idempotency_key"`
	StartedAt      time.Time       `json:"started_at"`
}

// unknownTicket asks people what became of a call.
func unknownTicket(t *task, c *selvage.Call) *selvage.Ticket {
	details, _ := json.Marshal(unknownCall{c.Name, t.call.Arguments, c.IdempotencyKey, c.UpdatedAt}) // all of it is JSON
	return &selvage.Ticket{Reason: selvage.WaitApproval, Unknown: true, Details: details,
		Message: c.Name + " was interrupted: it may or may not have taken effect. Have it run again, give its result, or deny it."}
}

// waitsUnknown reports whether a call waits, or waited last, because its
// outcome was unknown.
func waitsUnknown(c *selvage.Call) bool {
	var t selvage.Ticket
	return c.Suspension != nil && json.Unmarshal(c.Suspension, &t) == nil && t.Unknown
}

// maybeHappened reports whether an open call may have taken effect, given that
// this process did not finish it.
func (x *run) maybeHappened(c *selvage.Call) bool {
	switch begun, here := x.touched[c.ID]; {
	case c.Status == selvage.CallStarted:
		return begun || !here
	default:
		return waitsUnknown(c)
	}
}

// waitedForChild reports whether a call waits, or waited, for a run that it
// spawned.
func waitedForChild(c *selvage.Call) bool {
	var t selvage.Ticket
	return c.Suspension != nil && json.Unmarshal(c.Suspension, &t) == nil && t.Child != nil
}
