package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// past is what the log of a run says of decisions, and of calls that ended.
type past struct {
	decisions []pastDecision       // the last one first
	sets      []*selvage.ChangeSet // in which limits may have been decided on; the last one first
	ended     map[string]selvage.CallStatus
}

// pastDecision is a decision in the log, and the ticket it answered.
type pastDecision struct {
	callID, ticket string
	decision       selvage.Decision
}

// find fills in the answer to a decision about a call that is not open, and
// reports whether the log knows of one that counted.
func (p *past) find(d selvage.Decision, target string, answer *Decided) bool {
	found := false
	for _, one := range p.decisions {
		same := one.decision.ID == d.ID
		meant := target == one.callID || target == one.ticket || target == "" && len(p.decisions) == 1
		if same || meant && !found {
			found = true
			answer.CallID, answer.Ticket = one.callID, one.ticket
			answer.known(one.decision, d.ID)
		}
		if same {
			break
		}
	}
	return found
}

// decidedBefore looks through the log of a run that is done for the decision
// that counted. If there is none the run is simply done.
func (o *outsider) decidedBefore(ctx context.Context, d selvage.Decision, target string, done *DoneError) (Decided, error) {
	all, err := o.past(ctx)
	if err != nil {
		return Decided{}, fmt.Errorf("read how run %s was decided: %w", o.id, err)
	}
	answer := Decided{ThreadID: o.thread, RunID: o.id, Run: selvage.RunDone}
	if !all.find(d, target, &answer) {
		return Decided{}, done
	}
	return answer, nil
}

// past reads the log of a run backwards to its beginning. What was compacted is
// not known any more.
func (o *outsider) past(ctx context.Context) (*past, error) {
	all := &past{ended: make(map[string]selvage.CallStatus)}
	limit := selvage.MaxPage
	query := selvage.ChangeQuery{Order: selvage.Descending, Limit: &limit}
	for {
		page, err := o.store.Changes(ctx, o.thread, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			set, err := page.Items[i].Set()
			if errors.Is(err, selvage.ErrGone) {
				return all, nil
			}
			if err != nil {
				return nil, err
			}
			if set.RunID == o.id {
				all.add(&set)
			}
			if begins(&set, o.id) {
				return all, nil
			}
		}
		if page.Next == "" {
			return all, nil
		}
		query.Cursor = page.Next
	}
}

// add takes in a change that is older than those before it.
func (p *past) add(set *selvage.ChangeSet) {
	p.addLimits(set)
	for _, u := range slices.Backward(set.Calls) {
		for i := range p.decisions {
			if one := &p.decisions[i]; one.callID != "" && one.callID == u.CallID && one.ticket == "" {
				one.ticket = u.Ticket
			}
		}
		var d selvage.Decision
		if u.Decision != nil && json.Unmarshal(u.Decision, &d) == nil {
			p.decisions = append(p.decisions, pastDecision{callID: u.CallID, decision: d})
		}
		if u.Status.Terminal() {
			p.ended[u.CallID] = u.Status
		}
	}
	for i := range set.Messages {
		if m := &set.Messages[i]; m.Role == selvage.RoleTool && p.ended[m.ToolCallID] == "" {
			p.ended[m.ToolCallID] = selvage.CallSucceeded
		}
	}
}

// addLimits takes in what was decided about limits: before the change in which a
// run begins to wait at one comes the one that decides on it.
func (p *past) addLimits(set *selvage.ChangeSet) {
	if len(set.Patches) > 0 && set.Reason == selvage.ReasonDecision {
		p.sets = append(p.sets, set)
	}
	for i := range set.Runs {
		w := set.Runs[i].Waiting
		if w == nil || w.Escalation.Ticket == "" {
			continue
		}
		for _, later := range p.sets {
			if d := RequestedDecision(later, w.Escalation.Ticket); d != nil {
				p.decisions = append(p.decisions, pastDecision{ticket: w.Escalation.Ticket, decision: *d})
				break
			}
		}
	}
}

// begins reports whether a change begins a run.
func begins(set *selvage.ChangeSet, id selvage.RunID) bool {
	return slices.ContainsFunc(set.Runs, func(u selvage.RunUpdate) bool { return u.ID == id && u.Spec != nil })
}
