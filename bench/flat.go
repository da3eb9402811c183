package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
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

// flatTurns compares a turn on a thread of 10 000 messages to one on a thread
// of 10: two messages, and a patch of the state.
func flatTurns(ctx context.Context, cfg config) ([]gate, error) {
	long, cycles := longThread, 10
	if cfg.quick {
		long, cycles = 100, 1
	}
	var rounds []round
	counts := make(map[string]sqlite.Stats) // of all rounds together
	err := storeIn(ctx, cfg.dir, func(s *sqlite.Store) error {
		old := &writer{store: s, id: "long"}
		if err := old.grow(ctx, long); err != nil {
			return err
		}
		for i := range cfg.rounds + 1 {
			r := make(round)
			for n := range cycles {
				young := &writer{store: s, id: selvage.ThreadID(fmt.Sprintf("short-%d-%d", i, n))}
				if err := young.grow(ctx, shortThread); err != nil {
					return err
				}
				pair := []*writer{young, old}
				if n%2 == 1 {
					// Now and then a page is full: not always with the same one.
					slices.Reverse(pair)
				}
				for _, w := range pair {
					side := "short"
					if w == old {
						side = "long"
					}
					before := s.Stats()
					if err := r.at(side).run(cycle, func() error { return w.turn(ctx) }); err != nil {
						return err
					}
					counts[side] = plus(counts[side], s.Stats(), before)
				}
			}
			if i > 0 {
				rounds = append(rounds, r)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	times := median(rounds, func(r *round) float64 { return float64(r.at("long").p50()) / float64(r.at("short").p50()) })
	turns := float64((cfg.rounds + 1) * cycles * cycle)
	count := func(name string, must float64, of func(sqlite.Stats) int64) gate {
		long, short := float64(of(counts["long"]))/turns, float64(of(counts["short"]))/turns
		return atMost("turn flat: "+name, must, 1, long/short).of(fmt.Sprintf("%.2f a turn", long), fmt.Sprintf("%.2f a turn", short)).
			note(fmt.Sprintf("%d messages to %d", longThread, shortThread))
	}
	return []gate{
		count("statements", 1, func(s sqlite.Stats) int64 { return s.Statements }),
		count("rows", 1, func(s sqlite.Stats) int64 { return s.Rows }),
		count("bytes written", 1.02, func(s sqlite.Stats) int64 { return s.Pages * 4096 }),
		atMost("turn flat: p50", 1.1, 1, times).of(p50(rounds, "long"), p50(rounds, "short")),
	}, nil
}

// plus adds what was done between two looks.
func plus(sum, after, before sqlite.Stats) sqlite.Stats {
	sum.Statements += after.Statements - before.Statements
	sum.Rows += after.Rows - before.Rows
	sum.Pages += after.Pages - before.Pages
	return sum
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
	set := changeSet(bodySize)
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

// flatLoads compares what the next turn of a thread loads: its head, its state
// and its last messages.
func flatLoads(ctx context.Context, cfg config) ([]gate, error) {
	long, turns := longThread, 20
	if cfg.quick {
		long, turns = 100, 2
	}
	var warm, cold []round
	err := storeIn(ctx, cfg.dir, func(s *sqlite.Store) error {
		for id, n := range map[selvage.ThreadID]int{"long": long, "short": shortThread} {
			w := &writer{store: s, id: id}
			if err := w.grow(ctx, n); err != nil {
				return err
			}
		}
		load := func(s *sqlite.Store, id selvage.ThreadID) side {
			return side{string(id), func() error { return loadOnce(ctx, s, id) }}
		}
		var err error
		if warm, err = byTurns(ctx, cfg.rounds+1, turns, 10, []side{load(s, "long"), load(s, "short")}); err != nil {
			return err
		}
		// As a process finds it that has never seen the thread.
		fresh, err := sqlite.Open(ctx, s.Path(), sqlite.Options{CacheBytes: -1})
		if err != nil {
			return err
		}
		cold, err = byTurns(ctx, cfg.rounds+1, turns, 10, []side{load(fresh, "long"), load(fresh, "short")})
		if closeErr := fresh.Close(); err == nil {
			err = closeErr
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	gateOf := func(name string, rounds []round) gate {
		rounds = rounds[1:]
		times := median(rounds, func(r *round) float64 { return float64(r.at("long").p50()) / float64(r.at("short").p50()) })
		return atMost("load flat: "+name, 1.5, 1.1, times).of(p50(rounds, "long"), p50(rounds, "short")).
			note(fmt.Sprintf("%d messages to %d, the last %d loaded", longThread, shortThread, shortThread))
	}
	return []gate{gateOf("p50", warm), gateOf("p50, nothing in memory", cold)}, nil
}

func loadOnce(ctx context.Context, s *sqlite.Store, id selvage.ThreadID) error {
	n := shortThread
	head, err := s.Load(ctx, id, selvage.LoadOptions{Messages: &n})
	if err == nil && len(head.Messages) != n {
		err = fmt.Errorf("a load answers %d messages", len(head.Messages))
	}
	return err
}
