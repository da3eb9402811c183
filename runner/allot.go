package runner

import (
	"context"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
)

// allot reserves what a child may use and sets the limits of its runner. What
// was asked for holds, else what the agent's definition says, and nothing
// beyond what the parent has left.
func (s *spawner) allot(ctx context.Context, child selvage.ChildRun, req *selvage.SpawnRequest, parent *selvage.Run, before known, r *Runner) error {
	spawned := before.sheet.Spawns()
	if !before.held {
		spawned++ // the child itself
	}
	limits, err := s.inherit(parent, spawned, before.begun != nil, &req.Limits, &r.opts.Limits)
	if err != nil {
		return err
	}
	entry, err := s.book().Reserve(ctx, child, budget.BoundsOf(req.Limits), budget.BoundsOf(r.opts.Limits))
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
