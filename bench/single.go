package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

const bodySize = 1 << 10

// The sides of the comparison of one writer.
const (
	ours    = "ours"    // an append: the set is encoded, digested, judged and written
	raw     = "raw"     // a one-row INSERT of the same body, which is there already
	encoded = "encoded" // the same, but the body is made of the set first, as an append has to
)

func diskSingle(ctx context.Context, cfg config) ([]gate, error) {
	rounds, err := singleWriter(ctx, cfg, cfg.dir)
	if err != nil {
		return nil, err
	}
	rates := median(rounds, func(r *round) float64 { return r.at(ours).rate() / r.at(raw).rate() })
	times := median(rounds, func(r *round) float64 { return float64(r.at(ours).p50()) / float64(r.at(raw).p50()) })
	return []gate{
		atLeast("disk, 1 writer: rate", 0.60, 0.75, rates).of(rate(rounds, ours), rate(rounds, raw)),
		atMost("disk, 1 writer: p50", 1.60, 1.30, times).of(p50(rounds, ours), p50(rounds, raw)),
	}, nil
}

func memorySingle(ctx context.Context, cfg config) ([]gate, error) {
	const name = "memory, 1 writer: rate"
	if _, err := os.Stat(cfg.memory); err != nil {
		return []gate{{Name: name, Left: "there is no " + cfg.memory}}, nil
	}
	rounds, err := singleWriter(ctx, cfg, cfg.memory)
	if err != nil {
		return nil, err
	}
	rates := func(side string) float64 {
		return median(rounds, func(r *round) float64 { return r.at(ours).rate() / r.at(side).rate() })
	}
	info := gate{Name: name + ", to an insert that encodes its body as well", Measured: rates(encoded)}
	return []gate{
		atLeast(name, 0.35, 0.50, rates(raw)).of(rate(rounds, ours), rate(rounds, raw)),
		info.of(rate(rounds, ours), rate(rounds, encoded)),
	}, nil
}

// singleWriter lets one writer append, and the engine insert, by turns of a
// few operations.
func singleWriter(ctx context.Context, cfg config, dir string) (rounds []round, err error) {
	turns, turn := 40, 100
	if cfg.quick {
		turns, turn = 3, 20
	}
	err = bothIn(ctx, dir, 1, func(s *sqlite.Store, ref *reference) error {
		w := &writer{store: s, id: "one"}
		ready, err := readyBody()
		if err != nil {
			return err
		}
		sides := []side{
			{ours, func() error { return w.append(ctx, bodySize) }},
			{raw, func() error { return ref.put(0, ready) }},
			{encoded, func() error {
				set := changeSet(bodySize)
				body, err := encode(&set)
				if err != nil {
					return err
				}
				return ref.put(0, body)
			}},
		}
		// The first round is for the log to reach its length, and for caches.
		rounds, err = byTurns(ctx, cfg.rounds+1, turns, turn, sides)
		return err
	})
	if len(rounds) > 1 {
		rounds = rounds[1:]
	}
	return rounds, err
}

func readyBody() ([]byte, error) {
	set := changeSet(bodySize)
	return encode(&set)
}

// side is something to be measured, one operation at a time.
type side struct {
	name string
	op   func() error
}

// byTurns runs rounds in which the sides take turns.
func byTurns(ctx context.Context, n, turns, turn int, sides []side) ([]round, error) {
	var rounds []round
	for range n {
		r := make(round)
		for range turns {
			for _, s := range sides {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if err := r.at(s.name).run(turn, s.op); err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
			}
		}
		rounds = append(rounds, r)
	}
	return rounds, nil
}

// run does an operation n times.
func (s *sample) run(n int, op func() error) error {
	start := time.Now()
	before := start
	for range n {
		if err := op(); err != nil {
			return err
		}
		now := time.Now()
		s.times = append(s.times, now.Sub(before))
		before = now
	}
	s.ops += n
	s.took += before.Sub(start)
	return nil
}

// writer appends to a thread that nobody else writes to.
type writer struct {
	store   *sqlite.Store
	id      selvage.ThreadID
	version selvage.Version
}

func (w *writer) append(ctx context.Context, size int) error {
	return w.put(ctx, changeSet(size))
}

func (w *writer) put(ctx context.Context, set selvage.ChangeSet) error {
	receipt, err := w.store.Append(ctx, w.id, set, selvage.Exact(w.version))
	w.version = receipt.Version
	return err
}

// bothIn opens a store and a reference in a directory of their own.
func bothIn(ctx context.Context, dir string, threads int, f func(*sqlite.Store, *reference) error) error {
	return storeIn(ctx, dir, func(s *sqlite.Store) error {
		ref, err := openReference(filepath.Join(filepath.Dir(s.Path()), "reference.db"), threads)
		if err != nil {
			return err
		}
		return errors.Join(f(s, ref), ref.close())
	})
}

func storeIn(ctx context.Context, dir string, f func(*sqlite.Store) error) (err error) {
	own, err := os.MkdirTemp(dir, "selvage-bench-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
	s, err := sqlite.Open(ctx, filepath.Join(own, "selvage.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	err = f(s)
	if closeErr := s.Close(); !errors.Is(closeErr, selvage.ErrClosed) {
		err = errors.Join(err, closeErr)
	}
	return err
}
