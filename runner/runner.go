package runner

import (
	"context"
	"fmt"
	"iter"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/caps"
	"github.com/selvagehq/selvage/internal/process"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// Runner leads runs. It is safe for concurrent use: runs on different threads
// go on at the same time, runs on one thread one after the other.
type Runner struct {
	opts  Options
	tools map[string]*tool.Bound
	specs []selvage.ToolSpec // of the tools that are granted, in the order given
	uses  []selvage.ToolUse  // the same, as a run records them
	chain []candidate        // the models, the first of which is asked first
	stops stopper
	caps  caps.Set
	// budget is the run that the spending of runs counts against; nil is none.
	budget *selvage.ChildRun
	home   place // of threads that are kept; the zero place if there is no store
	rules  ruleset
	// summariser makes summaries; nil is the model of the run.
	summariser *candidate
}

// place is where a run takes place.
type place struct {
	store  selvage.Store
	leaser selvage.Leaser
	// streams keep interrupted answers; nil if the store cannot, or nothing is
	// kept anyway.
	streams selvage.StreamCheckpoints
	// stateless reports that nothing is kept, so that nothing can wait.
	stateless bool
}

// New returns a runner, or an error matching [selvage.ErrInvalid], or
// [selvage.ErrUnsupported] for a store without leases.
func New(opts Options) (*Runner, error) { return build(opts, nil) }

// build is [New] with tools that are bound already, by their names.
func build(opts Options, bound map[string]*tool.Bound) (*Runner, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("new runner: %w", err)
	}
	r := &Runner{opts: opts, tools: make(map[string]*tool.Bound, len(opts.Tools))}
	for _, t := range opts.Tools {
		if err := r.bind(t, bound); err != nil {
			return nil, fmt.Errorf("new runner: %w", err)
		}
	}
	if err := r.grant(); err != nil {
		return nil, fmt.Errorf("new runner: %w", err)
	}
	if r.rules, err = newRuleset(opts.Rules); err != nil {
		return nil, fmt.Errorf("new runner: %w", err)
	}
	if s := opts.Summariser; s != nil {
		r.summariser = &candidate{s, priceOf(s)}
	}
	if r.stops, err = newStopper(&opts.Stop); err != nil {
		return nil, fmt.Errorf("new runner: %w", err)
	}
	if err := checkHooks(opts.Hooks); err != nil {
		return nil, fmt.Errorf("new runner: %w", err)
	}
	if r.chain, err = newChain(&opts); err != nil {
		return nil, fmt.Errorf("new runner: %w", err)
	}
	if opts.Store != nil {
		leaser, ok := selvage.As[selvage.Leaser](opts.Store)
		if !ok {
			return nil, fmt.Errorf("new runner: the store hands out no leases, and a run needs the one of its thread: %w", selvage.ErrUnsupported)
		}
		streams, _ := selvage.As[selvage.StreamCheckpoints](opts.Store)
		r.home = place{store: opts.Store, leaser: leaser, streams: streams}
	}
	if r.opts.Owner == (selvage.Owner{}) {
		r.opts.Owner = process.Self("selvage")
	}
	return r, nil
}

func (r *Runner) bind(t tool.Tool, bound map[string]*tool.Bound) (err error) {
	b := bound[t.Spec().Name]
	if b == nil {
		if b, err = tool.Bind(t); err != nil {
			return err
		}
	}
	spec := b.Spec()
	if _, taken := r.tools[spec.Name]; taken {
		return &selvage.InvalidError{Field: "Tools", Reason: fmt.Sprintf("two tools are named %q", spec.Name)}
	}
	r.tools[spec.Name] = b
	r.specs = append(r.specs, spec)
	r.uses = append(r.uses, spec.Use())
	return nil
}

// checkHooks refuses hooks that could not be told apart.
func checkHooks(hooks []selvage.Hook) error {
	seen := make(map[string]bool, len(hooks))
	for i := range hooks {
		name := hooks[i].Name
		if name == "" {
			return &selvage.InvalidError{Field: fmt.Sprintf("Hooks[%d]", i), Reason: "a hook needs a name"}
		}
		if seen[name] {
			return &selvage.InvalidError{Field: "Hooks", Reason: fmt.Sprintf("two hooks are named %q", name)}
		}
		seen[name] = true
	}
	return nil
}

// Run leads a run on a thread, which is made if it does not exist, and returns
// when the run is over and its end recorded.
//
// The error is nil if the run completed, a rule stopped it, or it waits: then
// the result says for what. It is a
// [FailedError] if it failed or, when ctx ended, was cancelled; the result then
// says how far it came. It is a [StateError] if its end could not be recorded.
// Other errors mean that no run was begun: a [selvage.BusyError] if another
// holds the thread and [Options.OnActive] is [Reject], [selvage.ErrInvalid] for
// input that cannot be, [selvage.ErrGone] for a thread that was deleted.
func (r *Runner) Run(ctx context.Context, thread selvage.ThreadID, in Input) (Result, error) {
	return collect(r.Stream(ctx, thread, in))
}

// Stream is [Runner.Run] told step by step. Nothing happens until the sequence
// is ranged over, and each range is a run of its own. An error is told once:
// after the run's end was recorded or could not be. In the first case the
// events of the end still follow it. Leaving the range early cancels the run;
// its end is then recorded before the range returns.
func (r *Runner) Stream(ctx context.Context, thread selvage.ThreadID, in Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if r.home.store == nil {
			yield(Event{}, fmt.Errorf("run thread %q: this runner has no store, it can only ask: %w", thread, selvage.ErrUnsupported))
			return
		}
		r.lead(ctx, r.home, thread, in, yield)
	}
}

// Ask leads a run of which nothing is kept. It is [Runner.Run] on a new thread
// in memory, except that a limit ends it as stopped: nobody could let it go on.
func (r *Runner) Ask(ctx context.Context, in Input) (Result, error) {
	return collect(r.AskStream(ctx, in))
}

// AskStream is [Runner.Ask] told step by step, as [Runner.Stream] does.
func (r *Runner) AskStream(ctx context.Context, in Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		store := inmem.New(inmem.Options{})
		defer func() { _ = store.Close() }() // it forgets; there is nothing to lose
		r.lead(ctx, place{store: store, leaser: store, stateless: true}, askThread, in, yield)
	}
}

// askThread is the thread of a run of which nothing is kept.
const askThread selvage.ThreadID = "ask"

// collect ranges over a run and returns what it came to.
func collect(events iter.Seq2[Event, error]) (Result, error) {
	var result Result
	var failed error
	for e, err := range events {
		if err != nil {
			failed = err
		}
		if e.Result != nil {
			result = *e.Result
		}
	}
	return result, failed
}
