package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// Recovered tells what became of a run whose owner had died.
type Recovered struct {
	ThreadID selvage.ThreadID
	RunID    selvage.RunID
	// Owner is who led it, if that is still known.
	Owner *selvage.Owner
	// Difference is what the run needs that this runner does not have. If it
	// is not empty the run was ended as abandoned; otherwise it was gone on
	// with.
	Difference string
	// Orphaned says that the run was not gone on with but cancelled, as the one
	// that spawned it had been, or had failed.
	Orphaned string
	Result   Result // how it ended
	Err      error  // why it failed, or could not be taken over
}

// String tells it in one line.
func (r Recovered) String() string {
	led := ""
	if r.Owner != nil {
		led = " of " + r.Owner.String()
	}
	what := fmt.Sprintf("run %s%s on thread %s was interrupted", r.RunID, led, r.ThreadID)
	kind := string(r.Result.Outcome.Kind)
	if w := r.Result.Waiting; w != nil {
		kind = "waits for " + string(w.Reason)
	}
	switch {
	case r.Orphaned != "":
		return fmt.Sprintf("run %s on thread %s is cancelled: %s", r.RunID, r.ThreadID, r.Orphaned)
	case r.Difference != "":
		return what + " and is ended: " + r.Difference
	case r.Err != nil && kind == "":
		return what + " and could not be taken over: " + r.Err.Error()
	case r.Err != nil:
		return what + ", was gone on with and " + kind + ": " + r.Err.Error()
	case r.Result.Outcome.Code != "":
		return fmt.Sprintf("%s, was gone on with and %s (%s)", what, kind, r.Result.Outcome.Code)
	default:
		return what + ", was gone on with and " + kind
	}
}

// Recover takes over the runs of this runner's agent that are open and have
// lost their owner: its process is dead, or its lease has run out. A run that
// this runner can go on with is led to its end before Recover returns; any
// other is ended as failed, abandoned. So are runs gone on with that waited and
// can go on: what they waited for was decided, or their time has come. Runs of
// live owners, and runs that wait for anything still, are left alone.
//
// Open runs, of any agent, are cancelled if the run that spawned them was
// cancelled or failed, and whoever ended that one died before it came to them.
//
// Naming threads limits it to them.
//
// What became of each run, its failure included, is in the list; the error says
// that the list is not complete. It is safe to call in several processes at
// once: each run is taken over by one of them.
func (r *Runner) Recover(ctx context.Context, threads ...selvage.ThreadID) ([]Recovered, error) {
	if r.home.store == nil {
		return nil, fmt.Errorf("recover: this runner has no store: %w", selvage.ErrUnsupported)
	}
	open, all, err := r.openRuns(ctx, threads)
	for i := range all {
		r.opts.Logger.InfoContext(ctx, all[i].String())
	}
	if err != nil {
		return all, fmt.Errorf("recover: %w", err)
	}
	for i := 0; i < len(open); i++ {
		if err := ended(ctx); err != nil {
			return all, fmt.Errorf("recover: %w", err)
		}
		one, err := r.takeOver(ctx, &open[i])
		if err == nil && one != nil {
			r.opts.Logger.InfoContext(ctx, one.String())
			all = append(all, *one)
			open, err = r.above(ctx, &open[i], threads, open)
		}
		if err != nil {
			return all, fmt.Errorf("recover run %q: %w", open[i].ID, err)
		}
	}
	return all, nil
}

// above adds to those to be taken over the run that waited for one that was, if
// it can go on now.
func (r *Runner) above(ctx context.Context, led *selvage.Run, threads []selvage.ThreadID, open []selvage.Run) ([]selvage.Run, error) {
	if led.Spec == nil || led.Spec.Budget == nil {
		return open, nil
	}
	up := led.Spec.Budget
	if threads != nil && !slices.Contains(threads, up.ThreadID) {
		return open, nil
	}
	parent, err := FindRun(ctx, r.home.store, up.RunID)
	switch {
	case errors.Is(err, selvage.ErrNotFound):
		return open, nil
	case err != nil:
		return open, err
	case parent.Status != selvage.RunWaiting || parent.AgentID != r.opts.AgentID:
		return open, nil
	}
	goes, err := r.goesOn(ctx, &parent)
	if goes {
		open = append(open, parent)
	}
	return open, err
}

