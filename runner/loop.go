package runner

import (
	"context"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// steps takes a prepared run through its turns and returns how it ended, and
// why if it failed, was cancelled or ran out of time; or that it waits.
func (x *run) steps(ctx context.Context) (ending, error) {
	x.reconcile(ctx)
	outcome, err := x.start(ctx)
	for outcome == nil && err == nil {
		if err = x.halted(ctx); err != nil {
			break
		}
		var result *Result
		if outcome, result, err = x.next(ctx); result != nil {
			return ending{result: result}, nil
		}
	}
	if err != nil {
		return ending{outcome: x.verdict(ctx, err)}, err
	}
	return ending{outcome: *outcome}, nil
}

// next does what is to be done now: something about calls that can go on, or
// else one more turn. It returns an outcome if the run is over, and a result
// if it waits.
func (x *run) next(ctx context.Context) (*selvage.Outcome, *Result, error) {
	todo, err := x.due(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(todo) == 0 {
		x.turnOver()
	}
	switch {
	case len(todo) > 0:
		return nil, nil, x.perform(ctx, todo)
	case x.stop != nil:
		return x.stopped(), nil, nil
	case x.waits():
		result, err := x.park(ctx, x.waiting())
		return nil, result, err
	case x.saidAll():
		return completed(model.FinishStop), nil, nil
	}
	if x.overdue() {
		outcome := x.timedOut()
		return &outcome, nil, nil
	}
	outcome, limit, err := x.limited(ctx)
	if limit != nil {
		return x.atLimit(ctx, limit)
	}
	if outcome != nil || err != nil {
		return outcome, nil, err
	}
	outcome, result, err := x.betweenSteps(ctx)
	if outcome != nil || result != nil || err != nil {
		return outcome, result, err
	}
	if outcome, err = x.turn(ctx); err != nil {
		return x.decided(ctx, err)
	}
	return outcome, nil, nil
}

// saidAll reports whether the model had nothing more to do when it answered
// last, and nothing has come since.
func (x *run) saidAll() bool {
	return x.reply != nil && len(x.reply.ToolCalls) == 0 && len(x.open) == 0 && !x.news && !x.unheard()
}

// start calls the hooks of the run's start and, in a run that another process
// began, finishes the turn it was in.
func (x *run) start(ctx context.Context) (*selvage.Outcome, error) {
	if _, err := x.at(ctx, selvage.Scene{Moment: selvage.MomentRunStart}); err != nil {
		return nil, err
	}
	if err := x.checkpointPending(ctx); err != nil {
		return nil, err
	}
	if x.stop != nil {
		return x.stopped(), nil
	}
	if x.resumed {
		if err := x.recall(ctx); err != nil {
			return nil, err
		}
		return nil, x.catchUp(ctx)
	}
	return nil, nil
}

// catchUp goes on in the turn in which another process left the run, and ends
// the calls in the journal that nobody knows the beginning of.
func (x *run) catchUp(ctx context.Context) error {
	x.stop = x.halt
	x.closeOrphans(func(id string) bool { return x.isOpen(id) })
	if x.pending.empty() {
		return nil
	}
	return x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults})
}

// locate finds out where in a turn another process left the run: what the
// model said last, and which calls have no result. It is for the messages as
// they were loaded, before the window moves on.
func (x *run) locate() {
	messages := x.messages()
	said := lastAnswer(messages, x.id, x.answers)
	x.open = x.leftOpen(messages, said)
	if said >= 0 {
		x.reply, x.halt = &messages[said], x.stopAsked(messages[said:])
		x.news = lateResult(messages, said, x.id) || lateSince(messages[:said], frameIn(x.reply), x.id)
	}
}

// leftOpen returns the calls of the run that have no result: those of its last
// answer, and of earlier ones those that the journal knows. What else calls
// tools came in with the input.
func (x *run) leftOpen(messages []selvage.Message, said int) []openCall {
	answered := make(map[string]bool)
	for i := range messages {
		if messages[i].Role == selvage.RoleTool {
			answered[messages[i].ToolCallID] = true
		}
	}
	var open []openCall
	for i := range messages {
		m := &messages[i]
		if m.RunID != x.id || m.Role != selvage.RoleAssistant {
			continue
		}
		for _, c := range m.ToolCalls {
			if !answered[c.ID] && (said >= 0 && i >= said || x.status(c.ID) != "") {
				open = append(open, openCall{call: c, step: m.Step, offer: x.offeredWith(m), erased: m.Erased})
			}
		}
	}
	return open
}

// lateResult reports whether a result came after the last answer that is not
// one of its calls.
func lateResult(messages []selvage.Message, said int, run selvage.RunID) bool {
	own := messages[said].ToolCalls
	return slices.ContainsFunc(messages[said:], func(m selvage.Message) bool {
		return m.Role == selvage.RoleTool && m.RunID == run &&
			!slices.ContainsFunc(own, func(c selvage.ToolCall) bool { return c.ID == m.ToolCallID })
	})
}

