// Package tool is the contract between the run loop and what a model may have
// done: a [Tool] declares itself with a [selvage.ToolSpec] and answers one
// [Call] with one result.
//
// [New] and [Func] make a tool of a Go function: the JSON Schema of the
// arguments comes from the type of its input, what the model sends is checked
// against it, and a fault goes back to the model with the path of every
// mistake. Each tool declares its effect, what running it twice would do,
// because after a crash that decides what happens to a call nobody has the
// result of.
//
// A tool reads the state of the thread and proposes patches; it never writes to
// a store. What it proposes is recorded together with its result, or not at
// all.
package tool

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

// Tool is something that a model may have done. Implementations are safe for
// concurrent use.
type Tool interface {
	// Spec declares the tool. It always answers the same.
	Spec() selvage.ToolSpec

	// Run runs one call, whose arguments satisfy the schema of the spec. An
	// error makes the call fail: the model reads its text and goes on. Run
	// returns promptly when ctx ends, and leaves nothing running.
	Run(ctx context.Context, c *Call) (selvage.ToolResult, error)
}

// The answers of a tool whose effect is once to the question what becomes of a
// call whose outcome a crash left unknown.
const (
	AskUnknown   = selvage.OnUnknownAsk   // somebody is asked
	ProbeUnknown = selvage.OnUnknownProbe // the tool looks; see [Prober]
	RetryUnknown = selvage.OnUnknownRetry // it is run again with its idempotency key
	FailUnknown  = selvage.OnUnknownFail  // it fails, saying so, and is not repeated
)

// Text returns a result that says text.
func Text(text string) selvage.ToolResult {
	return selvage.ToolResult{Content: selvage.Text(text)}
}

// Failed returns a failed result that says why.
func Failed(format string, args ...any) selvage.ToolResult {
	return selvage.ToolResult{Content: selvage.Text(fmt.Sprintf(format, args...)), Failed: true}
}
