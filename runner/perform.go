package runner

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

// due returns what there is to do about calls: those of the answer just given,
// or else the open ones that can go on now.
func (x *run) due(ctx context.Context) ([]task, error) {
	if todo := x.todo; len(todo) > 0 {
		x.todo = nil
		return todo, nil
	}
	if len(x.open) == 0 {
		return nil, nil
	}
	if err := x.arrive(ctx, x.open); err != nil {
		return nil, err
	}
	if err := x.endAsked(); err != nil {
		return nil, err
	}
	return x.plan(ctx, x.open), nil
}

// perform answers calls, or has them wait, and records what came of it. If the
// run is to wait after that, it is left to be recorded with that.
func (x *run) perform(ctx context.Context, todo []task) error {
	if x.startsPending() {
		if err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults}); err != nil {
			return err
		}
	}
	var err error
	if x.together() {
		err = x.answerTogether(ctx, todo)
	} else {
		err = x.answerInTurn(ctx, todo)
	}
	if err != nil || x.pending.empty() || x.stop == nil && x.waits() {
		return err
	}
	return x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults})
}

// startsPending reports whether the start of a call is still to be recorded.
func (x *run) startsPending() bool {
	for i := range x.pending.calls {
		if x.pending.calls[i].Status == selvage.CallStarted {
			return true
		}
	}
	return false
}

// answerInTurn answers the calls one after the other: that of a journalled call
// is recorded before the next begins, and others before they are too much for
// one change. Those behind one that is suspended are left open.
func (x *run) answerInTurn(ctx context.Context, todo []task) error {
	behind := 0 // the turn whose calls are left open
	for i := range todo {
		t := &todo[i]
		if t.step == behind {
			x.putBack(t)
			continue
		}
		if err := x.halted(ctx); err != nil {
			return err
		}
		once := x.status(t.call.ID) == selvage.CallStarted
		if err := x.answer(ctx, t); err != nil {
			return err
		}
		if t.ticket != nil {
			behind = t.step
		}
		if i < len(todo)-1 && (once || x.pending.large()) {
			if err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults}); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBack leaves a call open that is behind a suspended one. It was surely not
// begun, whatever the journal says.
func (x *run) putBack(t *task) {
	if begun, here := x.touched[t.call.ID]; here && !begun && x.status(t.call.ID) == selvage.CallStarted {
		delete(x.touched, t.call.ID)
		x.journal(selvage.CallUpdate{CallID: t.call.ID, Status: selvage.CallResuming})
	}
}

// answer finds the result of one call, or what it waits for, and adds it to
// what is to be recorded. An error leaves the call unanswered.
func (x *run) answer(ctx context.Context, t *task) error {
	if err := x.ready(ctx, t); err != nil {
		return err
	}
	if t.ticket != nil || t.verdict != nil {
		return x.settleCall(ctx, t, outcome{})
	}
	if err := ended(ctx); err != nil {
		return err
	}
	if x.startsPending() {
		if err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults}); err != nil {
			return err
		}
	}
	return x.execute(ctx, []*task{t}, x.settleCall)
}

// ready asks the hooks about a call that is about to run. It is then to run,
// unless it has a verdict or a ticket.
func (x *run) ready(ctx context.Context, t *task) error {
	if t.ticket != nil || !x.hooked(selvage.MomentBeforeTool) {
		return nil
	}
	before, err := x.at(ctx, x.callScene(t, selvage.MomentBeforeTool))
	if err != nil {
		return err
	}
	if t.verdict == nil {
		t.verdict = before.Answer
	}
	if t.verdict != nil {
		return nil
	}
	if before.Suspend != nil && t.decision == nil {
		ticket := *before.Suspend
		t.ticket = &ticket
		return nil
	}
	if x.status(t.call.ID) != selvage.CallStarted {
		x.journalStart(t)
	}
	return nil
}

// callScene is what hooks are shown of a call.
func (x *run) callScene(t *task, m selvage.Moment) selvage.Scene {
	scene := selvage.Scene{Moment: m, Call: &t.call, Decision: t.decision}
	if t.bound != nil {
		spec := t.bound.Spec()
		scene.Tool = &spec
	}
	return scene
}

// settleCall adds what became of a call to what is to be recorded: nothing to
// run, a result with what it patched, or something to wait for.
func (x *run) settleCall(ctx context.Context, t *task, o outcome) error {
	if o.err != nil {
		return o.err
	}
	if t.ticket == nil {
		t.ticket = o.ticket
	}
	if t.ticket != nil {
		x.suspend(t, *t.ticket)
		return nil
	}
	if t.verdict == nil {
		t.verdict, t.unknown = &o.result, o.unknown
		// The state is as the tool saw it, so what applied there applies.
		if err := x.patch("tool:"+t.call.Name, o.ops); err != nil {
			return fmt.Errorf("apply the patch of call %q: %w", t.call.ID, err)
		}
		if len(o.ops) > 0 {
			x.pending.changing = append(x.pending.changing, t.call.ID)
		}
	}
	x.conclude(t, *t.verdict)
	scene := x.callScene(t, selvage.MomentAfterTool)
	scene.Result = t.verdict
	_, err := x.at(ctx, scene)
	return err
}
