package selvage

import (
	"context"

	"github.com/selvagehq/selvage/state"
)

// HookFunc is called at one moment of a run and answers what it wants done. It
// runs in the run's own goroutine, which waits for it. An error ends the run as
// failed, except at [MomentRunEnd] where it is logged and the outcome stands.
type HookFunc func(ctx context.Context, at Scene) (Effects, error)

// Hook watches runs and steers them. Each func may be nil. Hooks are called in
// the order in which they were given, each seeing what those before it did.
type Hook struct {
	// Name is the source of the hook's patches, as "hook:NAME". No two hooks
	// of a run share one.
	Name string

	RunStart        HookFunc
	StepStart       HookFunc
	BeforeInference HookFunc
	AfterInference  HookFunc
	StepEnd         HookFunc
	BeforeTool      HookFunc
	AfterTool       HookFunc
	RunEnd          HookFunc
}

// At returns the hook's func for a moment, which may be nil.
func (h *Hook) At(m Moment) HookFunc {
	switch m {
	case MomentRunStart:
		return h.RunStart
	case MomentStepStart:
		return h.StepStart
	case MomentBeforeInference:
		return h.BeforeInference
	case MomentAfterInference:
		return h.AfterInference
	case MomentStepEnd:
		return h.StepEnd
	case MomentBeforeTool:
		return h.BeforeTool
	case MomentAfterTool:
		return h.AfterTool
	case MomentRunEnd:
		return h.RunEnd
	default:
		return nil
	}
}

// Scene is what a hook is shown. All of it is read-only.
type Scene struct {
	Moment   Moment
	ThreadID ThreadID
	Run      Run            // with the totals so far
	Step     int            // the turn, from 1; 0 before the first
	State    state.Document // with everything the run has done, recorded or not

	Messages []Message   // before inference: what the model is given
	Tools    []ToolSpec  // before inference: what the model is offered
	Reply    *Message    // after inference and at the end of a step: what it answered
	Call     *ToolCall   // before and after a tool
	Tool     *ToolSpec   // before and after a tool; nil if there is no tool of that name
	Decision *Decision   // before and after a tool: that on which a suspended call goes on
	Result   *ToolResult // after a tool
	Outcome  *Outcome    // at the end of the run; nil if it waits
	Waiting  *Waiting    // at the end of the run, if it waits
}

// Effects is what a hook wants done. The zero value is nothing.
type Effects struct {
	// Patch changes the state. It applies completely or the run fails, and is
	// recorded at the next checkpoint.
	Patch state.Patch

	// Messages join the thread as internal ones: from the next inference on
	// the model reads them, the user does not.
	Messages []Message

	// Stop ends the run as stopped: at once, or after the calls of a turn that
	// has already been asked for. It is ignored at the end of the run.
	Stop *Stop

	// Tools, if not nil, are the names of the only tools the model is offered
	// in this turn; of names from several hooks those count that all of them
	// give. It counts before inference only.
	Tools []string

	// Answer is the result of the call, in place of running its tool. It
	// counts before a tool only; the first hook that gives one decides.
	Answer *ToolResult

	// Suspend makes the call wait for a decision, in place of running its
	// tool. It counts before a tool only, an answer goes before it, and it is
	// ignored in a call that goes on by a decision. An empty id is given one.
	Suspend *Ticket
}

// Stop is why a rule ends a run: a code for programs and a detail for people.
type Stop struct {
	Code   string
	Detail string
}
