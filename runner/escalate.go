package runner

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/state"
)

// escalationFactor is what a limit is to be multiplied by, unless a rule says
// otherwise.
const escalationFactor = 2

// escalate puts it to people to raise the limit that the run waits at. A rule
// says by which factor or by how much, and how far at most; none is the built-in
// one. What would not let the run go on is not proposed.
func escalate(w *selvage.Waiting, r *rules.Result) {
	name, limit, current := amounts(w)
	if r == nil {
		r = &rules.Result{}
	}
	to := beyond(limit, current, int64(max(escalationFactor, r.Number("factor"))))
	if by, said := amountIn(name, r.Params["amount"]); said {
		to = max(limit+min(by, math.MaxInt64-limit), beyond(limit, current, 1))
	}
	if most, said := amountIn(name, r.Params["ceiling"]); said {
		to = min(to, most)
	}
	if to > limit && to > current {
		w.Escalation = selvage.Escalation{Ticket: selvage.NewID(), Proposed: selvage.Amount(amountOf(name, to))}
	}
}

// amountIn reads an amount of a limit. One that cannot be meant does not count.
func amountIn(limit, text string) (int64, bool) {
	b, err := ParseBump(limit + "=" + text)
	return b.Amount, err == nil && !b.By && b.Amount > 0
}

// A limit has no call in whose journal a decision could stand. It stands where
// early decisions do, under its ticket, and stays there as long as the run is
// open: that it is made again is found out also when it has taken effect.

// decideLimit makes the change that records a decision about the limit that the
// run waits at.
func (o *outsider) decideLimit(ctx context.Context, d selvage.Decision, answer *Decided) (*selvage.ChangeSet, error) {
	w := o.info.Waiting
	at := decisionAt(w.Escalation.Ticket)
	answer.Ticket = w.Escalation.Ticket
	past, taken, err := asked[selvage.Decision](o.base, at)
	if err != nil {
		return nil, err
	}
	if taken {
		answer.known(past, d.ID)
		return nil, nil
	}
	name := strings.TrimSuffix(w.LimitCode, "_exceeded")
	switch {
	case d.Action == selvage.DecisionCancel:
		return nil, &selvage.InvalidError{Field: "action", Reason: "the limit of " + name + " is no call that could be left out: approve what is proposed, raise it by another amount, or end the run"}
	case d.Result != nil || d.Arguments != nil:
		return nil, &selvage.InvalidError{Field: "result", Reason: "the limit of " + name + " is no call with arguments and a result: approve what is proposed, or raise it by another amount"}
	}
	patches, err := request(at, d)
	if err != nil {
		return nil, err
	}
	answer.Status = Recorded
	set := &selvage.ChangeSet{}
	if d.Action == selvage.DecisionAbort {
		answer.Run = selvage.RunDone
		if set, err = o.closing(ctx, denial(&d)); err != nil {
			return nil, err
		}
	}
	set.Patches = patches
	return set, nil
}

// escalates reports whether a target means the limit that the run waits at:
// nothing else waits, or it is its ticket.
func (o *outsider) escalates(target string) bool {
	w := o.info.Waiting
	if w == nil || w.Escalation.Ticket == "" {
		return false
	}
	if target != "" {
		return target == w.Escalation.Ticket
	}
	for i := range o.head.OpenCalls {
		if c := &o.head.OpenCalls[i]; c.RunID == o.id && c.Status == selvage.CallSuspended {
			return false
		}
	}
	return true
}

// repeated looks among what was decided about limits of the open run for a
// decision of an id.
func (o *outsider) repeated(id string, answer *Decided) bool {
	all, _ := o.base.Get(state.At(state.RunKey, "decisions"))
	for _, ticket := range all.Keys() {
		d, ok, err := asked[selvage.Decision](o.base, decisionAt(ticket))
		if ok && err == nil && d.ID == id {
			answer.Ticket = ticket
			answer.known(d, id)
			return true
		}
	}
	return false
}

// approved returns the bump that was approved of what a run waits for, or
// nothing.
func approved(w *selvage.Waiting, doc state.Document) ([]Bump, error) {
	if w == nil || w.Escalation.Ticket == "" {
		return nil, nil
	}
	d, ok, err := asked[selvage.Decision](doc, decisionAt(w.Escalation.Ticket))
	if err != nil || !ok || d.Action != selvage.DecisionResume {
		return nil, err
	}
	b, err := ParseBump(strings.TrimSuffix(w.LimitCode, "_exceeded") + "=" + string(w.Escalation.Proposed))
	if err != nil {
		return nil, err
	}
	return []Bump{b}, nil
}

// RequestedDecision returns the decision on a ticket that a change keeps in the
// state of its thread, or nil: that on a limit, and one that was early.
func RequestedDecision(set *selvage.ChangeSet, ticket string) *selvage.Decision {
	at := decisionAt(ticket)
	for i := range set.Patches {
		for _, op := range set.Patches[i].Ops {
			var d selvage.Decision
			if op.Kind == state.OpSet && op.Path == at && json.Unmarshal(op.Value.AppendJSON(nil), &d) == nil {
				return &d
			}
		}
	}
	return nil
}
