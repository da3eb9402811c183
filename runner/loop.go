package runner

import (
	"context"
	"errors"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// steps takes a prepared run through its turns and returns how it ended, and
// why if it failed, was cancelled or ran out of time. A run that reached a limit
// has not ended: it has x.waiting.
func (x *run) steps(ctx context.Context) (selvage.Outcome, error) {
	outcome, err := x.start(ctx)
	for outcome == nil && err == nil {
		if err = ended(ctx); err != nil {
			break
		}
		if outcome = x.tripped(); outcome != nil {
			break
		}
		if outcome, x.waiting, err = x.limited(); x.waiting != nil {
			return selvage.Outcome{}, nil
		}
		if outcome == nil && err == nil {
			outcome, err = x.turn(ctx)
		}
	}
	if err != nil {
		return x.verdict(ctx, err), err
	}
	return *outcome, nil
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
		x.takeUp(ctx)
		return x.catchUp(ctx)
	}
	return nil, nil
}

// catchUp goes on in the middle of a turn: it answers the calls that have no
// result, or finds that the run had said its last word.
func (x *run) catchUp(ctx context.Context) (*selvage.Outcome, error) {
	messages := x.messages()
	said := lastAnswer(messages, x.id, x.answers)
	var todo []task
	if said >= 0 {
		x.reply, x.stop = &messages[said], x.stopAsked(messages[said:])
		switch {
		case len(x.reply.ToolCalls) > 0:
			todo = x.plan(unanswered(messages[said:], x.id), x.offeredWith(x.reply))
		case x.stop == nil:
			return completed(model.FinishStop), nil
		}
	}
	x.closeOrphans(todo)
	if !x.pending.empty() {
		if err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults}); err != nil {
			return nil, err
		}
	}
	if err := x.answerAll(ctx, todo); err != nil {
		return nil, err
	}
	return x.stopped(), nil
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
	response, err := x.infer(ctx, offer)
	if err != nil {
		return nil, err
	}
	todo, err := x.accept(ctx, response, offer)
	if err != nil {
		return nil, err
	}
	if len(todo) == 0 {
		if x.stop != nil {
			return x.stopped(), nil
		}
		return completed(response.Finish), nil
	}
	if err := x.answerAll(ctx, todo); err != nil {
		return nil, err
	}
	return x.stopped(), nil
}

// offer calls the hooks before an inference and returns the tools they leave.
func (x *run) offer(ctx context.Context) ([]selvage.ToolSpec, error) {
	if !x.hooked(selvage.MomentBeforeInference) {
		return x.tools, nil
	}
	effects, err := x.at(ctx, selvage.Scene{Moment: selvage.MomentBeforeInference,
		Messages: window(x.messages(), x.keep), Tools: x.tools})
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
// not be repeated, and returns what there is to do about its calls.
func (x *run) accept(ctx context.Context, response *model.Response, offer []selvage.ToolSpec) ([]task, error) {
	x.answers++
	reply := response.Message
	reply.Step = x.step
	x.markOffer(&reply, offer)
	x.reply, x.superseded = &reply, true
	x.say(reply)
	for _, moment := range []selvage.Moment{selvage.MomentAfterInference, selvage.MomentStepEnd} {
		scene := selvage.Scene{Moment: moment, Reply: &reply}
		if _, err := x.at(ctx, scene); err != nil {
			return nil, err
		}
	}
	todo := x.plan(reply.ToolCalls, offer)
	err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonAssistantTurn,
		runs: []selvage.RunUpdate{x.totals(selvage.RunRunning)}})
	if err == nil {
		x.settled(ctx)
	}
	return todo, err
}

// checkpointPending records what is pending before something else begins.
func (x *run) checkpointPending(ctx context.Context) error {
	if x.pending.empty() {
		return nil
	}
	return x.checkpoint(ctx, checkpoint{reason: selvage.ReasonUserMessage})
}

// completed is the outcome of a run whose model had nothing more to do.
func completed(finish model.Finish) *selvage.Outcome {
	outcome := &selvage.Outcome{Kind: selvage.OutcomeCompleted}
	switch finish {
	case model.FinishLength:
		outcome.Code, outcome.Detail = CodeLength, "the model's token limit cut the answer off"
	case model.FinishContentFilter:
		outcome.Code, outcome.Detail = CodeFilter, "the provider withheld the rest of the answer"
	}
	return outcome
}

// stopped is the outcome a hook asked for, or nil.
func (x *run) stopped() *selvage.Outcome {
	if x.stop == nil {
		return nil
	}
	return &selvage.Outcome{Kind: selvage.OutcomeStopped, Code: x.stop.Code, Detail: x.stop.Detail}
}

// verdict is the outcome of a run that an error ended.
func (x *run) verdict(ctx context.Context, err error) selvage.Outcome {
	outcome := selvage.Outcome{Kind: selvage.OutcomeFailed, Detail: err.Error()}
	var state *StateError
	var hook *hookError
	var provider *model.Error
	switch {
	case errors.As(err, &state):
		outcome.Code = selvage.Code(state.Err)
	case errors.Is(ended(ctx), errTimeout):
		return *x.outOfTime()
	case ended(ctx) != nil:
		return selvage.Outcome{Kind: selvage.OutcomeCancelled, Detail: ended(ctx).Error()}
	case errors.As(err, &hook):
		outcome.Code = CodeHook
	case errors.Is(err, errEmpty):
		outcome.Code = CodeEmpty
	case errors.As(err, &provider):
		outcome.Code = string(provider.Class)
	default:
		outcome.Code = string(model.ClassOf(err))
	}
	return outcome
}
