package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/caps"
)

// spawner begins child runs for the calls of one run. It knows nothing that
// changes while the run goes on, so that calls that run at once may share it.
type spawner struct {
	r      *Runner
	place  place
	parent selvage.ChildRun
	fence  *selvage.Fence // of the parent's lease
	user   string
	begun  time.Time
	slots  chan struct{} // of the run: each child that is led holds one; nil is without bound
}

// spawner returns what the tools of the run spawn with.
func (x *run) spawner() selvage.Spawner {
	if most := x.r.opts.MaxChildren; x.slots == nil && most > 0 {
		x.slots = make(chan struct{}, most)
	}
	return &spawner{r: x.r, place: x.place, parent: selvage.ChildRun{ThreadID: x.thread, RunID: x.id}, fence: x.fence, user: x.user, begun: x.begun, slots: x.slots}
}

// book is the budget that children are given a part of. A process that leads
// the parent no more cannot change it.
func (s *spawner) book() budget.Book {
	return budget.Book{Store: s.place.store, Thread: s.parent.ThreadID, Run: s.parent.RunID, Fence: s.fence}
}

// Spawn implements [selvage.Spawner]. It waits for its turn, and returns when the child has ended, or
// waits. A child that failed or was cancelled is a result too; an error is a
// child that was refused, that waits, or of which it is not known how it
// ended.
func (s *spawner) Spawn(ctx context.Context, req selvage.SpawnRequest) (selvage.SpawnResult, error) {
	if req.Key == "" {
		return selvage.SpawnResult{}, &selvage.InvalidError{Field: "key", Reason: "a run is spawned under the key of the call that asks for it"}
	}
	leave, err := s.queue(ctx)
	if err != nil {
		return selvage.SpawnResult{}, err
	}
	defer leave()
	child := childOf(s.parent, req.Key)
	parent, before, err := s.look(ctx, child)
	if err != nil {
		return selvage.SpawnResult{}, err
	}
	if before.begun != nil && !before.begun.Status.Open() {
		return s.told(ctx, before.begun)
	}
	r, err := s.r.agent(ctx, req.Agent, req.Caps, parent)
	if err == nil {
		err = s.allot(ctx, child, &req, parent, before, r)
	}
	if err != nil {
		return s.unwind(ctx, child, err)
	}
	return s.lead(ctx, r, child, req.Prompt)
}

