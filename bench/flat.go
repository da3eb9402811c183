package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/yardstick"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/sqlite"
)

const (
	shortThread = 10     // messages
	longThread  = 10_000 // messages
	// cycle is how many appends leave one mark in the log: what is counted
	// over a cycle is what a turn costs on average.
	cycle = 32
)

// The two sides of what must not depend on history.
const (
	long  = "long"
	short = "short"
)

// flatTurns compares a turn on a thread of 10 000 messages to one on a thread
// of 10: two messages, and a patch of the state.
func flatTurns(ctx context.Context, cfg config) ([]gate, error) {
	var rounds []round
	counts := make(map[string]sqlite.Stats) // of all rounds together
	f := newFlat(cfg, cycle)
	err := storeIn(ctx, cfg.dir, func(s *sqlite.Store) (err error) {
		if err := f.begin(ctx, s); err != nil {
			return err
		}
		rounds, err = f.rounds(ctx, cfg, func(side string, turns func() error) error {
			before := s.Stats()
			err := turns()
			counts[side] = plus(counts[side], s.Stats(), before)
			return err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	turns := float64((cfg.rounds + 1) * f.cycles * cycle)
	count := func(name string, must float64, of func(sqlite.Stats) int64) gate {
		return flatGate("turn flat: "+name, must, float64(of(counts[long]))/turns, float64(of(counts[short]))/turns)
	}
	return []gate{
		count("statements", 1, func(s sqlite.Stats) int64 { return s.Statements }),
		count("rows", 1, func(s sqlite.Stats) int64 { return s.Rows }),
		count("bytes written", 1.02, func(s sqlite.Stats) int64 { return s.Pages * 4096 }),
		atMost("turn flat: p50", 1.1, 1, times(rounds, long, short)).of(p50(rounds, long), p50(rounds, short)),
	}, nil
}

// flatGate is about something that is counted.
func flatGate(name string, must, long, short float64) gate {
	return atMost(name, must, 1, long/short).of(fmt.Sprintf("%.2f a turn", long), fmt.Sprintf("%.2f a turn", short)).
		note(fmt.Sprintf("%d messages to %d", longThread, shortThread))
}

// plus adds what was done between two looks.
func plus(sum, after, before sqlite.Stats) sqlite.Stats {
	sum.Statements += after.Statements - before.Statements
	sum.Rows += after.Rows - before.Rows
	sum.Pages += after.Pages - before.Pages
	return sum
}

// flat lets turns on a long thread and on short ones alternate in one store.
type flat struct {
	store         selvage.Store
	old           *writer // the long thread
	messages      int     // that it begins with
	cycles, cycle int     // cycles a round, turns a cycle
	young         int     // short threads made so far
}

func newFlat(cfg config, cycle int) *flat {
	f := &flat{messages: longThread, cycles: 10, cycle: cycle}
	if cfg.quick {
		f.messages, f.cycles = 100, 1
	}
	return f
}

// begin makes the long thread.
func (f *flat) begin(ctx context.Context, s selvage.Store) error {
	f.store, f.old = s, &writer{store: s, id: "long"}
	return f.old.grow(ctx, f.messages)
}

// next makes another short thread.
func (f *flat) next(ctx context.Context) (*writer, error) {
	f.young++
	w := &writer{store: f.store, id: selvage.ThreadID(fmt.Sprintf("short-%d", f.young))}
	return w, w.grow(ctx, shortThread)
}

// rounds measures; watch is told whose turns it is to run.
func (f *flat) rounds(ctx context.Context, cfg config, watch func(side string, turns func() error) error) ([]round, error) {
	var rounds []round
	for range cfg.rounds + 1 {
		r := make(round)
		for n := range f.cycles {
			young, err := f.next(ctx)
			if err != nil {
				return nil, err
			}
			sides := []string{short, long}
			if n%2 == 1 {
				// Now and then a page is full: not always with the same one.
				slices.Reverse(sides)
			}
			for _, side := range sides {
				w := young
				if side == long {
					w = f.old
				}
				err := watch(side, func() error { return r.at(side).Run(f.cycle, func() error { return w.turn(ctx) }) })
				if err != nil {
					return nil, err
				}
			}
		}
		rounds = append(rounds, r)
	}
	return rounds[1:], nil
}

// grow appends until the thread has n messages.
func (w *writer) grow(ctx context.Context, n int) error {
	for range n / 2 {
		if err := w.turn(ctx); err != nil {
			return err
		}
	}
	return nil
}

// turn appends two messages and counts them in the state.
func (w *writer) turn(ctx context.Context) error {
	set := yardstick.ChangeSet(bodySize)
	set.Patches = []selvage.StatePatch{{Source: "bench", Ops: state.Patch{
		state.Set("/last", state.String(set.ID)), state.Merge("/counts", counted)}}}
	return w.put(ctx, set)
}

var counted = func() state.Value {
	v, err := state.ParseValue([]byte(`{"messages":2}`))
	if err != nil {
		panic(err)
	}
	return v
}()
