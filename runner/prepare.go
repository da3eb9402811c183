package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/state"
)

// The sources of what the loop itself patches.
const (
	sourcePrepare = "runner:prepare"
	sourceCallEnd = "runner:call_end"
	sourceRequest = "runner:request" // what others ask of the run, and its being taken up
	sourceStep    = "runner:step"    // what a call has done so far
)

// Codes of outcomes that the loop gives.
const (
	CodeAbandoned  = "abandoned"  // failed: its process died, and nobody could go on with it
	CodeSuperseded = "superseded" // cancelled: it waited, and a new run was begun instead
	CodeDenied     = "denied"     // cancelled: a call of it was denied, and it with that
	CodeHook       = "hook"       // failed: a hook returned an error
	CodeLength     = "length"     // completed: the provider's token limit cut the answer off
	CodeFilter     = "content_filter"
	CodeEmpty      = "empty_answer" // failed: the model said and called nothing, again and again
	CodeMaxTurns   = "max_turns"
	CodeMaxTokens  = "max_tokens"
	CodeMaxSpend   = "max_spend"
	CodeDuration   = "max_duration"
)

// prepare records the input and the run, both in one change. The run is then
// ready to be driven, unless a result is returned: that of the run the input
// names, which had ended before.
func (x *run) prepare(ctx context.Context, in Input) (*Result, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	changeID := selvage.NewID()
	var err error
	for range rebases {
		var head *selvage.Head
		if head, err = x.fetch(ctx); err != nil {
			return nil, err
		}
		if open := head.OpenRun; open != nil && open.ID == in.RunID {
			return x.rejoin(ctx, head)
		}
		x.id, x.parent = in.RunID, in.ParentRunID
		if x.id == "" {
			x.id = selvage.RunID(selvage.NewID())
		}
		var set *selvage.ChangeSet
		if set, err = x.opening(ctx, in, head); err != nil {
			return nil, err
		}
		set.ID = changeID
		if err = x.begin(ctx, set); err == nil {
			if head.OpenRun != nil {
				aftermath(ctx, x.store, head.OpenRun.ID, x.log)
			}
			return nil, nil
		}
		// Somebody else was faster: look again. A set refused for its version
		// was not recorded, so another may bear its id.
		raced := errors.Is(err, selvage.ErrConflict) || x.version == 0 && errors.Is(err, selvage.ErrAlreadyExists)
		switch {
		case errors.Is(err, selvage.ErrInvalid) && in.RunID != "":
			return x.past(ctx, in.RunID, err)
		case unsettled(err):
			return nil, &StateError{ThreadID: x.thread, RunID: x.id, Reason: set.Reason, Err: err}
		case !raced:
			return nil, err
		}
	}
	return nil, err
}

// fetch loads the thread, which need not exist.
func (x *run) fetch(ctx context.Context) (*selvage.Head, error) {
	head, err := x.store.Load(ctx, x.thread, selvage.LoadOptions{Messages: &x.keep})
	if err != nil && !errors.Is(err, selvage.ErrNotFound) {
		return nil, err
	}
	x.load(&head)
	if open := head.OpenRun; open != nil && open.Spec != nil && len(x.window) == x.keep && windowOf(open.Spec.Context) > x.keep {
		// The run has a wider window than runs that begin here.
		more := windowOf(open.Spec.Context) - len(x.window)
		if err := x.readBack(ctx, "", more, func([]selvage.Message) bool { return false }); err != nil {
			return nil, fmt.Errorf("read as much as the run is given: %w", err)
		}
	}
	if err := x.reach(ctx, &head); err != nil {
		return nil, fmt.Errorf("read beyond the window: %w", err)
	}
	if err := x.recallSummary(ctx); err != nil {
		return nil, err
	}
	return &head, nil
}

