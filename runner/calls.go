package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// openCall is a call of the run that has no result yet.
type openCall struct {
	call  selvage.ToolCall
	step  int                // the turn it was made in
	offer []selvage.ToolSpec // what the model was offered there
	// erased is that nobody knows its arguments any more.
	erased bool
}

// task is an open call and what is to be done about it.
type task struct {
	openCall
	bound    *tool.Bound         // nil if there is no tool of that name
	verdict  *selvage.ToolResult // the result, if it is clear without running the tool
	denied   bool                // the verdict is that it may not run
	unknown  bool                // the verdict is that it may or may not have happened
	ticket   *selvage.Ticket     // what it has to wait for first
	decision *selvage.Decision   // on which it goes on
	edited   bool                // its arguments are those of a decision
}

// plan judges open calls and journals the start of those that are about to
// have an effect which must not be repeated. Those that can do nothing yet are
// left out.
func (x *run) plan(ctx context.Context, open []openCall) []task {
	todo := make([]task, 0, len(open))
	held := x.spec.ToolCalls == selvage.ToolCallsBatch && x.anySuspended(open)
	behind := 0 // the turn whose further calls wait for one before them
	for i := range open {
		o := &open[i]
		c := x.journalled(o.call.ID)
		fresh := c == nil || c.Status == selvage.CallResuming && c.Decision == nil && c.Ticket == ""
		switch {
		case c != nil && c.Status == selvage.CallSuspended:
			behind = x.blocks(o.step, behind)
			continue
		case fresh && behind == o.step, held && c != nil && c.Status == selvage.CallResuming:
			continue
		}
		t := x.judge(ctx, o, c)
		if t.ticket != nil {
			behind = x.blocks(o.step, behind)
		} else if t.verdict == nil && !x.hooked(selvage.MomentBeforeTool) {
			x.journalStart(&t)
		}
		todo = append(todo, t)
	}
	return todo
}

// blocks returns the turn whose calls wait after one of turn step was
// suspended.
func (x *run) blocks(step, before int) int {
	if x.together() {
		return before
	}
	return step
}

// together reports whether the calls of a turn run at once.
func (x *run) together() bool {
	return x.spec.ToolCalls == selvage.ToolCallsParallel || x.spec.ToolCalls == selvage.ToolCallsBatch
}

// anySuspended reports whether one of the calls waits for a decision.
func (x *run) anySuspended(open []openCall) bool {
	return slices.ContainsFunc(open, func(o openCall) bool { return x.status(o.call.ID) == selvage.CallSuspended })
}

// journalStart journals that a call of effect once is about to run.
func (x *run) journalStart(t *task) {
	if spec := t.bound.Spec(); spec.Effect == selvage.EffectOnce {
		if _, here := x.touched[t.call.ID]; !here {
			x.touched[t.call.ID] = false
		}
		x.journal(selvage.CallUpdate{CallID: t.call.ID, Name: t.call.Name, Effect: spec.Effect,
			Status: selvage.CallStarted, IdempotencyKey: t.call.ID})
	}
}

// judge finds out what is to be done about an open call; c is what the journal
// says about it.
func (x *run) judge(ctx context.Context, o *openCall, c *selvage.Call) task {
	t := task{openCall: *o, bound: x.r.tools[o.call.Name]}
	if t.bound != nil && !offered(o.offer, o.call.Name) {
		t.bound = nil
	}
	if v, ok := x.doc.Get(argumentsAt(o.call.ID)); ok {
		t.edit(v.AppendJSON(nil))
	}
	if c != nil && c.Decision != nil && c.Status != selvage.CallStarted {
		x.heed(&t, c)
	}
	switch {
	case t.verdict != nil:
	case t.erased && !t.edited:
		x.judgeErased(&t, c)
	case c != nil && c.Status == selvage.CallStarted:
		x.judgeUnknown(ctx, &t, c)
	case t.bound == nil:
		t.verdict = x.refusal(o.call.Name, o.offer)
	default:
		x.judgeFresh(ctx, &t, c == nil || c.Ticket == "")
	}
	return t
}

// judgeErased refuses to run a call with other arguments than those that people
// or nobody were asked about: the message that makes it was erased.
func (x *run) judgeErased(t *task, c *selvage.Call) {
	if c != nil && x.maybeHappened(c) {
		t.verdict, t.unknown = unknownOutcome(t.call.Name), true
		return
	}
	t.verdict = failed(fmt.Errorf("%s was not run: its arguments were erased", t.call.Name))
}

