package tool

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

// Suspended is the error with which a tool, or the gate of one, makes its call
// wait for a decision. What the call has patched is dropped.
type Suspended struct{ Ticket selvage.Ticket }

func (e *Suspended) Error() string {
	return fmt.Sprintf("waits for %s: %s", e.Ticket.Reason, e.Ticket.Message)
}

// Suspend returns a [Suspended]. A ticket without id is given one.
func Suspend(t selvage.Ticket) error { return &Suspended{t} }

// Gated is a tool that decides before a call is begun whether it may run
// unasked. Being asked has no effect.
type Gated interface {
	Tool
	// Gate returns nil if the call may run, a [Suspended] if somebody is to be
	// asked first, and any other error to have the call fail. It is not called
	// again for a call that a decision lets go on.
	Gate(ctx context.Context, c *Call) error
}

// Finding is what a tool finds out about a call that a crash interrupted.
type Finding string

// The findings.
const (
	Happened   Finding = "happened"   // it took effect, and the result says so
	Untouched  Finding = "untouched"  // it did not take effect: it is run
	Unresolved Finding = "unresolved" // the tool cannot tell: people are asked
)

// Prober is a tool that can find out whether a call took effect, for
// [selvage.OnUnknownProbe].
type Prober interface {
	Tool
	// Probe looks and changes nothing. The result counts for [Happened] alone.
	// An error is [Unresolved].
	Probe(ctx context.Context, c *Call) (Finding, selvage.ToolResult, error)
}

// As finds a capability of a tool, such as [Gated] or [Prober].
func As[T Tool](t Tool) (T, bool) {
	found, ok := t.(T)
	if f, made := t.(interface{ has(target any) bool }); ok && made && !f.has(&found) {
		var none T
		return none, false
	}
	return found, ok
}
