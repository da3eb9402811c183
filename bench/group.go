package main

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/yardstick"
	"github.com/selvagehq/selvage/store/sqlite"
)

const groupThreads = 64

// raw100 is the engine inserting a hundred rows in a transaction.
const raw100 = "raw 100"

// diskGroup lets 64 threads append at once, and the engine insert as many rows
// into as many threads, a hundred to a transaction and one to a transaction.
func diskGroup(ctx context.Context, cfg config) ([]gate, error) {
	turns, each := 10, 50
	if cfg.quick {
		turns, each = 1, 3
	}
	var rounds []round
	var perGroup float64
	err := bothIn(ctx, cfg.dir, groupThreads, func(s *sqlite.Store, ref *yardstick.SQLite) error {
		body, err := yardstick.Body(bodySize)
		if err != nil {
			return err
		}
		writers := writersOf(s, groupThreads)
		for i := range cfg.rounds + 1 {
			r := make(round)
			before := s.Stats()
			for range turns {
				if err := r.at(ours).Together(ctx, each, writers); err != nil {
					return err
				}
				for range groupThreads * each / 100 {
					if err := r.at(raw100).Batch(100, func() error { return ref.PutAll(ctx, 100, body) }); err != nil {
						return err
					}
				}
				next := 0
				if err := r.at(raw).Run(2*groupThreads, func() error { next++; return ref.Put(ctx, next%groupThreads, body) }); err != nil {
					return err
				}
			}
			if after := s.Stats(); i > 0 {
				rounds = append(rounds, r)
				perGroup = float64(after.Changes-before.Changes) / float64(after.Groups-before.Groups)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []gate{
		atLeast("disk, 64 threads: rate, to 100 rows a transaction", 0.35, 0.60, rates(rounds, ours, raw100)).
			of(rate(rounds, ours), rate(rounds, raw100)).note(fmt.Sprintf("%.0f appends a group", perGroup)),
		atLeast("disk, 64 threads: rate, to one row a transaction", 2, 2, rates(rounds, ours, raw)).of(rate(rounds, ours), rate(rounds, raw)),
	}, nil
}

// writersOf are appends to as many threads of their own.
func writersOf(s selvage.Store, n int) []func(context.Context) error {
	writers := make([]func(context.Context) error, n)
	for i := range writers {
		w := &writer{store: s, id: selvage.ThreadID(fmt.Sprintf("thread-%d", i))}
		writers[i] = func(ctx context.Context) error { return w.append(ctx, bodySize) }
	}
	return writers
}
