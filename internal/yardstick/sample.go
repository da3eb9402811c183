package yardstick

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Sample is what one side of a measurement did. It serves one goroutine.
type Sample struct {
	ops   int
	took  time.Duration
	times []time.Duration // of single operations, if they were taken
}

// Run does an operation n times, and takes the time of each. The first error
// ends it.
func (s *Sample) Run(n int, op func() error) error {
	times := make([]time.Duration, 0, n)
	start := time.Now()
	before := start
	for range n {
		if err := op(); err != nil {
			return err
		}
		now := time.Now()
		times = append(times, now.Sub(before))
		before = now
	}
	s.add(times, before.Sub(start))
	return nil
}

// Together lets each of the writers do its operation n times, all at once.
func (s *Sample) Together(ctx context.Context, n int, writers []func(context.Context) error) error {
	all := make([]Sample, len(writers))
	start := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for i, op := range writers {
		g.Go(func() error { return all[i].Run(n, func() error { return op(ctx) }) })
	}
	err := g.Wait()
	took := time.Since(start)
	var times []time.Duration
	for i := range all {
		times = append(times, all[i].times...)
	}
	s.add(times, took)
	return err
}

// During lets each of the writers do its operation over and over until the
// time is up, all at once. The first error ends it.
func (s *Sample) During(ctx context.Context, d time.Duration, writers []func(context.Context) error) error {
	all := make([][]time.Duration, len(writers))
	start := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for i, op := range writers {
		g.Go(func() error {
			for before := start; before.Sub(start) < d; {
				if err := op(ctx); err != nil {
					return err
				}
				now := time.Now()
				all[i] = append(all[i], now.Sub(before))
				before = now
			}
			return nil
		})
	}
	err := g.Wait()
	s.add(slices.Concat(all...), time.Since(start))
	return err
}

// Batch does something that is n operations in one, of which no single time
// can be taken.
func (s *Sample) Batch(n int, do func() error) error {
	start := time.Now()
	err := do()
	s.ops += n
	s.took += time.Since(start)
	return err
}

func (s *Sample) add(times []time.Duration, took time.Duration) {
	s.ops += len(times)
	s.took += took
	s.times = append(s.times, times...)
}

// Ops is how many operations were done.
func (s *Sample) Ops() int { return s.ops }

// Rate is the number of operations a second; 0 if nothing was done.
func (s *Sample) Rate() float64 {
	if s.took <= 0 {
		return 0
	}
	return float64(s.ops) / s.took.Seconds()
}

// Quantile is the time that the given part of the operations did not exceed:
// 0.5 is the median. It is 0 if no times were taken.
func (s *Sample) Quantile(q float64) time.Duration {
	if len(s.times) == 0 {
		return 0
	}
	slices.Sort(s.times)
	return s.times[min(int(q*float64(len(s.times))), len(s.times)-1)]
}
