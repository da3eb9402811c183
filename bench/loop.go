package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/yardstick"
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
// with one tool, and its processor time. That is what the process takes for
// turns, less what it takes to have the same stores and models do what these
// turns had them do.
func loops(ctx context.Context, cfg config) (gates []gate, err error) {
	many, turns := longThread, 150
	if cfg.quick {
		many, turns = 100, 10
	}
	costs := make(map[string]*cost)
	for _, side := range []struct {
		name     string
		effect   selvage.Effect
		messages int
	}{{short, selvage.EffectNone, shortThread}, {long, selvage.EffectNone, many}, {"once", selvage.EffectOnce, shortThread}} {
		l := &looped{effect: side.effect, messages: side.messages, turns: turns}
		if costs[side.name], err = l.measure(ctx, cfg); err != nil {
			return nil, err
		}
	}
	commits := func(name string, of *cost, must int) gate {
		return atMost("loop: commits of a turn with one tool"+name, float64(must), float64(must), float64(of.commits)).of(fmt.Sprint(of.commits), "the plan")
	}
	return []gate{
		commits("", costs[short], loopCommits),
		commits(", 10 000 messages", costs[long], loopCommits),
		commits(" of effect once", costs["once"], loopCommitsOnce),
		loopGate(shortThread, costs[short]),
		loopGate(longThread, costs[long]),
	}, nil
}

func loopGate(messages int, of *cost) gate {
	return atMost("loop: processor time of a turn with one tool, µs", float64(loopTime.Microseconds()), 75, float64(of.alone.Nanoseconds())/1e3).
		of(of.alone.String(), "of "+of.whole.String()).note(fmt.Sprintf("%d messages; without store and model", messages))
}

// looped lets runs go on on one thread.
type looped struct {
	effect   selvage.Effect
	messages int // that the thread begins with
	turns    int // a round
}

// cost is what one turn takes.
type cost struct {
	commits int
	whole   time.Duration // of the processor
	alone   time.Duration // without store and model
}

// measure leads turns on one store, and has another one and a model do the same
// without them, round by round.
func (l *looped) measure(ctx context.Context, cfg config) (*cost, error) {
	found, dir := &cost{}, cfg.memory
	if _, err := os.Stat(dir); err != nil {
		dir = cfg.dir // flushing then takes most of what is measured, and its noise
	}
	err := storeIn(ctx, dir, func(led *sqlite.Store) error {
		return storeIn(ctx, dir, func(replayed *sqlite.Store) error {
			return l.rounds(ctx, cfg, found, led, replayed)
		})
	})
	return found, err
}

// threads makes threads in both stores for the turns of a round: each turn has
// one of its own, that it finds as long as it is to be, if that is short.
func (l *looped) threads(ctx context.Context, round int, stores ...selvage.Store) ([]selvage.ThreadID, error) {
	ids := make([]selvage.ThreadID, l.turns)
	for i := range ids {
		ids[i] = selvage.ThreadID(fmt.Sprintf("loop-%d-%d", round, i))
		if l.messages > shortThread {
			ids[i] = "loop"
		}
		if l.messages > shortThread && (round > 0 || i > 0) {
			continue
		}
		for _, s := range stores {
			if err := (&writer{store: s, id: ids[i]}).grow(ctx, l.messages); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

func (l *looped) rounds(ctx context.Context, cfg config, found *cost, led, replayed selvage.Store) error {
	var whole, alone []time.Duration
	for n := range cfg.rounds + 1 { // the first one warms up
		ids, err := l.threads(ctx, n, led, replayed)
		if err != nil {
			return err
		}
		tape := &tape{Store: led}
		took, err := l.turn(ctx, tape, ids)
		if err != nil {
			return err
		}
		found.commits = max(found.commits, tape.most)
		again, err := tape.play(ctx, replayed)
		if err != nil {
			return err
		}
		if n > 0 {
			whole, alone = append(whole, took/time.Duration(l.turns)), append(alone, (took-again)/time.Duration(l.turns))
		}
	}
	found.whole, found.alone = middle(whole), middle(alone)
	return nil
}

// turn leads the turns of a round, and returns what they took.
func (l *looped) turn(ctx context.Context, tape *tape, ids []selvage.ThreadID) (time.Duration, error) {
	echo, err := sim.New("echo")
	if err != nil {
		return 0, err
	}
	act := tool.Func("act", "", func(context.Context, struct{}) (string, error) { return "acted", nil }, tool.Options{Effect: l.effect, OnUnknown: tool.FailUnknown})
	r, err := runner.New(runner.Options{Store: tape, Model: &taped{echo, tape}, Tools: []tool.Tool{act}})
	if err != nil {
		return 0, err
	}
	began := yardstick.ProcessTime()
	for _, id := range ids {
		tape.commits = 0
		result, err := r.Run(ctx, id, runner.Text("call act {}"))
		if err == nil && result.Text != "Done: acted" {
			err = fmt.Errorf("the run answered %q", result.Text)
		}
		if err != nil {
			return 0, err
		}
		tape.most = max(tape.most, tape.commits)
	}
	return yardstick.ProcessTime() - began, nil
}

func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