// opening is the first change of a new run.
func (x *run) opening(ctx context.Context, in Input, head *selvage.Head) (*selvage.ChangeSet, error) {
	x.spec = selvage.RunSpec{Model: x.r.opts.Model.Name(), System: x.r.opts.System, Tools: x.r.uses, Limits: x.r.opts.Limits,
		Stop: x.r.stops.recorded(), Caps: x.r.caps, Budget: x.r.budget, Fallbacks: fallbacks(x.r.chain), MaxOutputTokens: x.r.opts.MaxOutputTokens, ToolCalls: x.r.opts.ToolCalls,
		Context: x.r.opts.contextRules(), Rules: x.r.rules.recorded}
	x.newContext(x.spec.Context)
	x.chain, x.limits = x.r.chain, x.spec.Limits
	x.tools, x.stopper, x.caps, x.rules = x.r.specs, x.r.stops, x.r.caps, x.r.rules
	set := &selvage.ChangeSet{RunID: x.id, ParentRunID: x.parent, Reason: selvage.ReasonUserMessage, Fence: x.fence, Thread: in.Thread}
	if err := checkBelonging(in.Thread, &head.Thread); err != nil {
		return nil, err
	}
	x.belong(in.Thread)
	if head.OpenRun != nil {
		end := x.abandon(head.OpenRun, "its process ended before it did", in.Messages)
		x.totalsOf(ctx, head.OpenRun, &end)
		set.Runs = append(set.Runs, end)
	} else if id := head.Thread.LatestRunID; id != "" && brokeOff(head.Messages) {
		x.left(id)
	}
	set.Runs = append(set.Runs, selvage.RunUpdate{ID: x.id, AgentID: x.r.opts.AgentID, ParentRunID: x.parent,
		Spec: &x.spec, Status: selvage.RunRunning})
	for _, m := range in.Messages {
		x.say(m)
	}
	if in.State != nil {
		x.doc = *in.State
		if pointed(x.doc) == nil {
			x.summary = nil
		}
	}
	if err := x.patch(sourcePrepare, x.leftovers(x.doc)); err != nil {
		return nil, err
	}
	migrate := func() error { return x.migrate(x.doc) }
	if in.State != nil {
		migrate = x.migrateHanded
	}
	if err := migrate(); err != nil {
		return nil, err
	}
	set.Messages, set.Calls, set.Patches = x.pending.messages, x.pending.calls, x.pending.patches
	if in.State != nil {
		doc := x.doc
		set.Snapshot, set.Patches = &doc, nil
	}
	return set, nil
}

// brokeOff reports whether a conversation ends otherwise than with an answer.
func brokeOff(messages []selvage.Message) bool {
	n := len(messages)
	return n > 0 && (messages[n-1].Role != selvage.RoleAssistant || len(messages[n-1].ToolCalls) > 0)
}

// checkBelonging refuses to take a thread for another's.
func checkBelonging(want *selvage.ThreadUpdate, is *selvage.Thread) error {
	if want == nil || is.Version == 0 {
		return nil
	}
	if p := want.ParentID; p != nil && is.ParentID != "" && *p != is.ParentID {
		return &selvage.InvalidError{Field: "Thread.ParentID", Reason: fmt.Sprintf("the parent of thread %q is %q, not %q", is.ID, is.ParentID, *p)}
	}
	if u := want.UserID; u != nil && is.UserID != "" && *u != is.UserID {
		return &selvage.InvalidError{Field: "Thread.UserID", Reason: fmt.Sprintf("thread %q belongs to user %q, not %q", is.ID, is.UserID, *u)}
	}
	return nil
}

// abandon ends a run that nobody leads any more: it answers its calls, those
// excepted of which the results come in, and returns the update that closes it.
func (x *run) abandon(open *selvage.Run, detail string, in []selvage.Message) selvage.RunUpdate {
	for _, c := range unanswered(append(x.messages(), in...), open.ID) {
		x.closeCall(c, open.ID, nil)
	}
	x.closeOrphans(func(string) bool { return false })
	outcome := selvage.Outcome{Kind: selvage.OutcomeFailed, Code: CodeAbandoned, Detail: detail}
	if open.Status == selvage.RunWaiting {
		outcome = selvage.Outcome{Kind: selvage.OutcomeCancelled, Code: CodeSuperseded, Detail: "a new run was begun while it waited"}
	}
	return selvage.RunUpdate{ID: open.ID, Status: selvage.RunDone, Outcome: &outcome}
}

// closeOrphans ends the journalled calls whose messages are beyond the window,
// those to be kept excepted.
func (x *run) closeOrphans(keep func(callID string) bool) {
	for _, id := range slices.Sorted(maps.Keys(x.calls)) {
		c := x.journalled(id)
		switch {
		case c == nil || keep(id):
		case x.maybeHappened(c):
			x.journal(selvage.CallUpdate{CallID: id, Status: selvage.CallFailed})
		default:
			x.journal(selvage.CallUpdate{CallID: id, Status: selvage.CallCancelled})
		}
	}
}

// leftovers deletes from a state what must not outlive the run before: keys of
// scope run, what tool calls kept for themselves, what was asked of it, and what
// it had set aside for others.
func (x *run) leftovers(doc state.Document) state.Patch {
	patch := x.r.opts.State.RunCleanup(doc)
	for _, key := range [...]string{state.CallsKey, state.RunKey} {
		if _, there := doc.Root().Field(key); there {
			patch = append(patch, state.Delete(state.At(key)))
		}
	}
	return append(patch, budget.Leftovers(doc, x.thread)...)
}

func has(doc state.Document, path state.Pointer) bool {
	_, ok := doc.Get(path)
	return ok
}

// begin records the first change of a run.
func (x *run) begin(ctx context.Context, set *selvage.ChangeSet) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.patience)
	defer cancel()
	receipt, err := x.send(ctx, set, selvage.Exact(x.version), false)
	if err != nil {
		return err
	}
	x.confirm(set, &receipt)
	x.flush()
	return nil
}
