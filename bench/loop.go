package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/tool"
)

// What a user turn with one tool may cost beside the store and the model.
const (
	loopCommits     = 5
	loopCommitsOnce = 6
	loopTime        = 150 * time.Microsecond
)

// loops measures what the run loop itself takes: the commits of a user turn
// with one tool, and its time without that of the store and the model. That is
// no less than what it has of a processor, and about as much while nothing else
// wants one: others only ever add to it, so that the round that they left alone
// most counts.
func loops(ctx context.Context, cfg config) (gates []gate, err error) {
	err = storeIn(ctx, cfg.dir, func(s *sqlite.Store) error {
		l := &looped{watched: &watched{Store: s}, turns: 100 * cfg.rounds}
		if cfg.quick {
			l.turns = 10
		}
		gates, err = l.gates(ctx, cfg)
		return err
	})
	return gates, err
}

// looped lets runs go on a thread of few messages and on one of many.
type looped struct {
	watched *watched
	turns   int
}

// cost is what one turn took.
type cost struct {
	commits int
	alone   time.Duration // without store and model
}

func (l *looped) gates(ctx context.Context, cfg config) ([]gate, error) {
	many := longThread
	if cfg.quick {
		many = 100
	}
	costs := make(map[string][]cost)
	for _, side := range []struct {
		name     string
		effect   selvage.Effect
		messages int
	}{{short, selvage.EffectNone, shortThread}, {long, selvage.EffectNone, many}, {"once", selvage.EffectOnce, shortThread}} {
		found, err := l.run(ctx, side.name, side.messages, side.effect)
		if err != nil {
			return nil, err
		}
		costs[side.name] = found
	}
	commits := func(name string, of []cost, must int) gate {
		return atMost("loop: commits of a turn with one tool"+name, float64(must), float64(must), float64(most(of))).of(fmt.Sprint(most(of)), "the plan")
	}
	return []gate{
		commits("", costs[short], loopCommits),
		commits(", 10 000 messages", costs[long], loopCommits),
		commits(" of effect once", costs["once"], loopCommitsOnce),
		loopGate(fmt.Sprintf("%d messages", shortThread), costs[short], cfg.rounds),
		loopGate(fmt.Sprintf("%d messages", longThread), costs[long], cfg.rounds),
	}, nil
}

func loopGate(size string, costs []cost, rounds int) gate {
	best, all := alone(costs, rounds)
	return atMost("loop: time of a turn with one tool, µs", float64(loopTime.Microseconds()), 75, float64(best.Nanoseconds())/1e3).
		of(fmt.Sprintf("%.0f µs in all rounds", float64(all.Nanoseconds())/1e3), "the plan").note(size + "; without store and model")
}

// thread returns a thread of at least so many messages for a turn. One of few
// is new, so that it has no more.
func (l *looped) thread(ctx context.Context, name string, turn, messages int) (selvage.ThreadID, error) {
	w := &writer{store: l.watched.Store, id: selvage.ThreadID("loop-" + name)}
	if messages > shortThread && turn > 0 {
		return w.id, nil
	}
	if messages <= shortThread {
		w.id = selvage.ThreadID(fmt.Sprintf("loop-%s-%d", name, turn))
	}
	return w.id, w.grow(ctx, messages)
}

// run leads turns with one tool.
func (l *looped) run(ctx context.Context, name string, messages int, effect selvage.Effect) ([]cost, error) {
	echo, err := sim.New("echo")
	if err != nil {
		return nil, err
	}
	act := tool.Func("act", "", func(context.Context, struct{}) (string, error) { return "acted", nil }, tool.Options{Effect: effect, OnUnknown: tool.FailUnknown})
	r, err := runner.New(runner.Options{Store: l.watched, Model: &stopped{echo, l.watched}, Tools: []tool.Tool{act}})
	if err != nil {
		return nil, err
	}
	var costs []cost
	for n := range l.turns + l.turns/10 {
		id, err := l.thread(ctx, name, n, messages)
		if err != nil {
			return nil, err
		}
		l.watched.commits, l.watched.took = 0, 0
		began := time.Now()
		result, err := r.Run(ctx, id, runner.Text("call act {}"))
		whole := time.Since(began)
		if err == nil && result.Text != "Done: acted" {
			err = fmt.Errorf("the run answered %q", result.Text)
		}
		if err != nil {
			return nil, err
		}
		if n >= l.turns/10 { // after the first ones, which warm up
			costs = append(costs, cost{l.watched.commits, whole - l.watched.took})
		}
	}
	return costs, nil
}

func most(costs []cost) int {
	return slices.MaxFunc(costs, func(a, b cost) int { return a.commits - b.commits }).commits
}

// alone is the middle of what the loop took in the best of so many rounds, and
// in all of them.
func alone(costs []cost, rounds int) (best, all time.Duration) {
	best = math.MaxInt64
	for round := range slices.Chunk(costs, max(1, len(costs)/rounds)) {
		best = min(best, middle(round))
	}
	return best, middle(costs)
}

func middle(costs []cost) time.Duration {
	times := make([]time.Duration, len(costs))
	for i := range costs {
		times[i] = costs[i].alone
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// watched is a store that counts commits and takes the time it is in use. One
// run at a time uses it.
type watched struct {
	selvage.Store
	commits int
	took    time.Duration
}

func (w *watched) in(began time.Time) { w.took += time.Since(began) }

// Capability implements the search of [selvage.As].
func (w *watched) Capability(target any) bool {
	switch t := target.(type) {
	case *selvage.Leaser:
		*t = w
		return true
	case *selvage.StreamCheckpoints:
		found, ok := selvage.As[selvage.StreamCheckpoints](w.Store)
		*t = found
		return ok
	}
	return false
}

func (w *watched) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	defer w.in(time.Now())
	w.commits++
	return w.Store.Append(ctx, id, set, pre)
}

func (w *watched) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	defer w.in(time.Now())
	return w.Store.Load(ctx, id, opts)
}

func (w *watched) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	defer w.in(time.Now())
	return w.Store.Messages(ctx, id, q)
}

// Acquire implements [selvage.Leaser].
func (w *watched) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	leaser, ok := selvage.As[selvage.Leaser](w.Store)
	if !ok {
		return selvage.Lease{}, errors.New("the store hands out no leases")
	}
	defer w.in(time.Now())
	return leaser.Acquire(ctx, id, owner, ttl)
}

// Renew implements [selvage.Leaser]. It is called beside the run, and not timed.
func (w *watched) Renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	leaser, _ := selvage.As[selvage.Leaser](w.Store)
	return leaser.Renew(ctx, l, ttl)
}

// Release implements [selvage.Leaser].
func (w *watched) Release(ctx context.Context, l selvage.Lease) error {
	leaser, _ := selvage.As[selvage.Leaser](w.Store)
	defer w.in(time.Now())
	return leaser.Release(ctx, l)
}

// stopped is a model whose time counts as that of the store.
type stopped struct {
	model.Model
	clock *watched
}

func (s *stopped) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		began := time.Now()
		for c, err := range s.Model.Stream(ctx, req) {
			s.clock.in(began)
			more := yield(c, err)
			began = time.Now()
			if !more {
				break
			}
		}
		s.clock.in(began)
	}
}
