package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
)

// waitingRun is the run of the thread that waits, and what for; nil if none
// does.
func (c *conversation) waitingRun(ctx context.Context) (*selvage.Run, []ticketDocument, error) {
	if c.store == nil {
		return nil, nil, nil
	}
	head, err := bareHead(ctx, c.store, c.id)
	if errors.Is(err, selvage.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil || head.OpenRun == nil || head.OpenRun.Waiting == nil {
		return nil, nil, err
	}
	tickets, err := c.openTickets(ctx, c.store, head.OpenRun, head)
	return head.OpenRun, tickets, err
}

// mayEnd asks before a message ends a run that waits.
func (t *typing) mayEnd(ctx context.Context) (bool, error) {
	run, _, err := t.talk.waitingRun(ctx)
	if err != nil || run == nil {
		return err == nil, err
	}
	t.note("run %s waits for %s, and a new message ends it", run.ID, waitsFor(run.Waiting))
	answer, err := t.read("Send it? [y/N, or s to see what it waits for] ")
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return err == nil, err
	case "s":
		return false, t.settle(ctx)
	}
	return false, err
}

// settle asks about what the run of the thread waits for and goes on with it,
// until it waits no more or is left for later.
func (t *typing) settle(ctx context.Context) error {
	for {
		run, tickets, err := t.talk.waitingRun(ctx)
		if err != nil || run == nil {
			return err
		}
		how, goOn, err := t.settleRun(ctx, run, tickets)
		if err != nil {
			return err
		}
		if !goOn {
			f := t.waiting(run, tickets)
			t.note("%v; when it is time: %s", f.err, f.hint)
			return nil
		}
		during(ctx, t.signals, func(ctx context.Context) { err = t.talk.goOnWith(ctx, run.ID, how) })
		if err == nil || classify(err).exit != exitWaiting {
			return err
		}
	}
}

// goOnWith goes on with the run of the thread and shows the reply.
func (c *conversation) goOnWith(ctx context.Context, id selvage.RunID, how going) error {
	run, err := findRun(ctx, c.store, id)
	if err != nil {
		return err
	}
	if !run.Status.Open() { // the decision ended it
		return c.ending(ctx, c.store, run)
	}
	leads, err := c.runnerFor(ctx, run, how.partial)
	if err != nil {
		return hinted(fmt.Errorf("run %s cannot go on here: %w", run.ID, err), "what was decided is recorded; where that is there: "+c.again("run", "resume", quote(string(run.ID))))
	}
	result, err := c.follow(ctx, leads.ResumeStream(ctx, id, runner.ResumeOptions{Bump: how.bump}))
	if err == nil || result.Waiting != nil {
		c.reply(&result)
	}
	return err
}

// settleRun asks about everything that a run waits for, and records the
// answers. It reports whether the run can go on with them, and how.
func (t *typing) settleRun(ctx context.Context, run *selvage.Run, tickets []ticketDocument) (how going, goOn bool, err error) {
	if len(tickets) == 0 {
		return t.raise(run)
	}
	for i := range tickets {
		d, err := t.decide(&tickets[i])
		if err != nil {
			return how, false, err
		}
		if d == nil {
			continue
		}
		decided, err := runner.Decide(ctx, t.talk.store, run.ID, *d, tickets[i].ID)
		switch {
		case err != nil:
			return how, false, err
		case decided.Status == runner.AlreadyDecided:
			t.note("%s", decidedText(&decidedCall{CallID: decided.CallID, Name: tickets[i].Name, Decision: decided.Decision}))
		}
		goOn = true
	}
	return how, goOn, nil
}

// raise asks whether to raise the limit that a run has reached.
func (t *typing) raise(run *selvage.Run) (how going, goOn bool, err error) {
	w := run.Waiting
	if w.LimitCode == "" {
		return how, false, nil
	}
	name, more := limitName(w.LimitCode), usualBump(w.LimitCode)
	t.aside("run %s has reached a limit: %s %s of %s", run.ID, name, w.Current, w.Max)
	for {
		answer, err := t.read(fmt.Sprintf("Raise it? [y: by %s, an amount such as %s, or l: later] ", more, more))
		if err != nil {
			return how, false, err
		}
		switch answer = strings.TrimSpace(answer); strings.ToLower(answer) {
		case "", "l", "later", "n", "no":
			return how, false, nil
		case "y", "yes":
			answer = more
		}
		if how, err = goingBy([]string{name + "=" + answer}, ""); err == nil {
			return how, true, nil
		}
		t.aside("%s", oneLine(err.Error()))
	}
}

// decide asks about one ticket; nil is for later.
func (t *typing) decide(ticket *ticketDocument) (*selvage.Decision, error) {
	t.aside("%s", ticket.question())
	if ticket.Message != "" {
		t.aside("%s %s", ticket.Name, compact(ticket.Arguments))
	}
	d := &selvage.Decision{ID: selvage.NewID(), Action: selvage.DecisionResume, By: t.userName()}
	switch {
	case ticket.Child != nil || ticket.Signal != "":
		return nil, nil
	case ticket.Reason == selvage.WaitUserInput:
		return t.answer(d, ticket)
	}
	choices := "[a]pprove, [d]eny, [e]dit the arguments, [l]ater? "
	if ticket.Unknown {
		choices = "[a] run it again, [r]esult of it, [d]eny, [l]ater? "
	}
	for {
		answer, err := t.read(choices)
		if err != nil {
			return nil, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "a", "approve", "y", "yes":
			return d, nil
		case "l", "later":
			return nil, nil
		case "d", "deny", "n", "no":
			d.Action = selvage.DecisionCancel
			d.Reason, err = t.read("why? (the model reads it) ")
			return d, err
		case "e", "edit":
			text, err := t.read("arguments, as JSON: ")
			if err != nil {
				return nil, err
			}
			if v, err := state.ParseValue([]byte(text)); err == nil && v.Kind() == state.KindObject {
				d.Arguments = json.RawMessage(text)
				return d, nil
			}
			t.aside("%s is not a JSON object", oneLine(text))
		case "r", "result":
			text, err := t.read("result: ")
			if err != nil {
				return nil, err
			}
			d.Result, err = answerOf(text, ticket.Schema)
			return d, err
		}
	}
}

// answer takes the next line for the answer to a question; an empty one, or
// /later, leaves it open.
func (t *typing) answer(d *selvage.Decision, ticket *ticketDocument) (*selvage.Decision, error) {
	text, err := t.read("answer> ")
	if err != nil || strings.TrimSpace(text) == "" || strings.TrimSpace(text) == "/later" {
		return nil, err
	}
	d.Result, err = answerOf(text, ticket.Schema)
	return d, err
}

// aside tells something that is asked about, also with --quiet.
func (t *typing) aside(format string, args ...any) {
	t.err.line("%s", clean(fmt.Sprintf(format, args...)))
}
