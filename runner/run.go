package runner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/caps"
	"github.com/selvagehq/selvage/state"
)

// run is one run while this process leads it. It belongs to one goroutine.
type run struct {
	r *Runner
	ledger
	out   *outlet
	place place

	id     selvage.RunID
	parent selvage.RunID
	spec   selvage.RunSpec
	limits selvage.Limits     // in force
	raised *selvage.Limits    // the same, if they are no longer those of the spec
	tools  []selvage.ToolSpec // those of the spec

	begun      time.Time
	step       int // the turn under way
	answers    int // of the model, recorded or to be
	usage      selvage.Usage
	cost       selvage.Money
	reply      *selvage.Message // the model's last answer
	stop       *selvage.Stop    // what a hook or a stop rule wants the run to end with
	halt       *selvage.Stop    // the same, as the process before had recorded it
	stopper    stopper
	caps       caps.Set
	rules      ruleset
	stopMarked bool // it is in what is recorded or to be
	salvaged   bool // a delta was refused, and what happened kept of it
	resumed    bool // another process began it
	stateless  bool // nothing of it is kept, so it cannot wait

	excused bool // somebody had the run go on that a rule suspended, and it is not asked again
	context contextState
	summary *summary // that stands in for the beginning of the conversation; nil if none does

	chain      []candidate               // the models that may answer
	first      int                       // of them, the one to be asked first
	streams    selvage.StreamCheckpoints // nil if nothing is kept of interrupted answers
	onPartial  OnPartial
	partial    *selvage.StreamCheckpoint // to go on with
	partials   []selvage.RunID           // that may have left a stream checkpoint
	superseded bool                      // by an answer that is recorded or to be

	touched map[string]bool        // calls journalled here as started, or begun here; true if their tool was begun
	open    []openCall             // calls of the run without a result, in order
	todo    []task                 // what there is to do about those of the answer just given
	arrived map[string]state.Patch // calls that something came for that is being recorded, and the patch that takes it
	news    bool                   // a result came that the model has not been shown in answer to its call
	slots   chan struct{}          // of the children that are led here; nil until one is spawned, or without bound
	flying  atomic.Bool            // a model or a tool is at work
	noticed chan struct{}          // something was appended by others while one was
	beside  *beside                // what the model says while calls go on; nil if it says nothing

	failures int // requests of the turn that failed
}

// outlet is where the events of a run go.
type outlet struct {
	yield  func(Event, error) bool
	cancel context.CancelCauseFunc // of the run; nil while it may not be cancelled
	closed bool
}

// errLeft is why a run is cancelled whose events nobody wants any more.
var errLeft = fmt.Errorf("the range over its events was left: %w", context.Canceled)

// emit tells an event, unless nobody listens any more.
func (o *outlet) emit(e Event) { o.give(e, nil) }

func (o *outlet) give(e Event, err error) {
	if o.closed || o.yield(e, err) {
		return
	}
	o.closed = true
	if o.cancel != nil {
		o.cancel(errLeft)
	}
}

// queued returns what tells, once, that a run waits for another.
func (o *outlet) queued(thread selvage.ThreadID, run selvage.RunID) func(*selvage.BusyError) {
	told := false
	return func(busy *selvage.BusyError) {
		if !told {
			o.emit(Event{Kind: EventQueued, ThreadID: thread, RunID: run, Note: busy.Owner.String()})
		}
		told = true
	}
}

// lead leads a run from its input to its end.
func (r *Runner) lead(ctx context.Context, at place, thread selvage.ThreadID, in Input, yield func(Event, error) bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &outlet{yield: yield, cancel: cancel}
	if r.opts.OnActive == Steer && !at.stateless {
		steered, err := r.steer(ctx, at, thread, &in, out)
		if err != nil {
			out.give(Event{}, fmt.Errorf("run thread %q: %w", thread, err))
		}
		if steered || err != nil {
			return
		}
	}
	queued := out.queued(thread, "")
	interrupted := r.opts.OnActive != Interrupt
	lease, err := r.acquire(ctx, at, thread, func(busy *selvage.BusyError) bool {
		if r.opts.OnActive == Reject {
			return false
		}
		queued(busy)
		interrupted = interrupted || r.interrupt(ctx, at, thread)
		return true
	})
	if err != nil {
		out.give(Event{}, fmt.Errorf("run thread %q: %w", thread, err))
		return
	}
	tenure := r.hold(ctx, at, lease, cancel)
	defer tenure.end(ctx, r.opts.Logger)

	x := r.newRun(at, &lease, out)
	done, err := x.prepare(ctx, in)
	switch {
	case err != nil:
		out.give(Event{}, fmt.Errorf("run thread %q: %w", thread, err))
	case done != nil:
		x.tell(*done, nil)
	default:
		x.drive(ctx)
	}
}

