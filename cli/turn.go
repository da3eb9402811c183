package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// turn sends a message and shows the reply.
func (c *conversation) turn(ctx context.Context, text string) error {
	result, err := c.send(ctx, text)
	if err != nil {
		return err
	}
	c.reply(&result)
	return nil
}

// errDuration is that a run took longer than --max-duration.
var errDuration = errors.New("the run took longer than it may")

// send leads one turn and shows it.
func (c *conversation) send(ctx context.Context, text string) (runner.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in := runner.Text(text)
	in.Thread = c.update
	stream := c.runner.AskStream(ctx, in)
	if c.store != nil {
		stream = c.runner.Stream(ctx, c.id, in)
	}
	var result runner.Result
	var failed error
	var clock *time.Timer
	for e, err := range stream {
		if err != nil {
			failed = err
			continue
		}
		if clock == nil && e.RunID != "" {
			clock = c.bound(cancel)
			defer clock.Stop()
		}
		if e.Result != nil {
			result = *e.Result
		}
		c.show.event(&e)
	}
	c.show.breakLine()
	if failed != nil {
		return result, c.explain(ctx, failed)
	}
	c.update = nil
	if result.Outcome.Kind == selvage.OutcomeStopped {
		return result, c.stopped(&result)
	}
	return result, nil
}

// bound ends a run that has begun when it has taken as long as it may, also in
// the middle of an answer or a call. The runner itself looks between turns.
func (c *conversation) bound(cancel context.CancelCauseFunc) *time.Timer {
	limit := c.limits().Duration
	if limit == nil {
		return time.AfterFunc(math.MaxInt64, func() {})
	}
	return time.AfterFunc(*limit, func() { cancel(errDuration) })
}

// explain adds to the failure of a turn what it means for the thread.
func (c *conversation) explain(ctx context.Context, err error) error {
	var ended *runner.FailedError
	recorded := errors.As(err, &ended)
	if errors.Is(context.Cause(ctx), errDuration) {
		f := &failure{exit: exitFailed, class: "stopped", err: fmt.Errorf("the run stopped: %s: it may take %s", runner.CodeDuration, c.conf.Get("max_duration").Text),
			hint: "a higher --max-duration lets it go further"}
		if recorded {
			f.details = runDetails(nil, ended)
		}
		return f
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		f := &failure{exit: exitInterrupted, class: "interrupted", err: errors.New("interrupted")}
		switch {
		case !c.kept():
		case recorded:
			f.err = errors.New("interrupted; the turn is recorded as cancelled")
			f.hint = "go on with: " + c.goOn()
			f.details = map[string]any{"thread_id": ended.ThreadID, "run_id": ended.RunID}
		default:
			f.err = errors.New("interrupted; nothing was sent")
		}
		return f
	}
	f := classify(err)
	if recorded {
		f.err = fmt.Errorf("the run %s: %w", ended.Outcome.Kind, whyEnded(ended))
		f.details = runDetails(f.details, ended)
		if f.class == "internal" {
			f.class = "run_failed"
		}
		if f.exit == exitUsage || f.exit == exitNotFound {
			// What was wrong is inside the run, not in what was typed.
			f.exit, f.class, f.hint = exitFailed, "run_failed", ""
		}
	}
	return f
}

// whyEnded is the reason of a run's end without the names of run and thread,
// which the details carry.
func whyEnded(e *runner.FailedError) error {
	switch {
	case e.Err != nil:
		return e.Err
	case e.Outcome.Detail != "":
		return errors.New(e.Outcome.Detail)
	default:
		return errors.New(e.Outcome.Code)
	}
}

func runDetails(details map[string]any, e *runner.FailedError) map[string]any {
	if details == nil {
		details = map[string]any{}
	}
	details["thread_id"], details["run_id"], details["outcome"] = e.ThreadID, e.RunID, e.Outcome
	return details
}

// stopped is a run that a rule ended before it was done.
func (c *conversation) stopped(r *runner.Result) error {
	text := "the run stopped: " + r.Outcome.Code
	if r.Outcome.Detail != "" {
		text += ": " + r.Outcome.Detail
	}
	hint := ""
	if strings.HasPrefix(r.Outcome.Code, "max_") {
		hint = "a higher --" + strings.ReplaceAll(r.Outcome.Code, "_", "-") + " lets it go further"
	}
	return &failure{exit: exitFailed, class: "stopped", err: errors.New(text), hint: hint,
		details: map[string]any{"thread_id": r.ThreadID, "run_id": r.RunID, "outcome": r.Outcome}}
}
