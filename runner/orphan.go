package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
)

// cascades reports whether what a run spawned ends with it.
func cascades(run *selvage.Run) bool {
	o := run.Outcome
	return o != nil && (o.Kind == selvage.OutcomeCancelled || o.Kind == selvage.OutcomeFailed)
}

// bereft says why a child of a run does not go on.
func bereft(parent *selvage.Run) string {
	return fmt.Sprintf("the run that spawned it, %s, %s", parent.ID, parent.Outcome.Kind)
}

// orphaned says why an open run is to be cancelled: the one that spawned it was
// cancelled or failed, and the process died that was to see to what follows.
// It is "" for a run that may go on, also if its parent is gone. It is asked
// when a run is about to be taken over, never of one that is led.
func orphaned(ctx context.Context, store selvage.Store, run *selvage.Run) (string, error) {
	if run.Spec == nil || run.Spec.Budget == nil {
		return "", nil
	}
	parent, err := FindRun(ctx, store, run.Spec.Budget.RunID)
	switch {
	case errors.Is(err, selvage.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case !cascades(&parent):
		return "", nil
	}
	return bereft(&parent), nil
}

// cancelOrphan ends a run that is to be taken over if it is an orphan, and
// returns it as it is then, and why. It returns no run for one that is no
// orphan, or that a process leads: that one was asked to end it.
func (r *Runner) cancelOrphan(ctx context.Context, open *selvage.Run) (done *selvage.Run, why string, err error) {
	if why, err = orphaned(ctx, r.home.store, open); err != nil || why == "" {
		return nil, "", err
	}
	var over *DoneError
	if _, err := Cancel(ctx, r.home.store, open.ID, why); err != nil && !errors.As(err, &over) {
		return nil, why, err
	}
	run, err := FindRun(ctx, r.home.store, open.ID)
	if err != nil || run.Outcome == nil {
		return nil, why, err
	}
	return &run, why, nil
}
