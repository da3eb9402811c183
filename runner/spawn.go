package runner

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/caps"
	"github.com/selvagehq/selvage/tool"
)

// spawner begins child runs for the calls of one run. It knows nothing that
// changes while the run goes on, so that calls that run at once may share it.
type spawner struct {
	r      *Runner
	place  place
	parent selvage.ChildRun
	user   string
	begun  time.Time
}

// spawner returns what the tools of the run spawn with.
func (x *run) spawner() selvage.Spawner {
	return &spawner{r: x.r, place: x.place, parent: selvage.ChildRun{ThreadID: x.thread, RunID: x.id}, user: x.user, begun: x.begun}
}

// Spawn implements [selvage.Spawner]. It returns when the child has ended, or
// waits. A child that failed or was cancelled is a result too; an error is a
// child that was refused, that waits, or of which it is not known how it
// ended.
func (s *spawner) Spawn(ctx context.Context, req selvage.SpawnRequest) (selvage.SpawnResult, error) {
	if req.Key == "" {
		return selvage.SpawnResult{}, &selvage.InvalidError{Field: "key", Reason: "a run is spawned under the key of the call that asks for it"}
	}
	child := childOf(s.parent, req.Key)
	none := 0
	head, err := s.place.store.Load(ctx, s.parent.ThreadID, selvage.LoadOptions{Messages: &none})
	if err != nil {
		return selvage.SpawnResult{}, err
	}
	parent := head.OpenRun
	if parent == nil || parent.ID != s.parent.RunID {
		return selvage.SpawnResult{}, &selvage.InvalidError{Field: "run", Reason: fmt.Sprintf("run %q is not open, so it spawns nothing", s.parent.RunID)}
	}
	r, err := s.r.agent(ctx, req.Agent, req.Caps, parent)
	if err != nil {
		return selvage.SpawnResult{}, err
	}
	if err := s.allot(ctx, child, &req, parent, r); err != nil {
		return selvage.SpawnResult{}, err
	}
	return s.lead(ctx, r, child, req.Prompt)
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
		return selvage.SpawnResult{}, ctx.Err()
	case errors.As(err, &limited):
		return selvage.SpawnResult{}, waitsForChild(child, &limited.Waiting)
	case err != nil && !errors.As(err, &failed):
		return selvage.SpawnResult{}, err
	case result.Waiting != nil:
		return selvage.SpawnResult{}, waitsForChild(child, result.Waiting)
	}
	return selvage.SpawnResult{ChildRun: child, Outcome: result.Outcome, Text: result.Text, Usage: result.Usage, Cost: result.Cost}, nil
}

// maxTitle bounds the title of a child's thread, in characters.
const maxTitle = 60

// titleOf is the beginning of a prompt.
func titleOf(prompt string) string {
	title := strings.Join(strings.Fields(prompt), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle-1]) + "…"
	}
	return title
}

// waitsForChild makes a call wait for a child that waits itself.
func waitsForChild(child selvage.ChildRun, w *selvage.Waiting) error {
	message := fmt.Sprintf("run %s, which it spawned, waits", child.RunID)
	if w != nil {
		message += fmt.Sprintf(" (%s)", w.Reason)
		if w.Message != "" {
			message += ": " + w.Message
		}
	}
	return tool.Suspend(selvage.Ticket{ID: childTicket(child.RunID), Reason: selvage.WaitBackground, Message: message, Child: &child})
}

// childTicket names the ticket of a call that waits for a child.
func childTicket(id selvage.RunID) string { return "child-" + string(id) }

// childOf names thread and run of the child that a call asks for: the same
// whenever the call is run, and no other call's.
func childOf(parent selvage.ChildRun, key string) selvage.ChildRun {
	name := func(what string) string {
		sum := sha256.Sum256([]byte(strings.Join([]string{what, string(parent.ThreadID), string(parent.RunID), key}, "\x00")))
		sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUIDv8
		return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	}
	return selvage.ChildRun{ThreadID: selvage.ThreadID(name("thread")), RunID: selvage.RunID(name("run"))}
}

