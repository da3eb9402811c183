package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage/store/postgres"
)

// postgresCycle is how many appends leave one document in the state cache.
const postgresCycle = 64

// postgresTurns compares a turn on a thread of 10 000 messages to one on a
// thread of 10. Times are taken by turns in one store. Counts are the
// server's, of turns on one kind of threads at a time.
func postgresTurns(ctx context.Context, cfg config) (gates []gate, err error) {
	err = cfg.postgres.in(func(database string) error {
		gates, err = postgresTurnsIn(ctx, cfg, database)
		return err
	})
	return gates, err
}

func postgresTurnsIn(ctx context.Context, cfg config, database string) ([]gate, error) {
	const name = "PostgreSQL, turn flat: "
	f := newFlat(cfg, postgresCycle)
	var rounds []round
	err := inPostgres(ctx, database, func(s *postgres.Store) (err error) {
		if err := f.begin(ctx, s); err != nil {
			return err
		}
		rounds, err = f.rounds(ctx, cfg, func(_ string, turns func() error) error { return turns() })
		return err
	})
	if err != nil {
		return nil, err
	}
	gates := []gate{atMost(name+"p50", 1.1, 1, times(rounds, long, short)).of(p50(rounds, long), p50(rounds, short))}
	counts, left, err := f.count(ctx, database)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		name string
		must float64
		of   func(tally) float64
	}{
		{"statements", 1, func(t tally) float64 { return float64(t.statements) / float64(t.turns) }},
		{"rows", 1, func(t tally) float64 { return float64(t.rows) / float64(t.all) }},
		{"bytes written", 1.02, func(t tally) float64 { return float64(t.bytes) / float64(t.turns) }},
	} {
		g := gate{Name: name + c.name, Must: fmt.Sprintf("<= %.2f", c.must), Left: left}
		if left == "" {
			g = flatGate(g.Name, c.must, c.of(counts[long]), c.of(counts[short]))
			if c.name == "rows" {
				g.Note += fmt.Sprintf("; besides %d and %d of the state cache in %d turns", counts[long].kept, counts[short].kept, counts[long].all)
			}
		}
		gates = append(gates, g)
	}
	return gates, nil
}

func inPostgres(ctx context.Context, database string, f func(*postgres.Store) error) error {
	s, err := postgres.Open(ctx, database, postgres.Options{})
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

// tally is what the server counted: some of it over all turns, the rest over
// those of warm threads.
type tally struct {
	all, turns        int
	statements, bytes int64 // of turns; bytes of the server's log
	rows              int64 // of all: inserted, updated and deleted, the state cache left out
	kept              int64 // of all: rows of the state cache
}

// count runs turns on the long thread, and on short ones, each in a store
// opened for it: what the sessions did is in the counts once they have ended.
// It returns instead why the server does not count.
func (f *flat) count(ctx context.Context, database string) (map[string]tally, string, error) {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it only reads
	if _, err := conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`); err != nil {
		return nil, "the server counts no statements: " + err.Error(), nil
	}
	counts := make(map[string]tally)
	for _, side := range []string{long, short} {
		var writers []*writer
		err := inPostgres(ctx, database, func(s *postgres.Store) error {
			f.store, f.old.store = s, s
			for range f.cycles {
				w, err := f.old, error(nil)
				if side == short {
					w, err = f.next(ctx)
				}
				if err != nil {
					return err
				}
				writers = append(writers, w)
			}
			return nil
		})
		if err != nil {
			return nil, "", err
		}
		t, err := f.tallyOf(ctx, conn, database, writers)
		if err != nil {
			return nil, "", err
		}
		counts[side] = t
	}
	return counts, "", nil
}

// tallyOf counts a cycle of turns of each writer, after one that fills the
// store's memory.
func (f *flat) tallyOf(ctx context.Context, conn *pgx.Conn, database string, writers []*writer) (tally, error) {
	before, err := look(ctx, conn)
	if err != nil {
		return before, err
	}
	err = inPostgres(ctx, database, func(s *postgres.Store) error {
		for _, w := range writers {
			w.store = s
			if err := w.turn(ctx); err != nil {
				return err
			}
		}
		if _, err := conn.Exec(ctx, `SELECT pg_stat_statements_reset()`); err != nil {
			return err
		}
		for _, w := range writers {
			for range f.cycle {
				if err := w.turn(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return before, err
	}
	t, err := look(ctx, conn)
	t.turns, t.all = len(writers)*f.cycle, len(writers)*(f.cycle+1)
	t.rows, t.kept = t.rows-before.rows, t.kept-before.kept
	return t, err
}

// look reads the counts once all other sessions have ended.
func look(ctx context.Context, conn *pgx.Conn) (tally, error) {
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		var others int
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&others); err != nil {
			return tally{}, err
		}
		if others == 0 {
			tick.Stop()
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return tally{}, ctx.Err()
		}
	}
	var t tally
	err := conn.QueryRow(ctx, `SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del) FILTER (WHERE relname <> 'state_cache'), 0)::bigint,
			coalesce(sum(n_tup_ins + n_tup_del) FILTER (WHERE relname = 'state_cache'), 0)::bigint
		FROM pg_stat_user_tables WHERE schemaname = 'selvage'`).Scan(&t.rows, &t.kept)
	if err != nil {
		return t, err
	}
	err = conn.QueryRow(ctx, `SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(wal_bytes), 0)::bigint
		FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query LIKE '%selvage.%'`).
		Scan(&t.statements, &t.bytes)
	return t, err
}
