package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
	"github.com/selvagehq/selvage/runner"
)

// onwardDocument is how a run went on, in JSON.
type onwardDocument struct {
	RunID    selvage.RunID    `json:"run_id"`
	ThreadID selvage.ThreadID `json:"thread_id"`
	Run      *selvage.Run     `json:"run"`              // as it stands now
	WentOn   bool             `json:"went_on"`          // here, until it ended or waited again
	Text     string           `json:"text"`             // its answer, if it completed here
	LedBy    string           `json:"led_by,omitempty"` // the process that goes on with it
	Lacks    string           `json:"lacks,omitempty"`  // why it cannot go on here
	Next     string           `json:"next,omitempty"`   // the command with which it goes on elsewhere
	Parent   *onwardDocument  `json:"parent,omitempty"` // how the run went on that waited for this one to end
}

// going is how a run is to go on.
type going struct {
	bump    []runner.Bump    // limits to raise
	partial runner.OnPartial // what becomes of an answer that broke off
}

// stands is the document of a run that does not go on here and now.
func (a *app) stands(ctx context.Context, store selvage.Store, id selvage.RunID) (onwardDocument, error) {
	run, err := findRun(ctx, store, id)
	if err != nil {
		return onwardDocument{}, err
	}
	doc := onwardDocument{RunID: id, ThreadID: run.ThreadID, Run: run}
	if !run.Status.Open() {
		return doc, nil
	}
	head, err := bareHead(ctx, store, run.ThreadID)
	if err != nil {
		return doc, err
	}
	doc.Next = a.again("run", "resume", quote(string(id)))
	// Who holds the thread of a run that waits only decides on it.
	if l := leader(head); l != nil && run.Status != selvage.RunWaiting {
		doc.LedBy, doc.Next = l.Owner.String(), a.again("run", "watch", quote(string(id)))
	}
	return doc, nil
}

// leader is the lease of who leads the thread now, or nil: a process that is
// dead leads nothing.
func leader(head *selvage.Head) *selvage.Lease {
	if head.Lease == nil || process.Dead(head.Lease.Owner) {
		return nil
	}
	return head.Lease
}

// onward goes on with a run that nobody leads, in this process and made of what
// it recorded, until it has ended or waits. If it is led, or this host lacks
// what it is made of, the document says so and nothing was done. The error is
// that of a run that did not end well.
func (a *app) onward(ctx context.Context, store selvage.Store, id selvage.RunID, how going) (onwardDocument, error) {
	doc, err := a.stands(ctx, store, id)
	switch {
	case err != nil || doc.LedBy != "":
		return doc, err
	case !doc.Run.Status.Open():
		doc.Parent = a.upward(ctx, store, doc.Run)
		return doc, nil
	}
	c := &conversation{app: a, store: store, id: doc.ThreadID, show: newTeller(a)}
	leads, err := c.runnerFor(ctx, doc.Run, how.partial)
	if err != nil {
		doc.Lacks = oneLine(err.Error())
		return doc, nil
	}
	result, failed := c.follow(ctx, leads.ResumeStream(ctx, id, runner.ResumeOptions{Bump: how.bump}))
	var cannot *runner.CannotResumeError
	var busy *selvage.BusyError
	var done *runner.DoneError
	var limit *runner.LimitError
	switch {
	case errors.As(failed, &cannot):
		doc.Lacks, failed = cannot.Lacks, nil
	case errors.As(failed, &busy):
		doc.LedBy, failed = busy.Owner.String(), nil
		doc.Next = a.again("run", "watch", quote(string(id)))
	case errors.As(failed, &done):
		failed = nil // another process was faster
	case errors.As(failed, &limit):
		failed = a.limitStands(doc.Run, limit)
	default:
		doc.WentOn, doc.Text = true, result.Text
	}
	// It may have been cancelled, and is recorded all the same.
	if now, err := findRun(context.WithoutCancel(ctx), store, id); err == nil {
		doc.Run = now
	}
	if doc.WentOn || !doc.Run.Status.Open() {
		doc.Next = ""
	}
	if !doc.Run.Status.Open() {
		doc.Parent = a.upward(ctx, store, doc.Run)
	}
	return doc, failed
}

// upward goes on with the run that spawned one which is done now, if nobody
// leads it: it waited for that, or its process is no more. It is nil if there is
// none, or it waits for something else. What becomes of it is told, and is no
// failure of what was decided.
func (a *app) upward(ctx context.Context, store selvage.Store, done *selvage.Run) *onwardDocument {
	if done.ParentRunID == "" || ctx.Err() != nil {
		return nil
	}
	parent, err := a.stands(ctx, store, done.ParentRunID)
	if err != nil || parent.LedBy != "" || !parent.Run.Status.Open() {
		return nil
	}
	if w := parent.Run.Waiting; w == nil {
		a.note("run %s spawned it and was interrupted, and goes on", parent.RunID)
	} else if w.Reason == selvage.WaitBackground || w.Reason == selvage.WaitBudget {
		a.note("run %s waited for it, and goes on", parent.RunID)
	} else {
		return nil
	}
	doc, err := a.onward(ctx, store, parent.RunID, going{})
	if err != nil {
		a.note("%v", err)
	}
	if doc.Run == nil {
		return nil
	}
	return &doc
}

// limitStands is that a run has reached a limit which is not raised far enough.
func (a *app) limitStands(run *selvage.Run, e *runner.LimitError) error {
	f := a.waiting(&selvage.Run{ID: run.ID, ThreadID: run.ThreadID, Status: selvage.RunWaiting, Waiting: &e.Waiting}, []ticketDocument{})
	f.class, f.err = runner.CodeLimit, fmt.Errorf("%s: %w", runner.CodeLimit, f.err)
	f.hint = "`" + a.again("run", "resume", quote(string(run.ID)), "--bump", e.Bump()) + "`"
	return f
}

// runnerFor makes the runner that a recorded run needs, or says what is not
// here.
func (c *conversation) runnerFor(ctx context.Context, run *selvage.Run, partial runner.OnPartial) (*runner.Runner, error) {
	if run.Spec == nil {
		return nil, errors.New("it does not say what it is made of")
	}
	was := makeupOf(run.Spec)
	was.agent, was.spec = run.AgentID, run.Spec
	return c.runnerWith(ctx, &was, runner.Options{AgentID: run.AgentID, OnActive: runner.Reject, Limits: run.Bounds(), OnPartial: partial})
}

// printOnward shows people how a run went on.
func (a *app) printOnward(d *onwardDocument) {
	if a.flags.quiet {
		a.out.line("%s", d.RunID)
		return
	}
	switch {
	case d.WentOn && d.Text != "" && !newTeller(a).live:
		a.out.text(d.Text)
		a.out.line("")
	case d.Lacks != "":
		a.note("run %s cannot go on here: %s", d.RunID, d.Lacks)
		a.note("where that is there: %s", d.Next)
	case d.LedBy != "":
		a.note("run %s is led by %s, and goes on there: %s", d.RunID, d.LedBy, d.Next)
	case !d.WentOn && d.Run.Status.Open():
		a.note("run %s is %s; go on with: %s", d.RunID, standing(d.Run), d.Next)
	case !d.WentOn:
		a.note("run %s is done: %s", d.RunID, standing(d.Run))
	}
	if d.Parent != nil {
		a.printOnward(d.Parent)
	}
}
