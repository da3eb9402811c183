package runner

import (
	"context"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// maxTogether bounds how many calls of a turn run at the same time.
const maxTogether = 32

// answerTogether runs the calls at once, each on the state as it is now, and
// takes what they did in the order of the calls when all have ended; what a
// call of effect once did is recorded as soon as it has. One whose changes
// contradict those taken before it has failed.
func (x *run) answerTogether(ctx context.Context, todo []task) error {
	var running []*task
	for i := range todo {
		t := &todo[i]
		if err := x.ready(ctx, t); err != nil {
			return err
		}
		if t.ticket == nil && t.verdict == nil {
			running = append(running, t)
		}
	}
	if err := ended(ctx); err != nil {
		return err
	}
	if x.startsPending() {
		if err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults}); err != nil {
			return err
		}
	}
	b := &batch{x: x, came: make(map[*task]outcome, len(running))}
	if len(running) > 0 {
		if err := x.execute(ctx, running, b.arrive); err != nil {
			b.keep(ctx, todo)
			return err
		}
	}
	return b.settle(ctx, todo)
}

// batch is the calls of a turn that run at once.
type batch struct {
	x       *run
	came    map[*task]outcome // ended, but not taken yet
	applied []applied
}

// applied is what a call of a batch has changed.
type applied struct {
	call selvage.ToolCall
	ops  state.Patch
}

// arrive takes in how a call ended.
func (b *batch) arrive(ctx context.Context, t *task, o outcome) error {
	if o.err != nil {
		return o.err
	}
	if b.x.status(t.call.ID) != selvage.CallStarted {
		b.came[t] = o
		return nil
	}
	if err := b.take(ctx, t, o); err != nil {
		return err
	}
	return b.x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults})
}

// settle takes what is left, in the order of the calls.
func (b *batch) settle(ctx context.Context, todo []task) error {
	for i := range todo {
		t := &todo[i]
		o, came := b.came[t]
		if !came && t.ticket == nil && t.verdict == nil || b.taken(t) {
			continue
		}
		if err := b.take(ctx, t, o); err != nil {
			return err
		}
		if b.x.pending.large() {
			if err := b.x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults}); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep takes what has ended of a batch that was interrupted, as far as it can.
func (b *batch) keep(ctx context.Context, todo []task) {
	for i := range todo {
		if o, came := b.came[&todo[i]]; came && b.take(ctx, &todo[i], o) != nil {
			return
		}
	}
}

// taken reports whether a call of the batch is no longer to be settled.
func (b *batch) taken(t *task) bool {
	status := b.x.status(t.call.ID)
	return !b.x.isOpen(t.call.ID) || status == selvage.CallSuspended
}

// take settles one call, which has failed if what it changed contradicts what
// another has.
func (b *batch) take(ctx context.Context, t *task, o outcome) error {
	// What it did besides is done.
	done := t.bound != nil && t.bound.Spec().Effect == selvage.EffectOnce
	for _, a := range b.applied {
		if conflict, ok := state.Conflicts(a.ops, o.ops); ok {
			o = outcome{unknown: done, result: tool.Failed("%s ran, but its changes to the state contradict those of %s, which ran at the same time (call %s and call %s: %s). None of them was made.",
				t.call.Name, a.call.Name, t.call.ID, a.call.ID, conflict)}
			break
		}
	}
	if _, err := o.ops.Apply(b.x.doc); err != nil {
		o = outcome{unknown: done, result: tool.Failed("%s ran, but its changes to the state no longer apply, and none of them was made: %v", t.call.Name, err)}
	}
	if len(o.ops) > 0 {
		b.applied = append(b.applied, applied{t.call, o.ops})
	}
	delete(b.came, t)
	return b.x.settleCall(ctx, t, o)
}
