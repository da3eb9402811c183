package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// resume takes up an open run that another process began and nobody leads any
// more. The ledger holds its thread.
func (x *run) resume(open *selvage.Run) error {
	x.id, x.parent, x.resumed = open.ID, open.ParentRunID, true
	if open.Spec != nil {
		x.spec = *open.Spec
	}
	x.chain = x.r.chainOf(&x.spec)
	x.limits, x.raised = open.Bounds(), open.Limits
	var err error
	if x.stopper, err = newStopper(x.spec.Stop); err != nil {
		return err
	}
	if x.rules, err = x.r.rulesOf(&x.spec); err != nil {
		return err
	}
	x.usage, x.cost, x.answers, x.step = open.Usage, open.Cost, open.Steps, open.Steps
	if !open.StartedAt.IsZero() {
		x.begun = open.StartedAt.Add(waited(x.doc))
	}
	for _, use := range x.spec.Tools {
		x.tools = append(x.tools, x.r.tools[use.Name].Spec())
	}
	x.newContext(x.spec.Context)
	x.caps = x.r.capsOf(&x.spec)
	x.tools = permitted(x.caps, x.tools)
	x.locate()
	return x.migrate(x.doc)
}

// reenter goes on with an open run of which the ledger holds the thread, unless
// it waits for something still: then its result says so, and nothing was done.
func (x *run) reenter(ctx context.Context, head *selvage.Head, opts ResumeOptions) (*Result, error) {
	open := head.OpenRun
	if err := x.resume(open); err != nil {
		return nil, err
	}
	if opts.Partial != "" {
		x.onPartial = opts.Partial
	}
	x.takeUp(ctx)
	waits := open.Status == selvage.RunWaiting
	if waits {
		x.begun = x.begun.Add(x.waitedNow(open))
	}
	raises, err := approved(open.Waiting, x.base)
	if err != nil {
		return nil, err
	}
	raises = append(raises, opts.Bump...)
	if err := x.unlimit(ctx, raises, waits && open.Waiting.LimitCode != ""); err != nil {
		return nil, err
	}
	if !waits {
		if len(raises) > 0 {
			return nil, x.wake(ctx)
		}
		return nil, nil
	}
	goes, err := x.ripe(open)
	if err != nil {
		return nil, err
	}
	// One that waits for no ticket and no time waits for nothing but this.
	goes = goes || len(open.Waiting.Tickets) == 0 && open.Waiting.Until == nil
	x.excused = waitsForResume(open.Waiting) && open.Waiting.Reason != selvage.WaitError // an error is asked about again
	if !goes && open.Waiting.LimitCode == "" {
		return x.stillWaits(ctx, open, len(raises) > 0)
	}
	if err := x.noteWaited(open); err != nil {
		return nil, err
	}
	return nil, x.wake(ctx)
}

// waitsForResume reports whether a run waits for nothing but to be gone on with:
// a rule suspended it.
func waitsForResume(w *selvage.Waiting) bool {
	return w.LimitCode == "" && len(w.Tickets) == 0 && w.Until == nil && w.Reason != selvage.WaitBackground
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
	for _, need := range run.Spec.Fallbacks {
		if r.named(need) == nil {
			lack("it needs model %s to fall back on, which is not here", need)
		}
	}
	if c := run.Spec.Context; c != nil && c.Model != "" && (r.summariser == nil || r.summariser.model.Name() != c.Model) {
		lack("it needs model %s to summarise, which is not here", c.Model)
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
	if _, err := r.rulesOf(run.Spec); err != nil {
		lack("its rules are not understood here: %v", err)
	}
	for _, need := range run.Spec.Needs {
		lack("it needs %s of its host", need)
	}
	return strings.Join(lacks, "; ")
}

// rejoin takes up the open run that an input names. It returns a result if the
// run still waits.
func (x *run) rejoin(ctx context.Context, head *selvage.Head) (*Result, error) {
	open := head.OpenRun
	if lack := x.r.difference(open); lack != "" {
		return nil, &selvage.InvalidError{Field: "RunID", Reason: fmt.Sprintf("run %q is open, but this runner cannot go on with it: %s", open.ID, lack)}
	}
	return x.reenter(ctx, head, ResumeOptions{})
}

// past looks for a run of the thread that had ended before, because the store
// refused to begin it, and returns what it came to. If there is none the
// refusal stands.
func (x *run) past(ctx context.Context, id selvage.RunID, refusal error) (*Result, error) {
	limit := selvage.MaxPage
	query := selvage.RunQuery{ThreadID: x.thread, Limit: &limit}
	for {
		page, err := x.store.Runs(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if run := &page.Items[i]; run.ID == id && run.Outcome != nil {
				return x.again(ctx, run)
			}
		}
		if page.Next == "" {
			return nil, refusal
		}
		query.Cursor = page.Next
	}
}

// endOf is what is recorded of how a done run ended.
func endOf(done *selvage.Run) Result {
	return Result{ThreadID: done.ThreadID, RunID: done.ID, Outcome: *done.Outcome, Usage: done.Usage, Cost: done.Cost, Steps: done.Steps}
}

// again is the result of a run that had ended before.
func (x *run) again(ctx context.Context, done *selvage.Run) (*Result, error) {
	told := endOf(done)
	result := &told
	result.Version, result.Replayed = x.version, true
	if done.Outcome.Kind != selvage.OutcomeCompleted {
		return result, nil
	}
	limit := 1
	page, err := x.store.Messages(ctx, x.thread, selvage.MessageQuery{RunID: done.ID, Order: selvage.Descending, Limit: &limit})
	if err != nil {
		return nil, err
	}
	// A completed run ends with its answer, and what hooks say is not shown.
	for i := range page.Items {
		result.Text = page.Items[i].Text()
	}
	return result, nil
}
