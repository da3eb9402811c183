package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// openRunDocument is the open run of a thread, to which something else is done,
// in JSON.
type openRunDocument struct {
	RunID   selvage.RunID     `json:"run_id"`
	Status  selvage.RunStatus `json:"status"`
	Waiting *selvage.Waiting  `json:"waiting,omitempty"`
	Tickets []ticketDocument  `json:"tickets"`
	Next    []string          `json:"next"` // commands with which it ends or goes on
}

// openRun is the open run of a thread, or nil.
func (a *app) openRun(ctx context.Context, store selvage.Store, id selvage.ThreadID) (*openRunDocument, error) {
	head, err := bareHead(ctx, store, id)
	if err != nil || head.OpenRun == nil {
		return nil, err
	}
	run := head.OpenRun
	doc := &openRunDocument{RunID: run.ID, Status: run.Status, Waiting: run.Waiting, Next: []string{a.again("run", "watch", quote(string(run.ID)))}}
	if doc.Tickets, err = a.openTickets(ctx, store, run, head); err != nil || run.Waiting == nil {
		return doc, err
	}
	if doc.Next = nil; len(doc.Tickets) == 0 {
		doc.Next = a.goesOn(run)
	}
	for i := range doc.Tickets {
		doc.Next = append(doc.Next, doc.Tickets[i].Decide...)
	}
	return doc, nil
}

// String says what it waits for, ticket by ticket.
func (d *openRunDocument) String() string {
	if d.Waiting == nil {
		return fmt.Sprintf("run %s is %s", d.RunID, d.Status)
	}
	asks := []string{waitsFor(d.Waiting)}
	if len(d.Tickets) > 0 {
		asks = nil
	}
	for i := range d.Tickets {
		t := &d.Tickets[i]
		asks = append(asks, fmt.Sprintf("%s: %s (ticket %s)", t.Reason, t.question(), t.ID))
	}
	return fmt.Sprintf("run %s waits for %s", d.RunID, strings.Join(asks, "; "))
}

// warnStays tells, also with --quiet, which run a fork does not take along.
func (a *app) warnStays(doc *forkedDocument) {
	if doc.Stays != nil && doc.ForkedFrom != nil {
		a.tell("not taken along: %s, and stays with %s", doc.Stays, doc.ForkedFrom.ID)
	}
}
