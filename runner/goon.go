package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/selvagehq/selvage"
)

// ResumeOptions says how a run goes on.
type ResumeOptions struct {
	// Bump raises limits of the run, if it waits because it has reached one.
	Bump []Bump

	// Partial says how an answer is asked for again that the run was in the
	// middle of. Empty means [Options.OnPartial].
	Partial OnPartial
}

// CannotResumeError reports an open run that a runner cannot go on with,
// because it lacks what the run recorded that it is made of. Nothing was
// changed. It matches [selvage.ErrUnsupported].
type CannotResumeError struct {
	ThreadID selvage.ThreadID
	RunID    selvage.RunID
	Lacks    string // what is missing here
	Needs    string // who can go on with it
}

func (e *CannotResumeError) Error() string {
	return fmt.Sprintf("run %s cannot go on here: %s. It goes on where there is %s", e.RunID, e.Lacks, e.Needs)
}

// Is reports whether target is [selvage.ErrUnsupported].
func (e *CannotResumeError) Is(target error) bool { return target == selvage.ErrUnsupported }

// host describes who can go on with a run.
func host(run *selvage.Run) string {
	if run.Spec == nil {
		return "the program that began it"
	}
	parts := []string{"model " + run.Spec.Model}
	if len(run.Spec.Tools) > 0 {
		names := make([]string, len(run.Spec.Tools))
		for i := range run.Spec.Tools {
			names[i] = run.Spec.Tools[i].Name
		}
		parts = append(parts, "the tools "+strings.Join(names, ", "))
	}
	parts = append(parts, run.Spec.Needs...)
	if run.AgentID != "" {
		parts = append(parts, "agent "+run.AgentID)
	}
	return strings.Join(parts, ", ")
}

// Resume goes on with an open run that nobody leads: one that waited and can
// go on, because what it waited for was decided, or one whose process is dead.
// It is the same run, made of what it recorded, and the result is that of
// [Runner.Run]. A run that still waits is told to wait, in Result.Waiting,
// without a change or a cost.
//
// A run is cancelled in place of going on if the one that spawned it was
// cancelled, or failed.
//
// Besides the errors of [Runner.Run] it returns a [DoneError], with the result
// of the run, if that is done; a [CannotResumeError] if this runner lacks what
// the run is made of; a [LimitError] if it has reached a limit that is not
// raised far enough; [selvage.ErrNotFound] if there is no such run.
func (r *Runner) Resume(ctx context.Context, run selvage.RunID, opts ResumeOptions) (Result, error) {
	return collect(r.ResumeStream(ctx, run, opts))
}

// ResumeStream is [Runner.Resume] told step by step, as [Runner.Stream] does.
func (r *Runner) ResumeStream(ctx context.Context, run selvage.RunID, opts ResumeOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		out := &outlet{yield: yield}
		if err := r.goOn(ctx, run, opts, out); err != nil {
			out.give(Event{RunID: run}, fmt.Errorf("resume run %s: %w", run, err))
		}
	}
}

// goOn leads an open run to its end, or until it waits.
func (r *Runner) goOn(ctx context.Context, id selvage.RunID, opts ResumeOptions, out *outlet) error {
	if r.home.store == nil {
		return fmt.Errorf("this runner has no store: %w", selvage.ErrUnsupported)
	}
	if err := opts.Partial.check("Partial"); err != nil {
		return err
	}
	info, err := FindRun(ctx, r.home.store, id)
	if err != nil {
		return err
	}
	if !info.Status.Open() {
		return r.replay(ctx, &info, out)
	}
	if orphan, _, err := r.cancelOrphan(ctx, &info); err != nil {
		return err
	} else if orphan != nil {
		return r.replay(ctx, orphan, out)
	}
	if err := catchUpWithChildren(ctx, r.home.store, &info, r.opts.Logger); err != nil {
		return err
	}
	if lack := r.difference(&info); lack != "" {
		return &CannotResumeError{ThreadID: info.ThreadID, RunID: id, Lacks: lack, Needs: host(&info)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out.cancel = cancel
	// Whatever OnActive says of new messages: the run is not to end for this.
	lease, err := r.acquire(ctx, r.home, info.ThreadID, r.yields(ctx, id, out.queued(info.ThreadID, id)))
	if err != nil {
		return err
	}
	tenure := r.hold(ctx, r.home, lease, cancel)
	defer tenure.end(ctx, r.opts.Logger)
	x := r.newRun(r.home, &lease, out)
	head, err := x.fetch(ctx)
	if err != nil {
		return err
	}
	if head.OpenRun == nil || head.OpenRun.ID != id {
		if info, err = FindRun(ctx, r.home.store, id); err != nil {
			return err
		}
		return r.replay(ctx, &info, out)
	}
	waiting, err := x.reenter(ctx, head, opts)
	switch {
	case err != nil:
		return err
	case waiting != nil:
		x.tell(*waiting, nil)
	default:
		x.drive(ctx)
	}
	return nil
}

// replay tells what a run came to that is done.
func (r *Runner) replay(ctx context.Context, done *selvage.Run, out *outlet) error {
	if done.Outcome == nil {
		return over(done)
	}
	x := &run{r: r, out: out, id: done.ID, ledger: ledger{store: r.home.store, thread: done.ThreadID}}
	result, err := x.again(ctx, done)
	if err != nil {
		return errors.Join(over(done), err)
	}
	x.tell(*result, over(done))
	return nil
}

// goesOn reports whether an open run may be one to take over: one that does
// not wait, or waits and can go on.
func (r *Runner) goesOn(ctx context.Context, open *selvage.Run) (bool, error) {
	if open.Status != selvage.RunWaiting {
		return true, nil
	}
	if err := catchUpWithChildren(ctx, r.home.store, open, r.opts.Logger); err != nil && !errors.Is(err, selvage.ErrNotFound) {
		return false, err
	}
	none := 0
	head, err := r.home.store.Load(ctx, open.ThreadID, selvage.LoadOptions{Messages: &none})
	switch {
	case errors.Is(err, selvage.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case head.OpenRun == nil || head.OpenRun.ID != open.ID:
		return false, nil
	}
	return ripe(head.OpenRun, head.State, head.OpenCalls, r.opts.Now())
}
