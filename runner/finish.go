package runner

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// finish ends the run and records its outcome. It returns no result if that
// could not be recorded.
func (x *run) finish(ctx context.Context, outcome selvage.Outcome, cause error) (*Result, error) {
	if lost := ended(ctx); lostLease(lost) {
		return nil, &StateError{ThreadID: x.thread, RunID: x.id, Reason: selvage.ReasonRunFinished, Err: lost}
	}
	// What is left to do is done although the run was cancelled.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.r.opts.Grace)
	defer cancel()
	x.out.cancel, x.patience = nil, x.r.opts.Grace

	var failed *StateError
	if errors.As(cause, &failed) && !x.salvage(failed) {
		return nil, failed
	}
	if cause != nil || len(x.open) > 0 {
		var why *CancelledError
		errors.As(cause, &why)
		x.closeCalls(why)
		if failed == nil && !x.pending.empty() {
			if err := x.checkpoint(ctx, checkpoint{reason: x.natural()}); err != nil {
				cause, outcome = err, x.verdict(ctx, err)
				if errors.As(err, &failed) && !x.salvage(failed) {
					return nil, failed
				}
			}
		}
	}
	if outcome.Kind == selvage.OutcomeStopped {
		cause = nil // a limit is no error, also if it interrupts
	}
	x.settleContext(ctx, cause != nil)
	x.lastHooks(ctx, selvage.Scene{Outcome: &outcome})
	if outcome.Kind == selvage.OutcomeCancelled {
		x.say(cancelNote(x.step))
	}
	result, err := x.conclusion(ctx, outcome, cause, failed != nil)
	if result != nil {
		x.aftermath(ctx)
	}
	return result, err
}

// conclusion records the end of the run. If it is contradicted, which leaves
// out what contradicts it, the run has failed and that is recorded.
func (x *run) conclusion(ctx context.Context, outcome selvage.Outcome, cause error, once bool) (*Result, error) {
	for {
		end := x.totals(selvage.RunDone)
		// What failed may quote bytes that no store takes.
		outcome.Code, outcome.Detail = strings.ToValidUTF8(outcome.Code, "\uFFFD"), strings.ToValidUTF8(outcome.Detail, "\uFFFD")
		end.Outcome = &outcome
		if cause != nil {
			text := strings.ToValidUTF8(cause.Error(), "\uFFFD")
			end.Error = &text
		}
		err := x.record(ctx, checkpoint{reason: selvage.ReasonRunFinished, runs: []selvage.RunUpdate{end}, once: once})
		var contradiction *IncompatibleError
		switch {
		case err == nil:
			if x.superseded {
				x.settled(ctx)
			}
			return x.result(outcome, cause)
		case !errors.As(err, &contradiction) || contradiction.over:
			return nil, err
		}
		cause, outcome = err, x.verdict(ctx, err)
	}
}

// salvage keeps of the pending delta what may still be recorded after a
// checkpoint failed, and reports whether anything may, the end of the run
// included.
func (x *run) salvage(failed *StateError) bool {
	var contradiction *IncompatibleError
	switch {
	case errors.Is(failed, selvage.ErrFenced), errors.Is(failed, selvage.ErrClosed), errors.Is(failed, selvage.ErrGone), errors.Is(failed, selvage.ErrNotFound):
		return false
	case errors.As(failed, &contradiction):
		return !contradiction.over
	case unsettled(failed), errors.Is(failed, selvage.ErrConflict):
		return true
	}
	// The store refuses something in it, and again what was kept of it.
	kept := delta{}
	if !x.salvaged {
		kept = x.happened()
	}
	x.salvaged, x.pending, x.doc = true, kept, x.base
	return true
}

// salvagedBytes bounds what is kept of one result of a delta that was refused.
const salvagedBytes = 4 << 10

