package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// past is a decision in the log, and the ticket it answered.
type past struct {
	callID, ticket string
	decision       selvage.Decision
}

// decidedBefore looks through the log of a run that is done for the decision
// that counted. If there is none the run is simply done.
func (o *outsider) decidedBefore(ctx context.Context, d selvage.Decision, target string, done *DoneError) (Decided, error) {
	all, err := o.decisions(ctx)
	if err != nil {
		return Decided{}, fmt.Errorf("read how run %s was decided: %w", o.id, err)
	}
	answer := Decided{ThreadID: o.thread, RunID: o.id, Run: selvage.RunDone}
	for _, p := range all {
		same := p.decision.ID == d.ID
		meant := target == p.callID || target == p.ticket || target == "" && len(all) == 1
		if same || meant && answer.Status == "" {
			answer.CallID, answer.Ticket = p.callID, p.ticket
			answer.known(p.decision, d.ID)
		}
		if same {
			break
		}
	}
	if answer.Status == "" {
		return Decided{}, done
	}
	return answer, nil
}

// decisions reads the decisions about a run from its log, the last one first.
// What was compacted is not among them.
func (o *outsider) decisions(ctx context.Context) ([]past, error) {
	var all []past
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
				all = decided(all, set.Calls)
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

// decided takes in the calls of a change that is older than those before it.
func decided(all []past, calls []selvage.CallUpdate) []past {
	for _, u := range slices.Backward(calls) {
		for i := range all {
			if all[i].callID == u.CallID && all[i].ticket == "" {
				all[i].ticket = u.Ticket
			}
		}
		var d selvage.Decision
		if u.Decision != nil && json.Unmarshal(u.Decision, &d) == nil {
			all = append(all, past{callID: u.CallID, decision: d})
		}
	}
	return all
}

// begins reports whether a change begins a run.
func begins(set *selvage.ChangeSet, id selvage.RunID) bool {
	return slices.ContainsFunc(set.Runs, func(u selvage.RunUpdate) bool { return u.ID == id && u.Spec != nil })
}
