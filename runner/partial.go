package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

// OnPartial says how an answer is asked for again that broke off after part of
// it had arrived: in the middle of a stream, or because the process died.
type OnPartial string

// The choices.
const (
	// Continue keeps the text that had arrived and lets the model go on after
	// it. An answer that had begun to call tools is asked for anew.
	Continue OnPartial = "continue"
	// Restart asks for the whole answer anew.
	Restart OnPartial = "restart"
)

func (p OnPartial) check(field string) error {
	switch p {
	case "", Continue, Restart:
		return nil
	}
	return &selvage.InvalidError{Field: field, Reason: string(p) + " is not offered; use continue or restart"}
}

const (
	// partialTimeout bounds what is done about a stream checkpoint while
	// something waits for it.
	partialTimeout = 5 * time.Second
	// partialLife is how long a stream checkpoint is kept that nobody takes up.
	partialLife = 30 * 24 * time.Hour
)

// interrupted returns the stream checkpoint of a run, or nil if there is none.
func (x *run) interrupted(ctx context.Context, id selvage.RunID) *selvage.StreamCheckpoint {
	if x.streams == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, partialTimeout)
	defer cancel()
	c, err := x.streams.Get(ctx, x.thread, id)
	switch {
	case err == nil:
		return &c
	case !errors.Is(err, selvage.ErrNotFound) && !errors.Is(err, selvage.ErrUnsupported):
		x.log.WarnContext(ctx, "interrupted answer not read", "thread", x.thread, "run", id, "err", err)
	}
	return nil
}

// takeUp finds the answer that the process before was in the middle of. What
// it has used is booked: totals only grow, so the greater ones are those that
// hold everything, whether or not it had been recorded too.
func (x *run) takeUp(ctx context.Context) {
	c := x.interrupted(ctx, x.id)
	if c == nil {
		return
	}
	x.left(x.id)
	if c.Step <= x.answers {
		return // that answer is recorded, with what it used; the checkpoint may have estimated more
	}
	x.usage, x.cost = x.usage.Max(c.RunUsage), max(x.cost, c.RunCost)
	if x.onPartial != Restart && c.Step == x.answers+1 && c.Text != "" && len(c.Calls) == 0 && c.InFlight == nil {
		x.partial = c
	}
}

// totalsOf books what an open run has used that ends without being gone on
// with, its interrupted answer included.
func (x *run) totalsOf(ctx context.Context, open *selvage.Run, end *selvage.RunUpdate) {
	c := x.interrupted(ctx, open.ID)
	if c == nil {
		return
	}
	x.left(open.ID)
	if c.Step <= open.Steps {
		return
	}
	usage, cost := open.Usage.Max(c.RunUsage), max(open.Cost, c.RunCost)
	end.Usage, end.Cost = &usage, &cost
}

// left notes that a run may have left a stream checkpoint, which the next
// complete answer supersedes.
func (x *run) left(id selvage.RunID) {
	if x.streams != nil && !slices.Contains(x.partials, id) {
		x.partials = append(x.partials, id)
	}
}

// leave keeps what has come of an answer that is not gone on with here.
func (x *run) leave(ctx context.Context, a *answer) {
	if x.streams == nil || a.empty() || lostLease(ended(ctx)) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partialTimeout)
	defer cancel()
	if err := x.streams.Put(ctx, a.draft()); err != nil {
		x.log.WarnContext(ctx, "interrupted answer not kept", "thread", x.thread, "run", x.id, "err", err)
	}
}

// settled deletes the stream checkpoints that a recorded answer supersedes.
// One that stays is known by its step to be over, and expires.
func (x *run) settled(ctx context.Context) {
	x.superseded = false
	if len(x.partials) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partialTimeout)
	defer cancel()
	for _, id := range x.partials {
		if err := x.streams.Delete(ctx, x.thread, id); err != nil {
			x.log.WarnContext(ctx, "interrupted answer not deleted", "thread", x.thread, "run", id, "err", err)
		}
	}
	x.partials = nil
}
