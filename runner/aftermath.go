package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
)

// aftermath sees to what follows from the end of a run, whoever ended it: what
// it spawned is cancelled if it was cancelled or failed, what it spent is
// settled with the budget that it is a part of, and a call that waits for it
// goes on. All of it can be repeated. What cannot be done now is made up for
// when the runs it concerns are gone on with, so a failure is only logged.
func aftermath(ctx context.Context, store selvage.Store, id selvage.RunID, log *slog.Logger) {
	if err := settleEnd(ctx, store, id); err != nil {
		log.WarnContext(ctx, "the end of a run not seen to", "run", id, "err", err)
	}
}

func settleEnd(ctx context.Context, store selvage.Store, id selvage.RunID) error {
	run, err := FindRun(ctx, store, id)
	if err != nil || run.Status.Open() {
		return err
	}
	if cascades(&run) {
		if err := cancelChildren(ctx, store, &run); err != nil {
			return err
		}
	}
	if err := budget.Ended(ctx, store, id); err != nil {
		return err
	}
	if run.Spec == nil || run.Spec.Budget == nil {
		return nil
	}
	return wakeParent(ctx, store, &run)
}

// cancelChildren cancels the open runs that a run spawned, each of which does
// the same.
func cancelChildren(ctx context.Context, store selvage.Store, run *selvage.Run) error {
	limit := selvage.MaxPage
	query := selvage.RunQuery{ParentRunID: run.ID, Open: true, Limit: &limit}
	for {
		page, err := store.Runs(ctx, query)
		if err != nil {
			return fmt.Errorf("list the runs that run %q spawned: %w", run.ID, err)
		}
		for i := range page.Items {
			child := &page.Items[i]
			if child.Spec == nil || child.Spec.Budget == nil || child.Spec.Budget.RunID != run.ID {
				continue // somebody else's doing
			}
			if _, err := Cancel(ctx, store, child.ID, bereft(run)); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		query.Cursor = page.Next
	}
}

// wakeParent lets the call go on that waits for a run, if one does.
func wakeParent(ctx context.Context, store selvage.Store, child *selvage.Run) error {
	parent := child.Spec.Budget
	none := 0
	head, err := store.Load(ctx, parent.ThreadID, selvage.LoadOptions{Messages: &none})
	if errors.Is(err, selvage.ErrNotFound) || err == nil && (head.OpenRun == nil || head.OpenRun.ID != parent.RunID) {
		return nil // nobody waits any more
	}
	if err != nil {
		return err
	}
	for i := range head.OpenCalls {
		if ticket, err := head.OpenCalls[i].Asks(); err != nil || ticket == nil || ticket.Child == nil || ticket.Child.RunID != child.ID {
			continue
		}
		d := selvage.Decision{ID: childTicket(child.ID), Action: selvage.DecisionResume, By: "run " + string(child.ID)}
		_, err := Decide(ctx, store, parent.RunID, d, head.OpenCalls[i].ID)
		var over *DoneError
		if errors.As(err, &over) {
			return nil
		}
		return err
	}
	return nil
}

// bereaved ends a call that waits for a run of which the thread was removed:
// nobody else would.
func bereaved(child *selvage.ChildRun) selvage.Decision {
	return selvage.Decision{ID: "gone-" + string(child.RunID), Action: selvage.DecisionCancel, By: "runner",
		Reason: fmt.Sprintf("run %s, which it spawned, is gone: its thread was removed", child.RunID)}
}

// aftermath sees to the end of a run that this process led, if anything
// follows from it.
func (x *run) aftermath(ctx context.Context) {
	if x.spec.Budget != nil || x.spawned() {
		aftermath(ctx, x.store, x.id, x.log)
	}
}

// spawned reports whether the run has spawned any that may be open.
func (x *run) spawned() bool {
	children, err := budget.Children(x.base, x.id)
	return err != nil || len(budget.Sheet{Children: children}.Open()) > 0
}

// book is the budget of the run, for as long as this process leads it.
func (x *run) book() budget.Book {
	return budget.Book{Store: x.store, Thread: x.thread, Run: x.id, Fence: x.fence}
}

// reconcile brings what the run has set aside for others in line with what
// became of them, after it was taken over from a process that may have died
// between the one and the other.
func (x *run) reconcile(ctx context.Context) {
	if !x.resumed || !x.spawned() {
		return
	}
	if err := x.book().Reconcile(ctx); err != nil {
		x.log.WarnContext(ctx, "budget not reconciled", "run", x.id, "err", err)
	}
}

// catchUpWithChildren sees to the ends of runs that a waiting run waits for,
// if whoever ended them did not come to it.
func catchUpWithChildren(ctx context.Context, store selvage.Store, waits *selvage.Run, log *slog.Logger) error {
	if waits.Status != selvage.RunWaiting {
		return nil
	}
	none := 0
	head, err := store.Load(ctx, waits.ThreadID, selvage.LoadOptions{Messages: &none})
	if err != nil {
		return err
	}
	for i := range head.OpenCalls {
		c := &head.OpenCalls[i]
		ticket, err := c.Asks()
		if err != nil || ticket == nil || ticket.Child == nil || c.RunID != waits.ID {
			continue
		}
		if _, err := FindRun(ctx, store, ticket.Child.RunID); !errors.Is(err, selvage.ErrNotFound) {
			aftermath(ctx, store, ticket.Child.RunID, log)
			continue
		}
		if _, err := Decide(ctx, store, waits.ID, bereaved(ticket.Child), c.ID); err != nil && !errors.As(err, new(*DoneError)) {
			return err
		}
	}
	return nil
}
