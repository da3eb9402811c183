package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// resume takes up an open run that another process began and nobody leads any
// more. The ledger holds its thread.
func (x *run) resume(open *selvage.Run) {
	x.id, x.parent, x.resumed = open.ID, open.ParentRunID, true
	if open.Spec != nil {
		x.spec = *open.Spec
	}
	x.usage, x.cost, x.answers, x.step = open.Usage, open.Cost, open.Steps, open.Steps
	if !open.StartedAt.IsZero() {
		x.begun = open.StartedAt
	}
	for _, use := range x.spec.Tools {
		x.tools = append(x.tools, x.r.tools[use.Name].Spec())
	}
}

// difference says what a run needs that this runner does not have, or "".
func (r *Runner) difference(run *selvage.Run) string {
	if run.Spec == nil {
		return "it does not say what it is made of"
	}
	var lacks []string
	lack := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	if name := r.opts.Model.Name(); run.Spec.Model != name {
		lack("it needs model %s, this is %s", run.Spec.Model, name)
	}
	for _, need := range run.Spec.Tools {
		have, ok := r.tools[need.Name]
		if !ok {
			lack("it needs tool %s, which is not here", need.Name)
			continue
		}
		spec := have.Spec()
		switch {
		case spec.SchemaHash() != need.SchemaHash:
			lack("its tool %s takes other arguments than the one here", need.Name)
		case spec.Effect != need.Effect:
			lack("the effect of its tool %s is %s, here it is %s", need.Name, need.Effect, spec.Effect)
		}
	}
	for _, need := range run.Spec.Needs {
		lack("it needs %s of its host", need)
	}
	if run.Status == selvage.RunWaiting {
		lack("it waits for %s", run.Waiting.Reason)
	}
	return strings.Join(lacks, "; ")
}

// known looks for a run that an input names. It reports whether the thread
// holds it, and returns its result if it is done; otherwise the run has been
// taken up.
func (x *run) known(ctx context.Context, id selvage.RunID, head *selvage.Head) (bool, *Result, error) {
	if open := head.OpenRun; open != nil && open.ID == id {
		if lack := x.r.difference(open); lack != "" {
			return true, nil, &selvage.InvalidError{Field: "RunID", Reason: fmt.Sprintf("run %q is open, but this runner cannot go on with it: %s", id, lack)}
		}
		x.resume(open)
		return true, nil, nil
	}
	if head.Thread.LatestRunID == "" {
		return false, nil, nil
	}
	limit := selvage.MaxPage
	query := selvage.RunQuery{ThreadID: x.thread, Limit: &limit}
	for {
		page, err := x.store.Runs(ctx, query)
		if err != nil {
			return false, nil, err
		}
		for i := range page.Items {
			if page.Items[i].ID == id {
				result, err := x.past(ctx, &page.Items[i], head)
				return true, result, err
			}
		}
		if page.Next == "" {
			return false, nil, nil
		}
		query.Cursor = page.Next
	}
}

// past is the result of a run that had ended before.
func (x *run) past(ctx context.Context, done *selvage.Run, head *selvage.Head) (*Result, error) {
	result := &Result{ThreadID: x.thread, RunID: done.ID, Outcome: *done.Outcome, Usage: done.Usage, Cost: done.Cost,
		Steps: done.Steps, Version: head.Thread.Version, Replayed: true}
	if done.Outcome.Kind != selvage.OutcomeCompleted {
		return result, nil
	}
	limit := selvage.MaxPage
	page, err := x.store.Messages(ctx, x.thread, selvage.MessageQuery{RunID: done.ID, Order: selvage.Descending, Limit: &limit})
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		if page.Items[i].Role == selvage.RoleAssistant {
			result.Text = page.Items[i].Text()
			break
		}
	}
	return result, nil
}
