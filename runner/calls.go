package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// task is a call and what is to be done about it.
type task struct {
	call    selvage.ToolCall
	bound   *tool.Bound         // nil if there is no tool of that name
	verdict *selvage.ToolResult // the result, if it is clear without running the tool
	journal bool                // it is journalled as started
}

// plan judges the calls of an answer and journals the start of those that are
// about to have an effect which must not be repeated.
func (x *run) plan(calls []selvage.ToolCall, offer []selvage.ToolSpec) []task {
	todo := make([]task, len(calls))
	for i, call := range calls {
		t := &todo[i]
		t.call, t.bound = call, x.r.tools[call.Name]
		switch {
		case mayHaveRun(x.status(call.ID)):
			// Begun by a process that died: nobody knows whether it happened.
			t.journal, t.verdict = true, unknownOutcome(call.Name)
			continue
		case t.bound == nil || !offered(offer, call.Name):
			t.bound, t.verdict = nil, notOffered(call.Name, offer)
			continue
		}
		if err := t.bound.Check(x.toolCall(&call)); err != nil {
			failed := tool.Failed("%v", err)
			t.verdict = &failed
			continue
		}
		if spec := t.bound.Spec(); spec.Effect == selvage.EffectOnce {
			t.journal = true
			x.journal(selvage.CallUpdate{CallID: call.ID, Name: call.Name, Effect: spec.Effect,
				Status: selvage.CallStarted, IdempotencyKey: call.ID})
		}
	}
	return todo
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

// unknownOutcome is the result of a call that may or may not have happened.
func unknownOutcome(name string) *selvage.ToolResult {
	result := tool.Failed("%s was interrupted. Its outcome is unknown: it may or may not have taken effect, and it was not repeated.", name)
	return &result
}

// answerAll answers the calls one after the other and records their results,
// that of a journalled call before the next begins, and others before they are
// too much for one change.
func (x *run) answerAll(ctx context.Context, todo []task) error {
	for i := range todo {
		if err := ended(ctx); err != nil {
			return err
		}
		if err := x.answer(ctx, &todo[i]); err != nil {
			return err
		}
		if i == len(todo)-1 || todo[i].journal || x.pending.large() {
			if err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults}); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer finds the result of one call and adds it to what is to be recorded.
// An error leaves the call unanswered.
func (x *run) answer(ctx context.Context, t *task) error {
	scene := selvage.Scene{Moment: selvage.MomentBeforeTool, Call: &t.call}
	if t.bound != nil {
		spec := t.bound.Spec()
		scene.Tool = &spec
	}
	before, err := x.at(ctx, scene)
	if err != nil {
		return err
	}
	if t.verdict == nil {
		t.verdict = before.Answer
	}
	result := t.verdict
	if result == nil {
		if err := ended(ctx); err != nil {
			return err
		}
		var ops state.Patch
		if result, ops, err = x.call(ctx, t); err != nil {
			return err
		}
		// The state is as the tool saw it, so what applied there applies.
		if err := x.patch("tool:"+t.call.Name, ops); err != nil {
			return fmt.Errorf("apply the patch of call %q: %w", t.call.ID, err)
		}
	}
	x.conclude(t.call, *result, t.journal)
	scene.Moment, scene.Result = selvage.MomentAfterTool, result
	_, err = x.at(ctx, scene)
	return err
}

// call runs the tool of a call.
func (x *run) call(ctx context.Context, t *task) (*selvage.ToolResult, state.Patch, error) {
	e := x.event(EventCall)
	e.Call = &t.call
	x.out.emit(e)
	c := x.toolCall(&t.call)
	x.touched[t.call.ID] = true
	inside, over := x.observe(ctx, Activity{Kind: ActivityTool, Tool: t.call.Name, CallID: t.call.ID, Effect: t.bound.Spec().Effect})
	result, err := x.execute(inside, t, c)
	var asks *tool.Suspended
	over(Ended{Err: err, Failed: result.Failed, Suspended: errors.As(err, &asks)})
	if cause := ended(ctx); err != nil && cause != nil && errors.Is(err, ctx.Err()) {
		return nil, nil, cause
	}
	x.report(ctx, t, err)
	if result.Failed {
		return &result, nil, nil
	}
	return &result, c.Patches(), nil
}

// execute runs a tool in a goroutine of its own, which it waits for, so that
// progress is told in the goroutine of the run.
func (x *run) execute(ctx context.Context, t *task, c *tool.Call) (result selvage.ToolResult, err error) {
	progress, done := make(chan string), make(chan struct{})
	c.OnProgress = func(text string) {
		select {
		case progress <- text:
		case <-done:
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(done)
		result, err = t.bound.Run(ctx, c)
	}()
	defer func() {
		cancel()
		<-done
	}()
	for {
		select {
		case text := <-progress:
			e := x.event(EventProgress)
			e.Call, e.Note = &t.call, text
			x.out.emit(e)
		case <-done:
			return result, err
		}
	}
}

// report logs why a tool failed.
func (x *run) report(ctx context.Context, t *task, err error) {
	var crash *tool.PanicError
	switch {
	case errors.As(err, &crash):
		x.log.ErrorContext(ctx, "tool panicked", "run", x.id, "call", t.call.ID, "tool", t.call.Name,
			"panic", crash.Value, "stack", string(crash.Stack))
	case err != nil:
		x.log.DebugContext(ctx, "tool failed", "run", x.id, "call", t.call.ID, "tool", t.call.Name, "err", err)
	}
}

// conclude ends a call with a result.
func (x *run) conclude(call selvage.ToolCall, result selvage.ToolResult, journalled bool) {
	result.Content = fit(result.Content, maxResultBytes)
	m := resultMessage(call.ID, result)
	m.Step = x.step
	x.say(m)
	if journalled {
		status := selvage.CallSucceeded
		if result.Failed {
			status = selvage.CallFailed
		}
		x.journal(selvage.CallUpdate{CallID: call.ID, Status: status})
	}
	x.forget(call.ID)
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
func (x *run) toolCall(call *selvage.ToolCall) *tool.Call {
	return &tool.Call{ThreadID: x.thread, RunID: x.id, UserID: x.user, Step: x.step, ID: call.ID, Name: call.Name,
		Arguments: call.Arguments, IdempotencyKey: call.ID, Before: x.doc}
}
