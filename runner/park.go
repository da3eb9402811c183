package runner

import (
	"context"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

// waits reports whether there is nothing that the run can do before a call
// goes on that waits.
func (x *run) waits() bool {
	if len(x.open) == 0 || x.reply == nil || x.news {
		return false
	}
	open, behind := 0, false
	for _, c := range x.reply.ToolCalls {
		if !x.isOpen(c.ID) {
			continue
		}
		open++
		recorded := x.journalled(c.ID)
		behind = behind || recorded == nil || recorded.Status == selvage.CallResuming && recorded.Decision == nil
	}
	return open == len(x.reply.ToolCalls) || behind || open > 0 && !x.together() && x.underDecision()
}

// underDecision reports whether a call of the last answer went on by a
// decision: whoever decides on calls that run one after the other decides on
// all of them before the model is asked again. It is read from the results, so
// that another process finds the same.
func (x *run) underDecision() bool {
	messages := x.messages()
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.ID == x.reply.ID {
			break
		}
		if m.Role == selvage.RoleTool && len(m.Metadata[MetadataDecided]) > 0 &&
			slices.ContainsFunc(x.reply.ToolCalls, func(c selvage.ToolCall) bool { return c.ID == m.ToolCallID }) {
			return true
		}
	}
	return false
}

// waiting is what the run waits for: the tickets of its calls, in their order.
func (x *run) waiting() *selvage.Waiting {
	w := &selvage.Waiting{}
	for _, q := range x.questions() {
		t := &q.Ticket
		if len(w.Tickets) == 0 {
			w.Reason, w.Message = t.Reason, t.Message
		}
		w.Tickets = append(w.Tickets, t.ID)
		w.Until = earlier(w.Until, t.Until)
	}
	return w
}

// earlier returns the earlier of two times, of which either may not be.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

// questions are the calls of the run that wait, and what for.
func (x *run) questions() []Question {
	var all []Question
	for i := range x.open {
		if c := x.journalled(x.open[i].call.ID); c != nil {
			if t, err := c.Asks(); err == nil && t != nil {
				all = append(all, Question{Call: x.open[i].call, Ticket: *t})
			}
		}
	}
	return all
}

// park records that the run waits, with what is pending. If something came
// for it in the meantime it goes on, and there is no result.
func (x *run) park(ctx context.Context, w *selvage.Waiting) (*Result, error) {
	x.lastHooks(ctx, selvage.Scene{Waiting: w})
	x.settleBeforeWaiting(ctx)
	update := x.totals(selvage.RunWaiting)
	update.Waiting = w
	if err := x.checkpoint(ctx, checkpoint{reason: x.pausing(), runs: []selvage.RunUpdate{update}}); err != nil {
		return nil, err
	}
	if err := x.lookAtChildren(ctx); err != nil {
		return nil, err
	}
	parked := x.current()
	parked.Status, parked.Waiting = selvage.RunWaiting, w
	goes, err := x.ripe(&parked)
	if err != nil {
		return nil, err
	}
	if !goes {
		return x.waitingResult(w), nil
	}
	if err := x.wake(ctx); err != nil {
		return nil, err
	}
	_, err = x.at(ctx, selvage.Scene{Moment: selvage.MomentRunStart})
	return nil, err
}

// lookAtChildren sees to children of the run that ended before it was recorded
// that calls wait for them, so that whoever ended them found nobody to tell.
func (x *run) lookAtChildren(ctx context.Context) error {
	if !slices.ContainsFunc(x.questions(), func(q Question) bool { return q.Ticket.Child != nil }) {
		return nil
	}
	err := catchUpWithChildren(ctx, x.store, &selvage.Run{ID: x.id, ThreadID: x.thread, Status: selvage.RunWaiting}, x.log)
	if err == nil {
		err = x.absorb(ctx)
	}
	x.flush()
	if err != nil {
		return &StateError{ThreadID: x.thread, RunID: x.id, Reason: selvage.ReasonDecision, Err: err}
	}
	return nil
}

// ripe reports whether the run, as it is recorded, can go on.
func (x *run) ripe(run *selvage.Run) (bool, error) {
	calls := make([]selvage.Call, 0, len(x.calls))
	for _, c := range x.calls {
		calls = append(calls, *c)
	}
	return ripe(run, x.base, calls, x.r.opts.Now())
}

// wake records that the run goes on, within the limits that are in force now.
func (x *run) wake(ctx context.Context) error {
	update := x.totals(selvage.RunRunning)
	update.Limits = x.raised
	return x.checkpoint(ctx, checkpoint{reason: selvage.ReasonDecision, runs: []selvage.RunUpdate{update}})
}

// pausing is the reason of the change after which the run waits: that of what
// it has done last.
func (x *run) pausing() selvage.Reason {
	if x.answers > 0 {
		return selvage.ReasonToolResults
	}
	return selvage.ReasonUserMessage
}

// waitingResult is what the caller is told of a run that waits.
func (x *run) waitingResult(w *selvage.Waiting) *Result {
	return &Result{ThreadID: x.thread, RunID: x.id, Usage: x.usage, Cost: x.cost, Steps: x.answers, Version: x.version,
		Waiting: w, Tickets: x.questions()}
}
