package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// deciding is one call of run approve, deny or answer.
type deciding struct {
	*app
	ticket, id, by string
	early, noRun   bool
	every          bool             // every ticket that fits
	any            bool             // one ticket stands for all: the decision ends the run
	decision       selvage.Decision // its id and who made it excepted
	// fits tells which tickets the command is for.
	fits func(t *ticketDocument) bool
}

// decidedDocument is what a command says that decided something, in JSON.
type decidedDocument struct {
	Decisions []decidedCall `json:"decisions"`
	onwardDocument
}

// register adds the flags of a command that decides about calls.
func (d *deciding) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.ticket, "ticket", "", "the `TICKET` to decide on, or its call; needed if several are open")
	f.StringVar(&d.by, "by", "", "`WHO` decides, for the record (default: your user name)")
	f.StringVar(&d.id, "id", "", "`ID` of the decision: made again with the same one it is not made twice")
	f.BoolVar(&d.noRun, "no-run", false, "only record the decision; do not go on with the run here")
	d.registerRecord(cmd)
	cmd.ValidArgsFunction = d.completeRuns(true)
	_ = cmd.RegisterFlagCompletionFunc("ticket", d.completeTickets) // it fails only for a flag that is not there
}

// completeTickets offers what the run of the first argument waits for.
func (d *deciding) completeTickets(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var offered []string
	if len(args) == 1 && d.prepare(cmd) == nil {
		_ = d.onRun(forReading, func(ctx context.Context, store selvage.Store, run *selvage.Run) error { // nothing is offered then
			tickets, err := d.asked(ctx, store, run)
			for i := range tickets {
				if strings.HasPrefix(tickets[i].ID, begun) {
					offered = append(offered, tickets[i].ID+"\t"+oneLine(tickets[i].question()))
				}
			}
			return err
		})(cmd, args)
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}

// decider is who decides, for the record.
func (d *deciding) decider() string {
	if d.by != "" {
		return d.by
	}
	return d.userName()
}

// userName is whom the system takes the user for.
func (a *app) userName() string {
	for _, variable := range []string{"USER", "LOGNAME", "USERNAME"} {
		if name, ok := a.lookup(variable); ok && name != "" {
			return name
		}
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return a.name
}

// ticketsOf returns what a run waits for; nothing if it is done.
func (a *app) ticketsOf(ctx context.Context, store selvage.Store, run *selvage.Run) ([]ticketDocument, error) {
	if !run.Status.Open() {
		return nil, nil
	}
	head, err := bareHead(ctx, store, run.ThreadID)
	if err != nil {
		return nil, err
	}
	return a.openTickets(ctx, store, run, head)
}

// asked are the tickets of a run, and that of the limit that it waits at.
func (d *deciding) asked(ctx context.Context, store selvage.Store, run *selvage.Run) ([]ticketDocument, error) {
	tickets, err := d.ticketsOf(ctx, store, run)
	if limit := d.limitTicket(run); limit != nil {
		tickets = append(tickets, *limit)
	}
	return tickets, err
}

// decide records the decision and then goes on with the run, if it can.
func (d *deciding) decide(ctx context.Context, store selvage.Store, run *selvage.Run) error {
	if d.ticket != "" && d.every {
		return usage("leave one of them out", "--ticket and --all contradict each other")
	}
	run, tickets, err := d.meant(ctx, store, run)
	if err != nil {
		return err
	}
	chosen, err := d.choose(run, tickets)
	if err != nil {
		return err
	}
	doc := &decidedDocument{Decisions: []decidedCall{}}
	if len(chosen) == 0 {
		if chosen, err = d.missed(ctx, store, run, doc); err != nil {
			return err
		}
	}
	news := false
	for i := range chosen {
		call, err := d.record(ctx, store, run, &chosen[i])
		if err != nil {
			return err
		}
		doc.Decisions = append(doc.Decisions, call)
		d.tellDecided(&call)
		news = news || call.Status == runner.Recorded || call.Status == runner.Buffered
	}
	return d.after(ctx, store, run.ID, doc, news)
}

// after goes on with the run if something was recorded, and prints the result.
func (d *deciding) after(ctx context.Context, store selvage.Store, id selvage.RunID, doc *decidedDocument, news bool) error {
	other := d.otherwise(doc)
	var failed error
	if news && !d.noRun {
		doc.onwardDocument, failed = d.onward(ctx, store, id, going{})
	} else {
		doc.onwardDocument, failed = d.stands(ctx, store, id)
	}
	if doc.Run == nil {
		return errors.Join(other, failed)
	}
	_ = d.show(doc, func() { d.printOnward(&doc.onwardDocument) }) // it never fails; the stream keeps what does
	switch {
	case failed != nil:
		return failed
	case other != nil:
		return other
	case doc.WentOn:
		return d.ending(ctx, store, doc.Run)
	}
	return nil
}

// choose returns the tickets that are meant, none if none of them is open.
func (d *deciding) choose(run *selvage.Run, tickets []ticketDocument) ([]ticketDocument, error) {
	if d.ticket != "" {
		i := slices.IndexFunc(tickets, func(t ticketDocument) bool { return t.ID == d.ticket || t.CallID == d.ticket })
		if i < 0 {
			return nil, nil
		}
		return tickets[i : i+1], nil
	}
	var fitting []ticketDocument
	for i := range tickets {
		if d.fits(&tickets[i]) {
			fitting = append(fitting, tickets[i])
		}
	}
	switch {
	case len(tickets) == 0:
		return nil, nil
	case len(fitting) == 0:
		return nil, usage("`"+tickets[0].Decide[0]+"`", "run %s waits for something else: %s", run.ID, tickets[0].question())
	case len(fitting) == 1 || d.every:
		return fitting, nil
	case d.any:
		return fitting[:1], nil
	}
	lines := make([]string, len(fitting))
	for i := range fitting {
		lines[i] = fmt.Sprintf("%s (%s)", fitting[i].ID, fitting[i].question())
	}
	f := classify(usage("name one with --ticket, or all of them with --all", "run %s waits for %d decisions: %s", run.ID, len(fitting), strings.Join(lines, "; ")))
	f.details = map[string]any{"tickets": fitting}
	return nil, f
}

// missed is for a decision that nothing asks for: it tells which one was made
// before, or why there is none to make. With --early it is made for later.
func (d *deciding) missed(ctx context.Context, store selvage.Store, run *selvage.Run, doc *decidedDocument) ([]ticketDocument, error) {
	s, err := tellStory(ctx, store, run)
	if err != nil {
		return nil, err
	}
	past, err := d.past(s)
	switch {
	case err != nil:
		return nil, err
	case past != nil:
		doc.Decisions = append(doc.Decisions, *past)
		d.tellDecided(past)
		return nil, nil
	case !run.Status.Open():
		return nil, doneAlready(run)
	case d.ticket != "" && d.early:
		return []ticketDocument{{Ticket: selvage.Ticket{ID: d.ticket}}}, nil
	case d.ticket != "":
		return nil, hinted(fmt.Errorf("run %s asks nothing by the name of %q: %w", run.ID, d.ticket, selvage.ErrNotFound),
			"`"+d.again("run", "show", quote(string(run.ID)))+"` shows what it waits for; --early decides on what is yet to be asked")
	}
	f := &failure{exit: exitConflict, class: "conflict", err: fmt.Errorf("run %s waits for no decision, it is %s", run.ID, standing(run)), details: runFacts(run)}
	if run.Waiting != nil {
		f.err = fmt.Errorf("run %s waits for no decision, but for %s", run.ID, waitsFor(run.Waiting))
		f.hint = "`" + d.goesOn(run)[0] + "`"
	}
	return nil, f
}

// doneAlready is that a run is done about which there is nothing to decide.
func doneAlready(run *selvage.Run) error {
	facts := runFacts(run)
	facts["outcome"] = run.Outcome
	return &failure{exit: exitConflict, class: "conflict", err: fmt.Errorf("run %s is done: %s", run.ID, standing(run)), details: facts,
		hint: "a done run is final; its thread goes on with a new one"}
}

// past returns the decision on the call that is meant, or on the one that was
// decided last; nil if there was none.
func (d *deciding) past(s *story) (*decidedCall, error) {
	var found *decidedCall
	for i := range s.calls {
		c := &s.calls[i]
		if c.Decision == nil || d.ticket != "" && d.ticket != c.Ticket && d.ticket != c.ID {
			continue
		}
		var was selvage.Decision
		if err := json.Unmarshal(c.Decision, &was); err != nil {
			return nil, fmt.Errorf("the decision on call %s cannot be read: %v: %w", c.ID, err, selvage.ErrCorrupt)
		}
		if found == nil || !was.At.Before(found.Decision.At) {
			found = &decidedCall{Status: runner.AlreadyDecided, CallID: c.ID, Name: c.Name, Ticket: c.Ticket, Decision: was}
		}
	}
	for i := range s.limits {
		if c := &s.limits[i]; (d.ticket == "" || d.ticket == c.Ticket) && (found == nil || !c.Decision.At.Before(found.Decision.At)) {
			found = c
		}
	}
	if found != nil && d.id != "" && found.Decision.ID == d.id {
		found.Status = runner.Repeated
	}
	return found, nil
}

// record records the decision on one ticket.
func (d *deciding) record(ctx context.Context, store selvage.Store, run *selvage.Run, t *ticketDocument) (decidedCall, error) {
	decision := d.decision
	decision.By = d.decider()
	if decision.ID = d.id; d.every && d.id != "" {
		decision.ID += ":" + t.ID
	}
	decided, err := runner.Decide(ctx, store, run.ID, decision, t.ID)
	var done *runner.DoneError
	switch {
	case errors.As(err, &done):
		run.Outcome, run.Status = &done.Outcome, selvage.RunDone
		return decidedCall{}, doneAlready(run)
	case err != nil:
		return decidedCall{}, hinted(err, "nothing was recorded; `"+d.again("run", "show", quote(string(run.ID)))+"` shows what is asked")
	}
	return decidedCall{Status: decided.Status, CallID: decided.CallID, Name: t.Name, Ticket: decided.Ticket, Decision: decided.Decision}, nil
}
