package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
)

// unheard reports whether users have said something that the model was not
// given for its last answer: it came while that was made.
func (x *run) unheard() bool {
	if x.reply == nil {
		return false
	}
	sent := x.context.sent
	if sent == nil {
		sent = frameIn(x.reply)
	}
	if sent == nil {
		return false
	}
	for i := len(x.window) - 1; i >= 0 && x.window[i].Seq > sent.ToSeq; i-- {
		if m := &x.window[i]; m.Role == selvage.RoleUser && !m.Internal() {
			return true
		}
	}
	return false
}

// interrupt asks the run that is at work on a thread to end, and reports
// whether there was one to ask.
func (r *Runner) interrupt(ctx context.Context, at place, id selvage.ThreadID) bool {
	open := active(ctx, at, id)
	if open == nil {
		return false
	}
	_, err := Cancel(ctx, at.store, open.ID, "a new message interrupted it")
	if err != nil {
		r.opts.Logger.WarnContext(ctx, "run not interrupted", "run", open.ID, "err", err)
	}
	return err == nil
}

// active is the run that somebody leads on a thread, or nil.
func active(ctx context.Context, at place, id selvage.ThreadID) *selvage.Run {
	none := 0
	head, err := at.store.Load(ctx, id, selvage.LoadOptions{Messages: &none})
	if err != nil || head.OpenRun == nil || head.OpenRun.Status != selvage.RunRunning || head.Lease == nil {
		return nil
	}
	return head.OpenRun
}

// steer gives the messages of an input to the run that is at work on a thread,
// and tells what came of that. It reports false if a run of their own is to be
// led: there is none at work, or it ended without having answered them.
func (r *Runner) steer(ctx context.Context, at place, id selvage.ThreadID, in *Input, out *outlet) (bool, error) {
	open := active(ctx, at, id)
	if open == nil || len(in.Messages) == 0 || in.RunID != "" {
		return false, nil
	}
	for i := range in.Messages {
		if in.Messages[i].ID == "" { // so that a run of their own would find them there
			in.Messages[i].ID = selvage.NewID()
		}
	}
	receipt, err := at.store.Append(ctx, id, selvage.ChangeSet{ID: selvage.NewID(), Messages: in.Messages, Thread: in.Thread, Reason: selvage.ReasonUserMessage}, selvage.Any())
	if err != nil {
		return false, fmt.Errorf("give its messages to run %s: %w", open.ID, err)
	}
	in.Thread = nil
	out.emit(Event{Kind: EventQueued, ThreadID: id, RunID: open.ID, Note: "run " + string(open.ID) + ", which is given the message"})
	done, err := r.awaited(ctx, at, open.ID)
	if err != nil || done == nil {
		return false, err
	}
	answered, err := answeredAfter(ctx, at.store, done, receipt.LastSeq())
	if err != nil || !answered {
		return false, err
	}
	x := r.newRun(at, &selvage.Lease{ThreadID: id}, out)
	if _, err := x.fetch(ctx); err != nil {
		return false, err
	}
	result, err := x.again(ctx, done)
	if err != nil {
		return false, err
	}
	result.Replayed = false
	x.tell(*result, failure(result, errors.New(done.Error)))
	return true, nil
}

// awaited waits until a run is not at work any more. It returns nil if it has
// not ended, but waits or was left.
func (r *Runner) awaited(ctx context.Context, at place, id selvage.RunID) (*selvage.Run, error) {
	for {
		run, err := FindRun(ctx, at.store, id)
		switch {
		case err != nil:
			return nil, err
		case run.Status == selvage.RunDone:
			return &run, nil
		case active(ctx, at, run.ThreadID) == nil && ctx.Err() == nil:
			// It may have ended between the two looks.
			if run, err = FindRun(ctx, at.store, id); err == nil && run.Status == selvage.RunDone {
				return &run, nil
			}
			return nil, err
		}
		if err := sleep(ctx, lastPoll); err != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// answeredAfter reports whether a run has answered after a seq.
func answeredAfter(ctx context.Context, store selvage.Store, run *selvage.Run, seq int64) (bool, error) {
	limit := 1
	page, err := store.Messages(ctx, run.ThreadID, selvage.MessageQuery{RunID: run.ID, After: seq, Order: selvage.Descending, Limit: &limit})
	if err != nil || len(page.Items) == 0 {
		return false, err
	}
	sent := frameIn(&page.Items[0])
	return page.Items[0].Role == selvage.RoleAssistant && sent != nil && sent.ToSeq >= seq, nil
}
