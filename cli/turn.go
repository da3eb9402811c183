package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// turn sends a message and shows the reply.
func (c *conversation) turn(ctx context.Context, text string) error {
	if err := checkText(text); err != nil {
		return err
	}
	result, err := c.send(ctx, text)
	// What was answered before a rule ended the run is an answer too.
	if err == nil || result.Waiting != nil || result.Outcome.Kind == selvage.OutcomeStopped {
		c.reply(&result)
	}
	return err
}

// send leads one turn and shows it.
func (c *conversation) send(ctx context.Context, text string) (runner.Result, error) {
	result, err := c.follow(ctx, c.begin(ctx, text))
	if err == nil || result.Waiting != nil {
		c.update = nil
	}
	return result, err
}

// follow shows a run while it goes on, and returns what came of it. The error
// is nil only if it completed.
func (c *conversation) follow(ctx context.Context, events iter.Seq2[runner.Event, error]) (runner.Result, error) {
	var result runner.Result
	var failed error
	for e, err := range events {
		if err != nil {
			failed = err
			continue
		}
		if e.Result != nil {
			result = *e.Result
		}
		if c.begun != nil && (e.Durable() || e.Kind == runner.EventQueued) {
			c.begun(&e)
		}
		if e.Durable() {
			c.noteFresh()
		}
		c.show.event(&e)
	}
	c.show.breakLine()
	switch {
	case failed != nil:
		return result, c.explain(ctx, failed)
	case result.Waiting != nil:
		return result, c.waits(ctx, &result)
	case result.Outcome.Kind == selvage.OutcomeStopped:
		return result, c.stopped(&result)
	}
	return result, nil
}

// waits is the failure of a turn whose run waits.
func (c *conversation) waits(ctx context.Context, r *runner.Result) error {
	run := &selvage.Run{ID: r.RunID, ThreadID: r.ThreadID, Status: selvage.RunWaiting, Waiting: r.Waiting}
	tickets, err := c.ticketsOf(ctx, c.store, run)
	if err != nil {
		return err
	}
	return c.waiting(run, tickets)
}

// begin is the turn that a message begins, once it is ranged over.
func (c *conversation) begin(ctx context.Context, text string) iter.Seq2[runner.Event, error] {
	c.renewTools(ctx)
	in := runner.Text(text)
	in.Thread, in.RunID = c.about(text), c.run
	if c.store == nil {
		return c.runner.AskStream(ctx, in)
	}
	return c.runner.Stream(ctx, c.id, in)
}

// renewTools takes note of tools that MCP servers have come to offer, or offer
// no more, since the last turn.
func (c *conversation) renewTools(ctx context.Context) {
	if !c.serversChanged() {
		return
	}
	before := c.made.opened()
	if err := c.assemble(ctx, c.active); err != nil {
		c.log.WarnContext(ctx, "the tools of MCP servers could not be listed again; the turn is led with those from before", "err", err)
	} else if now := c.made.opened(); !slices.Equal(before, now) {
		c.note("the tools are %s from now on", named(now))
	}
}

// explain adds to the failure of a turn what it means for the thread.
func (c *conversation) explain(ctx context.Context, err error) error {
	var ended *runner.FailedError
	recorded := errors.As(err, &ended)
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
		f.err = fmt.Errorf("the run %s: %w", endedAs(ended.Outcome.Kind), whyEnded(ended))
		if why := whyEnded(ended); why.Error() == "the run "+endedAs(ended.Outcome.Kind) {
			f.err = why
		}
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
	case errors.As(e.Err, new(*runner.CancelledError)) && e.Outcome.Detail != "":
		return errors.New(e.Outcome.Detail) // without saying once more that it was cancelled
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
	switch {
	case r.Outcome.Code == runner.CodeTimeout:
		hint = "a higher --max-duration lets it go further"
	case strings.HasPrefix(r.Outcome.Code, "max_"):
		hint = "a higher --" + strings.ReplaceAll(r.Outcome.Code, "_", "-") + " lets it go further"
	}
	return &failure{exit: exitFailed, class: "stopped", err: errors.New(text), hint: hint,
		details: map[string]any{"thread_id": r.ThreadID, "run_id": r.RunID, "outcome": r.Outcome}}
}
