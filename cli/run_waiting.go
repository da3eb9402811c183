package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// ticketDocument is a question that a run waits for, in JSON.
type ticketDocument struct {
	selvage.Ticket
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`      // of the tool
	Arguments json.RawMessage `json:"arguments,omitempty"` // of the call
	Effect    selvage.Effect  `json:"effect,omitempty"`
	Since     time.Time       `json:"since"`
	Decide    []string        `json:"decide"` // commands
}

// waitsFor says what a run waits for.
func waitsFor(w *selvage.Waiting) string {
	text := string(w.Reason)
	if w.LimitCode != "" {
		text = fmt.Sprintf("%s: %s (%s of %s)", w.Reason, limitName(w.LimitCode), w.Current, w.Max)
	}
	if w.Message != "" {
		text += ": " + w.Message
	}
	return text
}

// limitTicket is the question whether to raise the limit that a run waits at;
// nil if nothing is proposed.
func (a *app) limitTicket(run *selvage.Run) *ticketDocument {
	w := run.Waiting
	if w == nil || w.Escalation.Ticket == "" {
		return nil
	}
	return &ticketDocument{Ticket: selvage.Ticket{ID: w.Escalation.Ticket, Reason: w.Reason, Message: limitAsks(w)},
		Since: run.UpdatedAt, Decide: a.goesOn(run)}
}

// limitAsks says what is proposed to do about a limit.
func limitAsks(w *selvage.Waiting) string {
	return fmt.Sprintf("raise %s from %s to %s", limitName(w.LimitCode), w.Max, w.Escalation.Proposed)
}

// limitName is the name of a limit, as --bump takes it, by its code.
func limitName(code string) string { return strings.TrimSuffix(code, "_exceeded") }

// openTickets returns the questions that a run waits for, in the order in which
// they were asked, with the commands that answer them.
func (a *app) openTickets(ctx context.Context, store selvage.Store, run *selvage.Run, head *selvage.Head) ([]ticketDocument, error) {
	tickets := []ticketDocument{}
	for i := range head.OpenCalls {
		c := &head.OpenCalls[i]
		if c.RunID != run.ID {
			continue
		}
		t, err := c.Asks()
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		if t.ID == "" {
			t.ID = c.Ticket
		}
		tickets = append(tickets, ticketDocument{Ticket: *t, CallID: c.ID, Name: c.Name, Effect: c.Effect, Since: c.UpdatedAt})
	}
	if len(tickets) == 0 {
		return tickets, nil
	}
	asked, err := callsAsked(ctx, store, run)
	if err != nil {
		return nil, err
	}
	for i := range tickets {
		t := &tickets[i]
		t.Arguments = asked[t.CallID]
		if t.Child == nil {
			t.Decide = a.decisions(run, t, len(tickets) > 1)
		} else if t.Decide, err = a.childDecisions(ctx, store, t.Child.RunID); err != nil {
			return nil, err
		}
	}
	return tickets, nil
}

// childDecisions are the commands with which a run goes on that another waits
// for: those that answer what it waits for, or else what shows it.
func (a *app) childDecisions(ctx context.Context, store selvage.Store, id selvage.RunID) ([]string, error) {
	show := a.again("run", "show", quote(string(id)))
	child, err := findRun(ctx, store, id)
	switch {
	case errors.Is(err, selvage.ErrNotFound):
		return []string{show}, nil
	case err != nil:
		return nil, err
	case child.Waiting == nil:
		return []string{show}, nil
	}
	tickets, err := a.ticketsOf(ctx, store, child)
	if err != nil {
		return nil, err
	}
	if len(tickets) == 0 {
		return append(a.goesOn(child), show), nil
	}
	var commands []string
	for i := range tickets {
		commands = append(commands, tickets[i].Decide...)
	}
	return append(commands, show), nil
}

// callsAsked returns the arguments of the calls that a run made, by their ids.
func callsAsked(ctx context.Context, store selvage.Store, run *selvage.Run) (map[string]json.RawMessage, error) {
	asked := make(map[string]json.RawMessage)
	limit := selvage.MaxPage
	q := selvage.MessageQuery{RunID: run.ID, Visibility: selvage.ShowAll, Limit: &limit}
	for {
		page, err := store.Messages(ctx, run.ThreadID, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			for _, c := range page.Items[i].ToolCalls {
				asked[c.ID] = c.Arguments
			}
		}
		if q.Cursor = page.Next; page.Next == "" {
			return asked, nil
		}
	}
}

// decisions are the commands that answer a ticket. One of several is named.
func (a *app) decisions(run *selvage.Run, t *ticketDocument, named bool) []string {
	command := func(words ...string) string {
		line := append([]string{"run", words[0], quote(string(run.ID))}, words[1:]...)
		if named {
			line = append(line, "--ticket", quote(t.ID))
		}
		return a.again(line...)
	}
	switch {
	case t.Unknown:
		return []string{command("approve"), command("approve", "--result", "JSON"), command("deny")}
	case t.Reason == selvage.WaitUserInput:
		return []string{command("answer", "TEXT"), command("deny")}
	case t.Signal != "":
		return []string{a.again("run", "signal", quote(string(run.ID)), quote(t.Signal), "JSON")}
	case t.Until != nil: // it goes on by itself when its time has come
		return []string{a.again("run", "resume", quote(string(run.ID))), command("approve")}
	case t.Mode == selvage.ResumeResult:
		return []string{command("approve", "--result", "JSON"), command("deny")}
	default:
		return []string{command("approve"), command("deny")}
	}
}

// question says in one line what a ticket asks.
func (t *ticketDocument) question() string {
	text := t.Message
	if text == "" {
		text = fmt.Sprintf("%s: %s %s", t.Reason, t.Name, compact(t.Arguments))
	}
	if t.Unknown {
		text += " (it may or may not have been done)"
	}
	return text
}

// goesOn are the commands with which a run goes on that waits for something
// that is no ticket.
func (a *app) goesOn(run *selvage.Run) []string {
	resume := []string{"run", "resume", quote(string(run.ID))}
	w := run.Waiting
	if w != nil && w.Escalation.Ticket != "" {
		id := quote(string(run.ID))
		return []string{a.again("run", "approve", id), a.again(append(resume, "--bump", limitName(w.LimitCode)+"="+usualBump(w.LimitCode))...), a.again("run", "deny", id)}
	}
	if w != nil && w.LimitCode != "" {
		resume = append(resume, "--bump", limitName(w.LimitCode)+"="+usualBump(w.LimitCode))
	}
	return []string{a.again(resume...)}
}

// usualBump is how much more of a limit a hint proposes.
func usualBump(code string) string {
	switch code {
	case selvage.LimitTokens:
		return "+10000"
	case selvage.LimitSpend:
		return "+0.50"
	case selvage.LimitDuration:
		return "+10m"
	case selvage.LimitDepth:
		return "+1"
	default:
		return "+10"
	}
}

// waiting is the failure that a command ends with whose run waits for a
// decision.
func (a *app) waiting(run *selvage.Run, tickets []ticketDocument) *failure {
	next := a.goesOn(run)
	text := waitsFor(run.Waiting)
	switch {
	case len(tickets) == 1:
		next, text = tickets[0].Decide, fmt.Sprintf("%s: %s", run.Waiting.Reason, tickets[0].question())
	case len(tickets) > 1:
		next = []string{a.again("run", "show", quote(string(run.ID)))}
		text = fmt.Sprintf("%d decisions", len(tickets))
	}
	hint := "`" + strings.Join(next, "`, or `") + "`"
	if a.forgets() {
		next = []string{}
		hint = "nobody can decide it: the run was kept in memory, and is gone with this process; use a store that stays, or `selvage chat` on a terminal, which asks"
	}
	return &failure{exit: exitWaiting, class: "waiting", err: fmt.Errorf("run %s waits for %s", run.ID, text), hint: hint,
		details: map[string]any{"thread_id": run.ThreadID, "run_id": run.ID, "status": run.Status, "waiting": run.Waiting, "tickets": tickets, "decide": next}}
}
