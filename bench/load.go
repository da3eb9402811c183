package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// flatLoads compares what the next turn of a thread loads: its head, its state
// and its last messages.
func flatLoads(ctx context.Context, cfg config) (gates []gate, err error) {
	err = storeIn(ctx, cfg.dir, func(s *sqlite.Store) error {
		gates, err = loadGates(ctx, cfg, "load flat", s, func() (selvage.Store, error) {
			return sqlite.Open(ctx, s.Path(), sqlite.Options{CacheBytes: -1})
		})
		return err
	})
	return gates, err
}

// loadGates loads from a store that has just written the threads, and from one
// that remembers nothing of them, as a process finds it that has never seen
// them.
func loadGates(ctx context.Context, cfg config, name string, s selvage.Store, forgetful func() (selvage.Store, error)) ([]gate, error) {
	messages, turns := longThread, 20
	if cfg.quick {
		messages, turns = 100, 2
	}
	for id, n := range map[selvage.ThreadID]int{long: messages, short: shortThread} {
		w := &writer{store: s, id: id}
		if err := w.grow(ctx, n); err != nil {
			return nil, err
		}
	}
	warm, err := byTurns(ctx, cfg, turns, 10, loads(ctx, s))
	if err != nil {
		return nil, err
	}
	fresh, err := forgetful()
	if err != nil {
		return nil, err
	}
	cold, err := byTurns(ctx, cfg, turns, 10, loads(ctx, fresh))
	if err := errors.Join(err, fresh.Close()); err != nil {
		return nil, err
	}
	return []gate{loadGate(name+": p50", warm), loadGate(name+": p50, nothing in memory", cold)}, nil
}

func loadGate(name string, rounds []round) gate {
	return atMost(name, 1.5, 1.1, times(rounds, long, short)).of(p50(rounds, long), p50(rounds, short)).
		note(fmt.Sprintf("%d messages to %d, the last %d loaded", longThread, shortThread, shortThread))
}

// loads are the loads of the two threads.
func loads(ctx context.Context, s selvage.Store) []side {
	var sides []side
	for _, id := range []selvage.ThreadID{long, short} {
		sides = append(sides, side{string(id), func() error { return loadOnce(ctx, s, id) }})
	}
	return sides
}

func loadOnce(ctx context.Context, s selvage.Store, id selvage.ThreadID) error {
	n := shortThread
	head, err := s.Load(ctx, id, selvage.LoadOptions{Messages: &n})
	if err == nil && len(head.Messages) != n {
		err = fmt.Errorf("a load answers %d messages", len(head.Messages))
	}
	return err
}
