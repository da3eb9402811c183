package budget

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
)

// Ended gives back what a run that has ended had put aside for children that
// never began, and settles its spending with the budget that it counts against,
// if with any. It goes on with the runs above that had ended before and waited
// for it: a run is settled when all of its children are. Whoever ended a run
// calls it; called for a run that is open, or settled already, it does nothing.
func Ended(ctx context.Context, store selvage.Store, id selvage.RunID) error {
	for {
		run, err := find(ctx, store, id)
		if errors.Is(err, selvage.ErrNotFound) || err == nil && run.Status.Open() {
			return nil
		}
		if err != nil {
			return fmt.Errorf("settle run %q: %w", id, err)
		}
		book := Book{Store: store, Thread: run.ThreadID, Run: id}
		own, err := book.Sheet(ctx)
		switch {
		case absent(err): // its thread was removed with what it spawned
			own = Sheet{Own: Own(run)}
		case err != nil:
			return fmt.Errorf("settle run %q: %w", id, err)
		}
		if begun, err := book.dismiss(ctx, own.Open()); err != nil {
			return fmt.Errorf("settle run %q: %w", id, err)
		} else if begun {
			return nil // the last of them settles it
		}
		if run.Spec == nil || run.Spec.Budget == nil {
			return nil
		}
		up := run.Spec.Budget
		_, err = Book{Store: store, Thread: up.ThreadID, Run: up.RunID}.Settle(ctx, id, own.Total())
		switch {
		case absent(err):
			return nil
		case err != nil:
			return fmt.Errorf("settle run %q: %w", id, err)
		}
		id = up.RunID
	}
}

// dismiss releases the reservations of those children that never began, as they
// never will under a run that has ended, and reports whether others are left.
func (b Book) dismiss(ctx context.Context, open []selvage.RunID) (left bool, err error) {
	for _, id := range open {
		switch _, err := find(ctx, b.Store, id); {
		case err == nil:
			left = true
		case !errors.Is(err, selvage.ErrNotFound):
			return false, err
		default:
			if _, err := b.Release(ctx, id); err != nil {
				return false, err
			}
		}
	}
	return left, nil
}

// absent reports whether something is not there, or no more.
func absent(err error) bool {
	return errors.Is(err, selvage.ErrNotFound) || errors.Is(err, selvage.ErrGone)
}

// Reconcile brings the budget in line with what became of the children: of
// those that have ended what they spent is settled, the reservations of those
// that never began are released, and those that are open keep theirs. Who leads
// the run calls it after taking it over from a process that died, before it
// spawns: a child about to begin must not be taken for one that never will.
func (b Book) Reconcile(ctx context.Context) error {
	sheet, err := b.Sheet(ctx)
	if err != nil {
		return err
	}
	for _, id := range sheet.Open() {
		run, err := find(ctx, b.Store, id)
		switch {
		case errors.Is(err, selvage.ErrNotFound):
			_, err = b.Release(ctx, id)
		case err == nil && !run.Status.Open():
			err = Ended(ctx, b.Store, id)
		}
		if err != nil {
			return fmt.Errorf("reconcile the budget of run %q: %w", b.Run, err)
		}
	}
	return nil
}