// judgeFresh checks the arguments of a call and, if that has not been decided
// yet, whether its tool wants somebody to be asked.
func (x *run) judgeFresh(ctx context.Context, t *task, gated bool) {
	c := x.toolCall(t)
	if err := t.bound.Check(c); err != nil {
		t.verdict = failed(err)
		return
	}
	if !gated {
		return
	}
	if err := t.bound.Gate(ctx, c); err != nil {
		if t.ticket = suspension(err); t.ticket == nil {
			x.report(ctx, t, err)
			t.verdict = failed(err)
		}
	}
}

// heed takes up the decision about a call.
func (x *run) heed(t *task, c *selvage.Call) {
	d, err := c.Decided()
	if err != nil {
		t.verdict = failed(err)
		return
	}
	t.decision = d
	switch {
	case d.Action == selvage.DecisionCancel && strings.HasPrefix(d.ID, "gone-") && waitedForChild(c):
		t.verdict = failed(errors.New(d.Reason))
	case d.Action != selvage.DecisionResume:
		t.verdict, t.denied = deniedResult(d.Reason, waitsUnknown(c)), true
	case d.Result != nil:
		result := resultOf(d.Result)
		t.verdict = &result
	case d.Arguments != nil:
		t.edit(d.Arguments)
	}
}

// edit replaces the arguments of a call by those that were decided on.
func (t *task) edit(arguments json.RawMessage) { t.call.Arguments, t.edited = arguments, true }

// argumentsAt is where a call that waits keeps the arguments that were decided
// on before: the next decision need not repeat them.
func argumentsAt(callID string) state.Pointer {
	return state.At(state.CallsKey, callID, "__arguments")
}

// resultOf makes the result of a call of what a decision says it is.
func resultOf(value json.RawMessage) selvage.ToolResult {
	var text string
	if json.Unmarshal(value, &text) == nil && strings.HasPrefix(strings.TrimSpace(string(value)), `"`) {
		return tool.Text(text)
	}
	return tool.Text(string(value))
}

// deniedResult is what the model reads of a call that may not run.
func deniedResult(reason string, unknown bool) *selvage.ToolResult {
	text := "denied"
	if reason != "" {
		text += ": " + reason
	}
	if unknown {
		text += "\nIt had been interrupted before: whether it took effect is unknown."
	}
	result := tool.Failed("%s", text)
	return &result
}

func failed(err error) *selvage.ToolResult {
	result := tool.Failed("%v", err)
	return &result
}

func offered(offer []selvage.ToolSpec, name string) bool {
	return slices.ContainsFunc(offer, func(s selvage.ToolSpec) bool { return s.Name == name })
}

func notOffered(name string, offer []selvage.ToolSpec) *selvage.ToolResult {
	names := make([]string, len(offer))
	for i := range offer {
		names[i] = offer[i].Name
	}
	result := tool.Failed("there is no tool %q", name)
	if len(names) > 0 {
		result = tool.Failed("there is no tool %q; there are: %s", name, strings.Join(names, ", "))
	}
	return &result
}

// conclude ends a call with a result.
func (x *run) conclude(t *task, result selvage.ToolResult) {
	result.Content = fit(result.Content, maxResultBytes)
	m := resultMessage(t.call.ID, result)
	m.Step = t.step
	if t.unknown {
		mark(&m, MetadataUnknown, true)
	}
	if t.decision != nil {
		mark(&m, MetadataDecided, true)
	}
	if t.edited {
		mark(&m, MetadataArguments, t.call.Arguments)
	}
	x.say(m)
	if x.status(t.call.ID) != "" {
		status := selvage.CallSucceeded
		switch {
		case t.denied:
			status = selvage.CallCancelled
		case result.Failed:
			status = selvage.CallFailed
		}
		x.journal(selvage.CallUpdate{CallID: t.call.ID, Status: status})
	}
	x.open = slices.DeleteFunc(x.open, func(o openCall) bool { return o.call.ID == t.call.ID })
	if t.step < x.answers || x.reply != nil && len(x.reply.ToolCalls) == 0 {
		x.news = true
	}
	x.forget(t.call.ID)
}

// forget deletes what a call has kept for itself.
func (x *run) forget(callID string) {
	cleanup := x.r.opts.State.CallCleanup(x.doc, callID)
	if cleanup == nil {
		return
	}
	all := state.At(state.CallsKey)
	if calls, _ := x.doc.Get(all); calls.Len() == 1 {
		cleanup = state.Patch{state.Delete(all)}
	}
	_ = x.patch(sourceCallEnd, cleanup) // a delete always applies
}

// toolCall is a call as its tool is given it.
func (x *run) toolCall(t *task) *tool.Call {
	return &tool.Call{ThreadID: x.thread, RunID: x.id, UserID: x.user, Step: t.step, ID: t.call.ID, Name: t.call.Name,
		Arguments: t.call.Arguments, IdempotencyKey: t.call.ID, Before: x.doc, Decision: t.decision, Spawner: x.spawner()}
}
