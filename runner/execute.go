package runner

import (
	"context"
	"errors"
	"sync"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// outcome is how the tool of a call ended.
type outcome struct {
	result selvage.ToolResult
	ops    state.Patch
	ticket *selvage.Ticket // it waits
	err    error           // it was interrupted with the run
	// unknown is that it has failed, and may have had its effect all the same.
	unknown bool
}

// execute runs the tools of calls at once, each in a goroutine of its own, and
// waits for them. What they have to say, and how each ended, is told in the
// goroutine of the run. The error is the first of done; the tools that still
// ran then were interrupted.
func (x *run) execute(ctx context.Context, running []*task, done func(context.Context, *task, outcome) error) error {
	was := x.flying.Swap(true)
	defer x.flying.Store(was)
	toolCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	said := make(chan func())
	var slots chan struct{}
	if len(running) > maxTogether {
		slots = make(chan struct{}, maxTogether)
	}
	left := len(running)
	var failed error
	fail := func(err error) {
		if failed == nil {
			failed = err
			cancel(leaseLoss(err))
		}
	}
	commit := func(ops state.Patch) error {
		if err := x.patch(sourceStep, ops); err != nil {
			return err
		}
		err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults})
		if err != nil {
			fail(err)
		}
		return err
	}
	var all sync.WaitGroup
	gone := make(chan struct{})
	defer func() {
		// Nobody listens any more, also if whoever was told something panicked.
		cancel(nil)
		close(gone)
		all.Wait()
	}()
	for _, t := range running {
		x.touched[t.call.ID] = true
		e := x.event(EventCall)
		e.Call = &t.call
		x.out.emit(e)
		w := &worker{x: x, task: t, said: said, gone: gone, commit: commit, ended: make(chan struct{})}
		c := x.toolCall(t)
		inside, over := x.observe(toolCtx, Activity{Kind: ActivityTool, Tool: t.call.Name, CallID: t.call.ID, Effect: t.bound.Spec().Effect})
		all.Go(func() {
			if slots != nil {
				slots <- struct{}{}
				defer func() { <-slots }()
			}
			result, err := w.work(inside, c)
			settle := func() {
				left--
				over(Ended{Err: err, Failed: result.Failed, Suspended: suspension(err) != nil})
				if err := done(ctx, t, x.outcome(toolCtx, t, c, result, err)); err != nil {
					fail(err)
				}
			}
			select {
			case said <- settle:
			case <-gone:
			}
		})
	}
	for left > 0 {
		select {
		case f := <-said:
			f()
		case p, more := <-x.arriving():
			x.beside.hear(p, more)
		}
	}
	return failed
}

// outcome judges how a tool ended.
func (x *run) outcome(ctx context.Context, t *task, c *tool.Call, result selvage.ToolResult, err error) outcome {
	if cause := ended(ctx); err != nil && cause != nil && errors.Is(err, ctx.Err()) {
		return outcome{err: cause}
	}
	if ticket := suspension(err); ticket != nil {
		return outcome{ticket: ticket}
	}
	x.report(ctx, t, err)
	if result.Failed {
		return outcome{result: result, unknown: tool.Broke(err) && t.bound.Spec().Effect == selvage.EffectOnce}
	}
	return outcome{result: result, ops: c.Patches()}
}

// worker runs the tool of one call, in its own goroutine.
type worker struct {
	x    *run
	task *task
	said chan<- func()
	gone <-chan struct{} // closed when nobody listens any more
	// commit records a patch at once, and ends the run if it cannot. It is for
	// the goroutine of the run.
	commit func(state.Patch) error
	ended  chan struct{} // closed when the tool has returned
}

// work runs the tool.
func (w *worker) work(ctx context.Context, c *tool.Call) (selvage.ToolResult, error) {
	defer close(w.ended)
	c.OnProgress = func(text string) {
		w.ask(func() {
			e := w.x.event(EventProgress)
			e.Call, e.Note = &w.task.call, text
			w.x.out.emit(e)
		})
	}
	return w.task.bound.Run(context.WithValue(ctx, workerKey{}, w), c)
}

// ask has something done in the goroutine of the run, and waits until it was.
// It reports false if nobody listens any more, as the tool has returned.
func (w *worker) ask(f func()) bool {
	done := make(chan struct{})
	select {
	case w.said <- func() { defer close(done); f() }:
		<-done
		return true
	case <-w.ended:
		return false
	case <-w.gone:
		return false
	}
}

// workerKey is the key of the [worker] in the context of a tool.
type workerKey struct{}

// report logs why a tool failed.
func (x *run) report(ctx context.Context, t *task, err error) {
	var crash *tool.PanicError
	switch {
	case errors.As(err, &crash):
		x.log.ErrorContext(ctx, "tool panicked", "run", x.id, "call", t.call.ID, "tool", t.call.Name,
			"panic", crash.Value, "stack", string(crash.Stack))
	case err != nil:
		x.log.DebugContext(ctx, "tool failed", "run", x.id, "call", t.call.ID, "tool", t.call.Name, "err", err)
	}
}
