package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/state"
)

// unlimit raises limits of an open run. If it waits because it reached one, the
// error is a [LimitError] if it exceeds one still. What a spawned run may spend
// is raised in its parent's budget too, or refused if that has not as much left.
func (x *run) unlimit(ctx context.Context, bumps []Bump, limited bool) error {
	limits, err := raise(x.limits, bumps)
	if err != nil {
		return err
	}
	if limited {
		spent, err := x.spending()
		if err != nil {
			return err
		}
		if w := reached(&limits, &spent); w != nil {
			return &LimitError{RunID: x.id, Waiting: *w}
		}
	}
	if len(bumps) == 0 {
		return nil
	}
	if err := x.reserveMore(ctx, &limits); err != nil {
		return err
	}
	x.limits, x.raised = limits, &limits
	return nil
}

// reserveMore raises what the run may spend in the budget that it is a part
// of. Doing so twice is doing so once.
func (x *run) reserveMore(ctx context.Context, limits *selvage.Limits) error {
	up := x.spec.Budget
	if up == nil || same(limits.Spend, x.limits.Spend) && same(limits.Tokens, x.limits.Tokens) {
		return nil
	}
	_, err := budget.Book{Store: x.store, Thread: up.ThreadID, Run: up.RunID}.Raise(ctx, x.id, budget.BoundsOf(*limits))
	if err != nil {
		return fmt.Errorf("what run %s may spend is a part of what run %s may, of which it was spawned: %w", x.id, up.RunID, err)
	}
	return nil
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// stillWaits is the result of a run that was to go on and waits for something
// still. Its limits are recorded if they were raised.
func (x *run) stillWaits(ctx context.Context, open *selvage.Run, bumped bool) (*Result, error) {
	w := open.Waiting
	if bumped {
		if err := x.noteWaited(open); err != nil {
			return nil, err
		}
		update := x.totals(selvage.RunWaiting)
		update.Waiting, update.Limits = w, x.raised
		if err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonDecision, runs: []selvage.RunUpdate{update}}); err != nil {
			return nil, err
		}
	}
	return x.waitingResult(w), nil
}

// waitedAt is where the state of a thread keeps how long its open run has
// waited, which does not count against its time, in nanoseconds.
var waitedAt = state.At(state.RunKey, "waited")

// sourceWaited is the source of the patches that keep it.
const sourceWaited = "runner:waited"

func waited(doc state.Document) time.Duration {
	v, _ := doc.Get(waitedAt)
	n, _ := v.Int64()
	return time.Duration(n)
}

// waitedNow is how long a run has waited since it began to wait last.
func (x *run) waitedNow(open *selvage.Run) time.Duration {
	return max(x.r.opts.Now().Sub(open.UpdatedAt), 0)
}

// noteWaited adds that to what it has waited in all, if its time is bounded.
func (x *run) noteWaited(open *selvage.Run) error {
	if x.limits.Duration == nil && (x.spec.Stop == nil || x.spec.Stop.Timeout == nil) {
		return nil
	}
	all := waited(x.doc) + x.waitedNow(open)
	return x.patch(sourceWaited, state.Patch{state.Set(waitedAt, state.Int(int64(all)))})
}