// happened is what the pending delta tells of calls that are recorded: that
// they are over, and the text of their results.
func (x *run) happened() delta {
	var d delta
	for _, m := range x.pending.messages {
		if m.Role != selvage.RoleTool || callOf(x.window, m.ToolCallID) < 0 {
			continue
		}
		m.Content = fit(slices.DeleteFunc(slices.Clone(m.Content), func(p selvage.Part) bool { return p.Type != selvage.PartText }), salvagedBytes)
		d.messages = append(d.messages, m)
	}
	for _, u := range x.pending.calls {
		if _, recorded := x.calls[u.CallID]; recorded && u.Status.Terminal() {
			d.calls = append(d.calls, u)
		}
	}
	return d
}

// natural is the reason of a change that records what is pending.
func (x *run) natural() selvage.Reason {
	reason := selvage.ReasonUserMessage
	if len(x.pending.calls) > 0 {
		reason = selvage.ReasonToolResults
	}
	for i := range x.pending.messages {
		switch x.pending.messages[i].Role {
		case selvage.RoleTool:
			return selvage.ReasonToolResults
		case selvage.RoleAssistant:
			reason = selvage.ReasonAssistantTurn
		}
	}
	return reason
}

// closeCalls answers the calls that a run leaves behind when it ends early, so
// that none stays without a result, and ends those in the journal. If a call
// was denied the results say so.
func (x *run) closeCalls(why *CancelledError) {
	for _, c := range unanswered(x.messages(), x.id) {
		x.closeCall(c, x.id, why)
	}
	for _, id := range slices.Sorted(maps.Keys(x.calls)) {
		// The message that made it is beyond the window.
		if c := x.journalled(id); c != nil && c.RunID == x.id {
			x.closeCall(selvage.ToolCall{ID: id, Name: c.Name}, x.id, why)
		}
	}
	x.open = nil
}

// closeCall ends a call of a run that goes on no more. If it is unknown
// whether it took effect the result says so.
func (x *run) closeCall(c selvage.ToolCall, owner selvage.RunID, why *CancelledError) {
	recorded := x.journalled(c.ID)
	result, status := tool.Failed("%s %s has no result: the run ended first.", interrupted, c.Name), selvage.CallCancelled
	unknown := recorded != nil && x.maybeHappened(recorded)
	switch {
	case why != nil && why.Code == CodeDenied && recorded != nil && recorded.Status != selvage.CallStarted:
		result = *deniedResult(why.Reason, unknown)
	case unknown:
		result, status = *unknownOutcome(c.Name), selvage.CallFailed
	}
	m := resultMessage(c.ID, result)
	m.RunID = owner
	if unknown {
		mark(&m, MetadataUnknown, true)
	}
	x.say(m)
	if recorded != nil {
		x.journal(selvage.CallUpdate{CallID: c.ID, Status: status})
	}
}

// lastHooks calls the hooks of the run's end. What they get wrong changes
// nothing about it, and nor do they stop it.
func (x *run) lastHooks(ctx context.Context, scene selvage.Scene) {
	scene.Moment = selvage.MomentRunEnd
	stop := x.stop
	if _, err := x.at(ctx, scene); err != nil {
		x.log.ErrorContext(ctx, "hook failed", "run", x.id, "err", err)
	}
	x.stop = stop
}

// result is what the caller is told of a run that is done.
func (x *run) result(outcome selvage.Outcome, cause error) (*Result, error) {
	result := &Result{ThreadID: x.thread, RunID: x.id, Outcome: outcome, Usage: x.usage, Cost: x.cost,
		Steps: x.answers, Version: x.version}
	// What a rule stopped after an answer has that answer; one with calls is
	// the middle of a turn.
	stopped := outcome.Kind == selvage.OutcomeStopped && x.reply != nil && len(x.reply.ToolCalls) == 0
	if stopped || outcome.Kind == selvage.OutcomeCompleted && x.reply != nil {
		result.Text = x.reply.Text()
	}
	return result, failure(result, cause)
}

// failure is the error that goes with a result: nil unless the run failed or
// was cancelled.
func failure(result *Result, cause error) error {
	if k := result.Outcome.Kind; k != selvage.OutcomeFailed && k != selvage.OutcomeCancelled {
		return nil
	}
	return &FailedError{ThreadID: result.ThreadID, RunID: result.RunID, Outcome: result.Outcome, Err: cause}
}
