package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
)

// meant is the run to decide on, and what it asks: the one that is named, or the
// one below that it waits for and that asks something the command is for.
func (d *deciding) meant(ctx context.Context, store selvage.Store, run *selvage.Run) (*selvage.Run, []ticketDocument, error) {
	tickets, err := d.asked(ctx, store, run)
	if err != nil {
		return nil, nil, err
	}
	below, err := d.below(ctx, store, run, tickets)
	if err != nil || below == nil {
		return run, tickets, err
	}
	d.note("run %s waits for run %s, which it spawned, and that one is decided on", run.ID, below.ID)
	return d.meant(ctx, store, below)
}

// below is the only run that a run waits for and that asks something the command
// is for, or waits for one that does. It is nil if the run asks that itself, or
// nobody does.
func (d *deciding) below(ctx context.Context, store selvage.Store, run *selvage.Run, tickets []ticketDocument) (*selvage.Run, error) {
	if d.asks(tickets) {
		return nil, nil
	}
	var asking []*selvage.Run
	for i := range tickets {
		if tickets[i].Child == nil {
			continue
		}
		child, err := findRun(ctx, store, tickets[i].Child.RunID)
		if errors.Is(err, selvage.ErrNotFound) {
			continue
		} else if err != nil {
			return nil, err
		}
		theirs, err := d.asked(ctx, store, child)
		if err != nil {
			return nil, err
		}
		deeper, err := d.below(ctx, store, child, theirs)
		if err != nil {
			return nil, err
		}
		if deeper != nil || d.asks(theirs) {
			asking = append(asking, child)
		}
	}
	switch len(asking) {
	case 0:
		return nil, nil
	case 1:
		return asking[0], nil
	}
	names := make([]string, len(asking))
	for i, child := range asking {
		names[i] = string(child.ID)
	}
	return nil, usage("name one of those in place of "+string(run.ID), "run %s waits for %d runs that it spawned and that ask something: %s", run.ID, len(asking), strings.Join(names, ", "))
}

// asks reports whether what the command decides on is among the tickets of a
// run.
func (d *deciding) asks(tickets []ticketDocument) bool {
	return slices.ContainsFunc(tickets, func(t ticketDocument) bool {
		if d.ticket != "" {
			return t.ID == d.ticket || t.CallID == d.ticket
		}
		return d.fits(&t)
	})
}
