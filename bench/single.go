package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/yardstick"
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
	return []gate{
		atLeast("disk, 1 writer: rate", 0.60, 0.75, rates(rounds, ours, raw)).of(rate(rounds, ours), rate(rounds, raw)),
		atMost("disk, 1 writer: p50", 1.60, 1.30, times(rounds, ours, raw)).of(p50(rounds, ours), p50(rounds, raw)),
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
	info := gate{Name: name + ", to an insert that encodes its body as well", Measured: rates(rounds, ours, encoded)}
	return []gate{
		atLeast(name, 0.35, 0.50, rates(rounds, ours, raw)).of(rate(rounds, ours), rate(rounds, raw)),
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
	err = bothIn(ctx, dir, 1, func(s *sqlite.Store, ref *yardstick.SQLite) error {
		sides, err := oneWriter(ctx, &writer{store: s, id: "one"}, func(body []byte) error { return ref.Put(ctx, 0, body) })
		if err != nil {
			return err
		}
		rounds, err = byTurns(ctx, cfg, turns, turn, sides)
		return err
	})
	return rounds, err
}

// oneWriter are the sides of that comparison on any engine.
func oneWriter(ctx context.Context, w *writer, put func(body []byte) error) ([]side, error) {
	ready, err := yardstick.Body(bodySize)
	return []side{
		{ours, func() error { return w.append(ctx, bodySize) }},
		{raw, func() error { return put(ready) }},
		{encoded, func() error {
			set := yardstick.ChangeSet(bodySize)
			body, err := json.Marshal(&set)
			if err != nil {
				return err
			}
			return put(body)
		}},
	}, err
}

// side is something to be measured, one operation at a time.
type side struct {
	name string
	op   func() error
}

// byTurns runs rounds in which the sides take turns. One more comes first, for
// the log to reach its length and for caches.
func byTurns(ctx context.Context, cfg config, turns, turn int, sides []side) ([]round, error) {
	var rounds []round
	for range cfg.rounds + 1 {
		r := make(round)
		for range turns {
			for _, s := range sides {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if err := r.at(s.name).Run(turn, s.op); err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
			}
		}
		rounds = append(rounds, r)
	}
	return rounds[1:], nil
}

// writer appends to a thread that nobody else writes to.
type writer struct {
	store   selvage.Store
	id      selvage.ThreadID
	version selvage.Version
}

func (w *writer) append(ctx context.Context, size int) error {
	return w.put(ctx, yardstick.ChangeSet(size))
}

func (w *writer) put(ctx context.Context, set selvage.ChangeSet) error {
	receipt, err := w.store.Append(ctx, w.id, set, selvage.Exact(w.version))
	w.version = receipt.Version
	return err
}

// bothIn opens a store and a reference in a directory of their own.
func bothIn(ctx context.Context, dir string, threads int, f func(*sqlite.Store, *yardstick.SQLite) error) error {
	return storeIn(ctx, dir, func(s *sqlite.Store) error {
		ref, err := yardstick.OpenSQLite(ctx, filepath.Join(filepath.Dir(s.Path()), "reference.db"), "FULL", threads)
		if err != nil {
			return err
		}
		return errors.Join(f(s, ref), ref.Close())
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