// queue waits until fewer children are led than may be at once.
func (s *spawner) queue(ctx context.Context) (leave func(), err error) {
	if s.slots == nil {
		return func() {}, ctx.Err()
	}
	select {
	case s.slots <- struct{}{}:
		leave = func() { <-s.slots }
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil { // both were ready
		leave()
		return nil, err
	}
	return leave, nil
}

// known is what there is of a child before it is led: what other children have
// taken, and, of one that the call had asked for before, how far it came.
type known struct {
	sheet budget.Sheet
	held  bool         // it holds a part of the budget
	begun *selvage.Run // as it is recorded; nil if it has not begun
}

// look finds the parent, which must be open, and what there is of the child.
func (s *spawner) look(ctx context.Context, child selvage.ChildRun) (*selvage.Run, known, error) {
	var k known
	none := 0
	head, err := s.place.store.Load(ctx, s.parent.ThreadID, selvage.LoadOptions{Messages: &none})
	if err != nil {
		return nil, k, err
	}
	parent := head.OpenRun
	if parent == nil || parent.ID != s.parent.RunID {
		return nil, k, &selvage.InvalidError{Field: "run", Reason: fmt.Sprintf("run %q is not open, so it spawns nothing", s.parent.RunID)}
	}
	if k.sheet.Children, err = budget.Children(head.State, parent.ID); err != nil {
		return nil, k, err
	}
	entry, before := k.sheet.Children[child.RunID]
	if !before {
		return parent, k, nil
	}
	k.held = entry.Status != budget.Released
	switch run, err := FindRun(ctx, s.place.store, child.RunID); {
	case err == nil:
		k.begun = &run
	case !errors.Is(err, selvage.ErrNotFound):
		return nil, k, err
	}
	return parent, k, nil
}

// lead leads the child to its end.
func (s *spawner) lead(ctx context.Context, r *Runner, child selvage.ChildRun, prompt string) (selvage.SpawnResult, error) {
	in := Text(prompt)
	in.RunID, in.ParentRunID, in.Thread = child.RunID, s.parent.RunID, &selvage.ThreadUpdate{ParentID: &s.parent.ThreadID}
	if s.user != "" {
		in.Thread.UserID = &s.user
	}
	if title := titleOf(prompt); title != "" {
		in.Thread.Title = &title
	}
	result, err := collect(func(yield func(Event, error) bool) { r.lead(ctx, s.place, child.ThreadID, in, yield) })
	var failed *FailedError
	var limited *LimitError
	switch {
	case ctx.Err() != nil:
		return s.unwind(ctx, child, ctx.Err())
	case errors.As(err, &limited):
		return selvage.SpawnResult{}, waitsForChild(child, &limited.Waiting)
	case err != nil && !errors.As(err, &failed):
		return s.unwind(ctx, child, err)
	case result.Waiting != nil:
		return selvage.SpawnResult{}, waitsForChild(child, result.Waiting)
	}
	return selvage.SpawnResult{ChildRun: child, Outcome: result.Outcome, Text: result.Text, Usage: result.Usage, Cost: result.Cost}, nil
}

// told is what a child came to that has ended, perhaps without whoever ended it
// having settled what it spent.
func (s *spawner) told(ctx context.Context, done *selvage.Run) (selvage.SpawnResult, error) {
	if done.Outcome == nil {
		return selvage.SpawnResult{}, over(done)
	}
	aftermath(ctx, s.place.store, done.ID, s.r.opts.Logger)
	x := &run{ledger: ledger{store: s.place.store, thread: done.ThreadID}}
	result, err := x.again(ctx, done)
	if err != nil {
		return selvage.SpawnResult{}, err
	}
	return selvage.SpawnResult{ChildRun: selvage.ChildRun{ThreadID: done.ThreadID, RunID: done.ID}, Outcome: result.Outcome,
		Text: result.Text, Usage: result.Usage, Cost: result.Cost}, nil
}

// unwind is what becomes of a call whose child was not led to its end here.
// What was set aside for one that has not begun is given back: the call may not
// be made again. Where that cannot be done or known now, it is done when the
// parent is taken over, has ended, or runs out of its budget. A child that is
// open goes on without this process, and is waited for.
func (s *spawner) unwind(ctx context.Context, child selvage.ChildRun, why error) (selvage.SpawnResult, error) {
	if lostLease(context.Cause(ctx)) {
		return selvage.SpawnResult{}, why // whoever leads the parent now sees to its children
	}
	stopped := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.r.opts.Grace)
	defer cancel()
	run, err := FindRun(ctx, s.place.store, child.RunID)
	switch {
	case errors.Is(err, selvage.ErrNotFound) && (stopped || !unsettled(why)):
		if _, err := s.book().Release(ctx, child.RunID); err != nil && !errors.Is(err, selvage.ErrNotFound) {
			s.r.opts.Logger.WarnContext(ctx, "budget not given back", "run", s.parent.RunID, "child", child.RunID, "err", err)
		}
	case err != nil || stopped:
	case run.Status.Open():
		return selvage.SpawnResult{}, waitsForChild(child, standsAt(&run, why))
	default:
		return s.told(ctx, &run)
	}
	return selvage.SpawnResult{}, why
}

// agent makes the runner that leads the runs of an agent: of the one that
// spawns if no name is given. They are granted what is asked for, else what the
// agent's definition says, else what the parent is granted, and nothing beyond
// that.
func (r *Runner) agent(ctx context.Context, name string, asked []string, parent *selvage.Run) (*Runner, error) {
	opts, bound := r.opts, r.tools
	opts.Caps = nil
	if name != "" {
		if r.opts.Agents == nil {
			return nil, &selvage.InvalidError{Field: "agent", Reason: fmt.Sprintf("there is no agent %q here; leave the name out to have the same agent do it", name)}
		}
		other, err := r.opts.Agents(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("agent %q: %w", name, err)
		}
		if opts, bound = other, nil; opts.AgentID == "" {
			opts.AgentID = name
		}
	}
	has := r.recordedCaps(parent.Spec)
	switch {
	case asked != nil:
		opts.Caps = asked
	case opts.Caps == nil:
		opts.Caps = append([]string{}, has...)
	}
	granted, err := caps.Parse(opts.Caps)
	if err == nil {
		err = caps.Subset(granted, has)
	}
	if err != nil {
		return nil, err
	}
	opts.Store, opts.Owner, opts.OnActive, opts.LeaseTTL, opts.Grace = r.opts.Store, r.opts.Owner, Queue, r.opts.LeaseTTL, r.opts.Grace
	opts.Agents, opts.Logger, opts.Now = r.opts.Agents, r.opts.Logger, r.opts.Now
	child, err := build(opts, bound)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	return child, nil
}
