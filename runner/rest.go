package runner

import (
	"context"

	"github.com/selvagehq/selvage"
)

// rest records that the run waits, and for what. The error is a [StateError].
func (x *run) rest(ctx context.Context) (*Result, error) {
	if lost := ended(ctx); lostLease(lost) {
		return nil, &StateError{ThreadID: x.thread, RunID: x.id, Reason: x.pausing(), Err: lost}
	}
	update := x.totals(selvage.RunWaiting)
	update.Waiting = x.waiting
	if err := x.record(ctx, checkpoint{reason: x.pausing(), runs: []selvage.RunUpdate{update}}); err != nil {
		return nil, err
	}
	return &Result{ThreadID: x.thread, RunID: x.id, Waiting: x.waiting, Usage: x.usage, Cost: x.cost, Steps: x.answers, Version: x.version}, nil
}

// pausing is the reason of the change after which the run waits: that of what
// it has done last.
func (x *run) pausing() selvage.Reason {
	if x.answers > 0 {
		return selvage.ReasonToolResults
	}
	return selvage.ReasonUserMessage
}
