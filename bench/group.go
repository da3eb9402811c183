package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

const groupThreads = 64

// diskGroup lets 64 threads append at once, and the engine insert as many rows
// into as many threads, a hundred to a transaction and one to a transaction.
func diskGroup(ctx context.Context, cfg config) ([]gate, error) {
	turns, each := 10, 50
	if cfg.quick {
		turns, each = 1, 3
	}
	var rounds []round
	var perGroup float64
	err := bothIn(ctx, cfg.dir, groupThreads, func(s *sqlite.Store, ref *reference) error {
		writers := make([]*writer, groupThreads)
		for i := range writers {
			writers[i] = &writer{store: s, id: selvage.ThreadID(fmt.Sprintf("thread-%d", i))}
		}
		for i := range cfg.rounds + 1 {
			r := make(round)
			before := s.Stats()
			for range turns {
				if err := r.at(ours).together(ctx, writers, each); err != nil {
					return err
				}
				if err := r.at("raw 100").inserts(ref, groupThreads*each, 100); err != nil {
					return err
				}
				if err := r.at(raw).inserts(ref, 2*groupThreads, 1); err != nil {
					return err
				}
			}
			if after := s.Stats(); i > 0 || cfg.quick {
				rounds = append(rounds, r)
				perGroup = float64(after.Changes-before.Changes) / float64(after.Groups-before.Groups)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	ratio := func(side string) float64 {
		return median(rounds, func(r *round) float64 { return r.at(ours).rate() / r.at(side).rate() })
	}
	return []gate{
		atLeast("disk, 64 threads: rate, to 100 rows a transaction", 0.35, 0.60, ratio("raw 100")).
			of(rate(rounds, ours), rate(rounds, "raw 100")).note(fmt.Sprintf("%.0f appends a group", perGroup)),
		atLeast("disk, 64 threads: rate, to one row a transaction", 2, 2, ratio(raw)).of(rate(rounds, ours), rate(rounds, raw)),
	}, nil
}

// together lets each writer append so many sets.
func (s *sample) together(ctx context.Context, writers []*writer, each int) error {
	start := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for _, w := range writers {
		g.Go(func() error {
			for range each {
				if err := w.append(ctx, bodySize); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	s.ops += len(writers) * each
	s.took += time.Since(start)
	return err
}

// inserts lets the engine insert n rows, so many to a transaction.
func (s *sample) inserts(ref *reference, n, per int) error {
	start := time.Now()
	body, err := readyBody()
	if err != nil {
		return err
	}
	one := func(i int) error { return ref.put(i%groupThreads, body) }
	for i := 0; i < n; {
		if per == 1 {
			if err := one(i); err != nil {
				return err
			}
			i++
			continue
		}
		err := ref.together(func() error {
			for range min(per, n-i) {
				if err := one(i); err != nil {
					return err
				}
				i++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.ops += n
	s.took += time.Since(start)
	return nil
}
