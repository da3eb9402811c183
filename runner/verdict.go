package runner

import (
	"context"
	"errors"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

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

// stopped is the outcome that a hook or a stop rule asked for, or nil.
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
	var asked *CancelledError
	cause := ended(ctx)
	if cause == nil {
		cause = err
	}
	switch {
	case errors.As(err, &state):
		outcome.Code = selvage.Code(state.Err)
	case x.outOfTime(ctx):
		return x.timedOut()
	case errors.As(cause, &asked):
		return asked.outcome()
	case ended(ctx) != nil:
		detail := ended(ctx).Error()
		if ended(ctx) == context.Canceled { // nobody said why
			detail = "it was interrupted"
		}
		return selvage.Outcome{Kind: selvage.OutcomeCancelled, Detail: detail}
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