// agent makes the runner that leads the runs of an agent: of the one that
// spawns if no name is given. They are granted what is asked for, else what the
// agent's definition says, else what the parent is granted, and nothing beyond
// that.
func (r *Runner) agent(ctx context.Context, name string, asked []string, parent *selvage.Run) (*Runner, error) {
	opts := r.opts
	opts.Caps = nil
	if name != "" {
		if r.opts.Agents == nil {
			return nil, &selvage.InvalidError{Field: "agent", Reason: fmt.Sprintf("there is no agent %q here; leave the name out to have the same agent do it", name)}
		}
		other, err := r.opts.Agents(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("agent %q: %w", name, err)
		}
		if opts = other; opts.AgentID == "" {
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
	child, err := New(opts)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	return child, nil
}

// allot reserves what a child may use and sets the limits of its runner. What
// was asked for holds, else what the agent's definition says, and nothing
// beyond what the parent has left.
func (s *spawner) allot(ctx context.Context, child selvage.ChildRun, req *selvage.SpawnRequest, parent *selvage.Run, r *Runner) error {
	book := budget.Book{Store: s.place.store, Thread: s.parent.ThreadID, Run: s.parent.RunID}
	sheet, err := book.Sheet(ctx)
	if err != nil {
		return err
	}
	held, known := sheet.Children[child.RunID]
	begun := false
	if known { // before its process died, perhaps before the child began
		switch _, err := FindRun(ctx, s.place.store, child.RunID); {
		case err == nil:
			begun = true
		case !errors.Is(err, selvage.ErrNotFound):
			return err
		}
	}
	spawned := sheet.Spawns()
	if !known || held.Status == budget.Released {
		spawned++ // the child itself
	}
	limits, err := s.inherit(parent, spawned, begun, &req.Limits, &r.opts.Limits)
	if err != nil {
		return err
	}
	entry, err := book.Reserve(ctx, child, budget.BoundsOf(req.Limits), budget.BoundsOf(r.opts.Limits))
	if err != nil {
		return err
	}
	limits.Spend, limits.Tokens = entry.Reserved.Spend, entry.Reserved.Tokens
	r.opts.Limits, r.budget = limits, &s.parent
	return nil
}

// inherit narrows what a child may use to what its parent has left, as far as
// that is not reserved. One that has begun keeps what it was given.
func (s *spawner) inherit(parent *selvage.Run, spawned int, begun bool, asked, own *selvage.Limits) (selvage.Limits, error) {
	has := parent.Bounds()
	elapsed := s.r.opts.Now().Sub(s.begun)
	refused := func(code string, current, most selvage.Amount) error {
		return &budget.RefusedError{Run: parent.ID, Code: code, Current: current, Max: most}
	}
	switch {
	case begun:
	case has.Depth != nil && *has.Depth <= 0:
		return selvage.Limits{}, refused(selvage.LimitDepth, "0", selvage.Count(int64(*has.Depth)))
	case has.Turns != nil && parent.Steps >= *has.Turns:
		return selvage.Limits{}, refused(selvage.LimitTurns, selvage.Count(int64(parent.Steps)), selvage.Count(int64(*has.Turns)))
	case has.Duration != nil && elapsed >= *has.Duration:
		return selvage.Limits{}, refused(selvage.LimitDuration, selvage.Amount(elapsed.String()), selvage.Amount(has.Duration.String()))
	}
	return selvage.Limits{
		Turns:    least(asked.Turns, own.Turns, has.Turns, parent.Steps),
		Spawns:   least(asked.Spawns, own.Spawns, has.Spawns, spawned),
		Depth:    least(asked.Depth, own.Depth, has.Depth, 1),
		Duration: least(asked.Duration, own.Duration, has.Duration, elapsed),
	}, nil
}

// least is what was asked for, else what the definition says, and at most what
// is left of what the parent has.
func least[T ~int | ~int64](asked, own, has *T, used T) *T {
	given := own
	if asked != nil {
		given = asked
	}
	if has == nil {
		return given
	}
	left := max(*has-used, 0)
	if given != nil {
		left = min(left, *given)
	}
	return &left
}