func (r *Runner) newRun(at place, lease *selvage.Lease, out *outlet) *run {
	return &run{r: r, out: out, place: at, context: contextState{scale: 1}, stateless: at.stateless, chain: r.chain[:1], streams: at.streams, onPartial: r.opts.OnPartial, begun: r.opts.Now(), touched: make(map[string]bool), noticed: make(chan struct{}, 1), ledger: ledger{store: at.store, thread: lease.ThreadID,
		fence: lease.Fence(), keep: r.opts.Window, patience: checkpointTimeout, log: r.opts.Logger}}
}

// ending is how a run leaves the loop: with an outcome that is to be recorded,
// or waiting, which is recorded and has a result.
type ending struct {
	outcome selvage.Outcome
	result  *Result
}

// drive takes a prepared run through its steps to its end.
func (x *run) drive(ctx context.Context) {
	ctx, ended := x.observe(ctx, Activity{Kind: ActivityRun, Model: x.spec.Model})
	stop := x.attend(ctx)
	defer x.closeContext()
	end, cause := x.timed(ctx)
	stop()
	result, err := end.result, error(nil)
	if result == nil {
		result, err = x.finish(ctx, end.outcome, cause)
	}
	ended(x.driven(result, err))
	if result == nil {
		x.out.give(Event{ThreadID: x.thread, RunID: x.id}, err)
		return
	}
	x.tell(*result, err)
}

// driven is what observers are told of what came of leading a run.
func (x *run) driven(result *Result, err error) Ended {
	if result == nil {
		return Ended{Err: err, Usage: x.usage, Cost: x.cost}
	}
	if result.Waiting != nil {
		return Ended{Usage: result.Usage, Cost: result.Cost, Waiting: result.Waiting}
	}
	outcome := result.Outcome
	return Ended{Usage: result.Usage, Cost: result.Cost, Outcome: &outcome}
}

// timed takes a prepared run through its steps in the time that it has, also
// if another process began it. Its end is recorded outside of that time.
func (x *run) timed(ctx context.Context) (ending, error) {
	ctx, cancel := x.untilTimeout(ctx)
	defer cancel()
	return x.steps(ctx)
}

// tell ends the stream of a run whose end is recorded, or that it waits.
func (x *run) tell(result Result, err error) {
	if err != nil {
		x.out.give(Event{ThreadID: result.ThreadID, RunID: result.RunID}, err)
	}
	x.flush()
	x.out.emit(Event{Kind: EventEnd, ThreadID: result.ThreadID, RunID: result.RunID, Step: x.step, Result: &result})
}

// event starts an ephemeral event of the run.
func (x *run) event(kind selvage.EventKind) Event {
	return Event{Kind: kind, ThreadID: x.thread, RunID: x.id, Step: x.step}
}

// current is the run as it stands, for hooks.
func (x *run) current() selvage.Run {
	return selvage.Run{ID: x.id, ThreadID: x.thread, AgentID: x.r.opts.AgentID, ParentRunID: x.parent, Spec: &x.spec,
		Status: selvage.RunRunning, Usage: x.usage, Cost: x.cost, Steps: x.answers, Limits: x.raised, StartedAt: x.begun}
}

// totals is the update that books what the run has used.
func (x *run) totals(status selvage.RunStatus) selvage.RunUpdate {
	usage, cost, steps := x.usage, x.cost, x.answers
	return selvage.RunUpdate{ID: x.id, Status: status, Usage: &usage, Cost: &cost, Steps: &steps}
}

// ended reports why a run cannot go on: its context has ended.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// leaseLoss is what interrupts the tools of a run that failed because somebody
// else leads its thread now, so that what they spawned does not end with it; nil
// if it failed for something else.
func leaseLoss(err error) error {
	for _, loss := range [...]error{selvage.ErrFenced, selvage.ErrClosed} {
		if errors.Is(err, loss) {
			return loss
		}
	}
	return nil
}

// lostLease reports whether the run was cancelled because somebody else leads
// the thread now, or nobody can.
func lostLease(cause error) bool {
	return leaseLoss(cause) != nil
}