// openRuns lists the open runs that might be taken over, oldest first, and
// those that were cancelled because they are orphans.
func (r *Runner) openRuns(ctx context.Context, threads []selvage.ThreadID) (open []selvage.Run, laid []Recovered, err error) {
	if threads == nil {
		threads = []selvage.ThreadID{""} // any
	}
	limit := selvage.MaxPage
	for _, id := range threads {
		query := selvage.RunQuery{ThreadID: id, Open: true, Order: selvage.Ascending, Limit: &limit}
		for {
			page, err := r.home.store.Runs(ctx, query)
			if err != nil {
				return nil, laid, err
			}
			for i := range page.Items {
				run := &page.Items[i]
				orphan, why, err := r.cancelOrphan(ctx, run)
				if orphan != nil {
					laid = append(laid, Recovered{ThreadID: run.ThreadID, RunID: run.ID, Orphaned: why, Result: endOf(orphan)})
				}
				goes := err == nil && why == "" && run.AgentID == r.opts.AgentID
				if goes {
					goes, err = r.goesOn(ctx, run)
				}
				if err != nil {
					return nil, laid, err
				}
				if goes {
					open = append(open, *run)
				}
			}
			if page.Next == "" {
				break
			}
			query.Cursor = page.Next
		}
	}
	return open, laid, nil
}

// takeOver leads one open run to its end if nobody else does. It returns nil if
// somebody does, or the run has ended meanwhile.
func (r *Runner) takeOver(ctx context.Context, open *selvage.Run) (*Recovered, error) {
	lease, err := r.home.leaser.Acquire(ctx, open.ThreadID, r.opts.Owner, r.opts.LeaseTTL)
	switch {
	case errors.Is(err, selvage.ErrBusy), errors.Is(err, selvage.ErrGone), errors.Is(err, selvage.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tenure := r.hold(ctx, r.home, lease, cancel)
	defer tenure.end(ctx, r.opts.Logger)

	one := &Recovered{ThreadID: open.ThreadID, RunID: open.ID, Owner: lease.Took}
	out := &outlet{cancel: cancel, yield: func(e Event, err error) bool {
		if e.Result != nil {
			one.Result = *e.Result
		}
		if err != nil {
			one.Err = err
		}
		return true
	}}
	x := r.newRun(r.home, &lease, out)
	head, err := x.fetch(ctx)
	if err != nil {
		return nil, err
	}
	if head.OpenRun == nil || head.OpenRun.ID != open.ID {
		return nil, nil
	}
	waits := head.OpenRun.Status == selvage.RunWaiting
	if one.Difference = r.difference(head.OpenRun); one.Difference != "" && waits {
		return nil, nil // it loses nothing by waiting for who can
	}
	if one.Difference == "" {
		var limit *LimitError
		waiting, err := x.reenter(ctx, head, ResumeOptions{})
		switch {
		case errors.As(err, &limit):
			return nil, nil // it waits on until somebody raises it
		case err != nil && waits:
			one.Err = err
			return one, nil
		case err != nil:
			one.Difference = err.Error()
		case waiting != nil:
			return nil, nil
		default:
			x.drive(ctx)
			return one, nil
		}
	}
	x.bury(ctx, head.OpenRun, one)
	return one, nil
}

// bury ends an open run that this runner cannot go on with.
func (x *run) bury(ctx context.Context, open *selvage.Run, one *Recovered) {
	x.id, x.parent = open.ID, open.ParentRunID
	x.usage, x.cost, x.answers = open.Usage, open.Cost, open.Steps
	end := x.abandon(open, "its process ended before it did, and nobody could go on with it: "+one.Difference, nil)
	x.totalsOf(ctx, open, &end)
	if end.Usage != nil {
		x.usage, x.cost = *end.Usage, *end.Cost
	}
	if err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonRunFinished, runs: []selvage.RunUpdate{end}}); err != nil {
		one.Err = err
		return
	}
	aftermath(ctx, x.store, x.id, x.log)
	one.Result = Result{ThreadID: x.thread, RunID: x.id, Outcome: *end.Outcome, Usage: x.usage, Cost: x.cost,
		Steps: x.answers, Version: x.version}
}