// isOpen reports whether a call of the run has no result yet.
func (x *run) isOpen(callID string) bool {
	return slices.ContainsFunc(x.open, func(o openCall) bool { return o.call.ID == callID })
}

// lastAnswer returns the index of the last of the answers that the model has
// given in a run, or -1. What came in with the input is before it.
func lastAnswer(messages []selvage.Message, run selvage.RunID, answers int) int {
	for i := len(messages) - 1; i >= 0 && answers > 0; i-- {
		if m := &messages[i]; m.RunID == run && m.Role == selvage.RoleAssistant && m.Step == answers && !m.Internal() {
			return i
		}
	}
	return -1
}

// turn asks the model once and runs the calls it makes. It returns an outcome
// if the run is over.
func (x *run) turn(ctx context.Context) (outcome *selvage.Outcome, err error) {
	x.step = x.answers + 1
	ctx, ended := x.observe(ctx, Activity{Kind: ActivityTurn, Model: x.spec.Model})
	defer func() { ended(Ended{Err: err}) }()
	if _, err := x.at(ctx, selvage.Scene{Moment: selvage.MomentStepStart}); err != nil {
		return nil, err
	}
	offer, err := x.offer(ctx)
	if err != nil {
		return nil, err
	}
	if x.stop != nil {
		return x.stopped(), nil
	}
	if err := x.checkpointPending(ctx); err != nil {
		return nil, err
	}
	if err := x.ease(ctx); err != nil {
		return nil, err
	}
	x.flying.Store(true)
	response, err := x.ask(ctx, offer)
	x.flying.Store(false)
	if err != nil {
		return nil, err
	}
	if err := x.accept(ctx, response, offer); err != nil {
		return nil, err
	}
	switch todo := x.todo; {
	case len(todo) > 0:
		if err := x.halted(ctx); err != nil {
			return nil, err // asked for while the model answered
		}
		x.todo = nil
		return nil, x.perform(ctx, todo)
	case len(x.open) > 0:
		return nil, nil
	case x.stop != nil:
		return x.stopped(), nil
	case x.unheard(), x.news:
		return nil, nil // the next answer is to them
	}
	return x.atEnd(ctx, completed(response.Finish)), nil
}

// offer calls the hooks before an inference and returns the tools they leave.
func (x *run) offer(ctx context.Context) ([]selvage.ToolSpec, error) {
	if !x.hooked(selvage.MomentBeforeInference) {
		return x.tools, nil
	}
	effects, err := x.at(ctx, selvage.Scene{Moment: selvage.MomentBeforeInference,
		Messages: x.view(), Tools: x.tools})
	if err != nil || effects.Tools == nil {
		return x.tools, err
	}
	var offer []selvage.ToolSpec
	for _, spec := range x.tools {
		if slices.Contains(effects.Tools, spec.Name) {
			offer = append(offer, spec)
		}
	}
	return offer, nil
}

// accept records an answer of the model, with the start of the calls that must
// not be repeated, and notes what there is to do about its calls.
func (x *run) accept(ctx context.Context, response *model.Response, offer []selvage.ToolSpec) error {
	x.answers++
	reply := response.Message
	reply.Step = x.step
	x.markOffer(&reply, offer)
	x.takeSummary(ctx)
	x.saySummary()
	if x.context.sent != nil {
		mark(&reply, MetadataContext, x.context.sent)
	}
	x.reply, x.news, x.superseded = &reply, lateSince(x.window, x.context.sent, x.id), true
	x.say(reply)
	x.noteHalfWritten(response)
	for _, moment := range []selvage.Moment{selvage.MomentAfterInference, selvage.MomentStepEnd} {
		scene := selvage.Scene{Moment: moment, Reply: &reply}
		if _, err := x.at(ctx, scene); err != nil {
			return err
		}
	}
	x.weigh(&reply)
	made := make([]openCall, len(reply.ToolCalls))
	for i, c := range reply.ToolCalls {
		made[i] = openCall{call: c, step: x.step, offer: offer}
	}
	x.open = append(x.open, made...)
	x.todo = x.plan(ctx, made)
	err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonAssistantTurn,
		runs: []selvage.RunUpdate{x.totals(selvage.RunRunning)}})
	if err == nil {
		x.settled(ctx)
	}
	return err
}

// checkpointPending records what is pending before something else begins.
func (x *run) checkpointPending(ctx context.Context) error {
	if x.pending.empty() {
		return nil
	}
	return x.checkpoint(ctx, checkpoint{reason: selvage.ReasonUserMessage})
}
