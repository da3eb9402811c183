package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/internal/yardstick"
	"github.com/selvagehq/selvage/store/postgres"
)

// server is the PostgreSQL server to measure, started when it is first needed:
// the one that [pgtest.Environment] names, or one of our own that forces its
// log to the disk.
type server struct{ cluster *pgtest.Cluster }

func (p *server) start() (err error) {
	if p.cluster == nil {
		p.cluster, err = pgtest.Start(pgtest.Options{Durable: true, Settings: []string{
			"shared_preload_libraries = 'pg_stat_statements'", // counts statements
			"checkpoint_timeout = 1h",                         // after one, pages are logged whole, whosever turn it is
		}})
	}
	return err
}

func (p *server) stop() error {
	if p.cluster == nil {
		return nil
	}
	return p.cluster.Stop()
}

// in calls f with the URL of a database of its own, whose settings are given
// as NAME=VALUE.
func (p *server) in(f func(url string) error, settings ...string) error {
	if err := p.start(); err != nil {
		return err
	}
	database, err := p.cluster.Create("")
	if err != nil {
		return err
	}
	return errors.Join(f(with(database, settings...)), p.cluster.Drop(database))
}

// with adds settings to the URL of a database.
func with(database string, settings ...string) string {
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		mark := "?"
		if strings.Contains(database, "?") {
			mark = "&"
		}
		database += mark + name + "=" + url.QueryEscape(value)
	}
	return database
}

// both opens a store and a reference in one database.
func (p *server) both(ctx context.Context, conns int, sync string, f func(*postgres.Store, *yardstick.Postgres) error) error {
	return p.in(func(database string) error {
		s, err := postgres.Open(ctx, database, postgres.Options{})
		if err != nil {
			return err
		}
		ref, err := yardstick.OpenPostgres(ctx, database, threadNames(conns))
		if err != nil {
			return errors.Join(err, s.Close())
		}
		err = f(s, ref)
		ref.Close()
		return errors.Join(err, s.Close())
		// At least two connections are used, for what the store does beside.
	}, fmt.Sprintf("pool_max_conns=%d", max(conns, 2)), "synchronous_commit="+sync)
}

func threadNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("thread-%d", i)
	}
	return names
}

// postgresSingle lets one writer append, and the engine insert, by turns.
func postgresSingle(ctx context.Context, cfg config) ([]gate, error) {
	turns, turn := 20, 50
	if cfg.quick {
		turns, turn = 2, 10
	}
	var rounds []round
	err := cfg.postgres.both(ctx, 1, "on", func(s *postgres.Store, ref *yardstick.Postgres) error {
		sides, err := oneWriter(ctx, &writer{store: s, id: "thread-0"}, func(body []byte) error { return ref.Put(ctx, 0, body) })
		if err != nil {
			return err
		}
		rounds, err = byTurns(ctx, cfg, turns, turn, sides)
		return err
	})
	if err != nil {
		return nil, err
	}
	return []gate{
		atLeast("PostgreSQL, 1 connection: rate", 0.60, 0.80, rates(rounds, ours, raw)).of(rate(rounds, ours), rate(rounds, raw)),
		atMost("PostgreSQL, 1 connection: p50", 1.70, 1.30, times(rounds, ours, raw)).of(p50(rounds, ours), p50(rounds, raw)),
	}, nil
}

const manyConns = 16

// postgresMany lets 16 writers append at once, and the engine insert as many
// rows from as many connections.
func postgresMany(ctx context.Context, cfg config) ([]gate, error) {
	var gates []gate
	for _, c := range []struct {
		sync      string
		must, aim float64
	}{{"on", 0.45, 0.70}, {"off", 0.35, 0.60}} {
		rounds, err := manyWriters(ctx, cfg, c.sync)
		if err != nil {
			return nil, err
		}
		gates = append(gates, atLeast(fmt.Sprintf("PostgreSQL, %d connections, sync %s: rate", manyConns, c.sync), c.must, c.aim, rates(rounds, ours, raw)).
			of(rate(rounds, ours), rate(rounds, raw)))
	}
	return gates, nil
}

func manyWriters(ctx context.Context, cfg config, sync string) (rounds []round, err error) {
	turns, each := 10, 40
	if cfg.quick {
		turns, each = 1, 3
	}
	err = cfg.postgres.both(ctx, manyConns, sync, func(s *postgres.Store, ref *yardstick.Postgres) error {
		body, err := yardstick.Body(bodySize)
		if err != nil {
			return err
		}
		writers := writersOf(s, manyConns)
		inserters := make([]func(context.Context) error, manyConns)
		for i := range inserters {
			inserters[i] = func(ctx context.Context) error { return ref.Put(ctx, i, body) }
		}
		for i := range cfg.rounds + 1 {
			r := make(round)
			for range turns {
				if err := r.at(ours).Together(ctx, each, writers); err != nil {
					return err
				}
				if err := r.at(raw).Together(ctx, each, inserters); err != nil {
					return err
				}
			}
			if i > 0 {
				rounds = append(rounds, r)
			}
		}
		return nil
	})
	return rounds, err
}

// postgresSizes compares what the tables of the store take, indexes and what
// updates left behind included, to the JSON it was given. The threads grow
// beside each other, as they do in earnest.
func postgresSizes(ctx context.Context, cfg config) ([]gate, error) {
	each := 600
	if cfg.quick {
		each = 20
	}
	var stored int64
	err := cfg.postgres.both(ctx, manyConns, "off", func(s *postgres.Store, ref *yardstick.Postgres) error {
		var sample yardstick.Sample
		if err := sample.Together(ctx, each, writersOf(s, manyConns)); err != nil {
			return err
		}
		var err error
		stored, err = ref.Stored(ctx, "selvage")
		return err
	})
	if err != nil {
		return nil, err
	}
	sets := int64(manyConns * each)
	return []gate{atMost("PostgreSQL, bytes stored, 1 KiB", 1.9, 1.7, float64(stored)/float64(sets*bodySize)).
		of(fmt.Sprintf("%d bytes a change set", stored/sets), fmt.Sprintf("%d bytes of JSON", bodySize))}, nil
}

// postgresLoads compares what the next turn of a thread loads.
func postgresLoads(ctx context.Context, cfg config) (gates []gate, err error) {
	err = cfg.postgres.in(func(database string) (err error) {
		s, err := postgres.Open(ctx, database, postgres.Options{})
		if err != nil {
			return err
		}
		gates, err = loadGates(ctx, cfg, "PostgreSQL, load flat", s, func() (selvage.Store, error) {
			return postgres.Open(ctx, database, postgres.Options{CacheBytes: -1})
		})
		return errors.Join(err, s.Close())
	})
	return gates, err
}
