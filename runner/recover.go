package runner

import (
	"context"
	"errors"
	"fmt"

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
	Result     Result // how it ended
	Err        error  // why it failed, or could not be taken over
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
// live owners, and runs that wait for anything still, are left alone. Naming
// threads limits it to them.
//
// What became of each run, its failure included, is in the list; the error says
// that the list is not complete. It is safe to call in several processes at
// once: each run is taken over by one of them.
func (r *Runner) Recover(ctx context.Context, threads ...selvage.ThreadID) ([]Recovered, error) {
	if r.home.store == nil {
		return nil, fmt.Errorf("recover: this runner has no store: %w", selvage.ErrUnsupported)
	}
	open, err := r.openRuns(ctx, threads)
	if err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	var all []Recovered
	for i := range open {
		if err := ended(ctx); err != nil {
			return all, fmt.Errorf("recover: %w", err)
		}
		one, err := r.takeOver(ctx, &open[i])
		if err != nil {
			return all, fmt.Errorf("recover run %q: %w", open[i].ID, err)
		}
		if one != nil {
			r.opts.Logger.InfoContext(ctx, one.String())
			all = append(all, *one)
		}
	}
	return all, nil
}

// openRuns lists the open runs that might be taken over, oldest first.
func (r *Runner) openRuns(ctx context.Context, threads []selvage.ThreadID) ([]selvage.Run, error) {
	if threads == nil {
		threads = []selvage.ThreadID{""} // any
	}
	var open []selvage.Run
	limit := selvage.MaxPage
	for _, id := range threads {
		query := selvage.RunQuery{ThreadID: id, AgentID: r.opts.AgentID, Open: true, Order: selvage.Ascending, Limit: &limit}
		for {
			page, err := r.home.store.Runs(ctx, query)
			if err != nil {
				return nil, err
			}
			for _, run := range page.Items {
				if run.AgentID != r.opts.AgentID {
					continue
				}
				if goes, err := r.goesOn(ctx, &run); err != nil {
					return nil, err
				} else if goes {
					open = append(open, run)
				}
			}
			if page.Next == "" {
				break
			}
			query.Cursor = page.Next
		}
	}
	return open, nil
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
	end := x.abandon(open, "its process ended before it did, and nobody could go on with it: "+one.Difference)
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
