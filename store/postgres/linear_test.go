package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/linear"
	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/store/postgres"
)

// TestLinear: whatever clients in two processes do at the same time, each could
// have been alone.
func TestLinear(t *testing.T) {
	t.Parallel()
	url := database(t)
	stores := [2]*postgres.Store{open(t, url), open(t, url)}
	for n := range soak.Times(2) {
		w := linear.Workload{Clients: 8, Threads: 4, Ops: 60, Seed: uint64(n), Prefix: fmt.Sprintf("%d-", n)}
		w.Test(t, func(client int) selvage.Store { return stores[client%2] })
	}
}

// TestLinearUnderFaults: nor does it tell when connections are cut between any
// two messages or within one, and when the server's processes are ended.
func TestLinearUnderFaults(t *testing.T) {
	t.Parallel()
	url := database(t)
	proxies := [2]*pgtest.Proxy{pgtest.NewProxy(t, url), pgtest.NewProxy(t, url)}
	stores := [2]*postgres.Store{open(t, proxies[0].URL(t, url)), open(t, proxies[1].URL(t, url))}
	unknown := 0
	for n := range soak.Times(2) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { killBackends(ctx, t, url, proxies[:]) })
		for i, p := range proxies {
			cutAtRandom(p, uint64(2*n+i))
		}
		w := linear.Workload{Clients: 8, Threads: 4, Ops: 60, Seed: uint64(n), Prefix: fmt.Sprintf("%d-", n), Strict: true, Deadline: 5 * time.Second}
		history := w.Record(ctx, func(client int) selvage.Store { return stores[client%2] })
		cancel()
		wg.Wait()
		for _, p := range proxies {
			p.Watch(nil)
			p.Refuse(false)
		}
		unknown += w.Judge(t, append(history, w.Look(t.Context(), stores[0])...)).Unknown
	}
	if unknown == 0 {
		t.Error("the outcome of no operation was left unknown; the test proves nothing")
	}
}

// cutAtRandom has a proxy cut one in five hundred messages, in one of the ways.
func cutAtRandom(p *pgtest.Proxy, seed uint64) {
	var mu sync.Mutex // guards random
	random := rand.New(rand.NewPCG(seed, 0))
	p.Watch(func(pgtest.Step) pgtest.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(500) > 0 {
			return pgtest.Pass
		}
		return []pgtest.Verdict{pgtest.Cut, pgtest.Torn, pgtest.CutAfter}[random.IntN(3)]
	})
}

// killBackends ends the processes of the server that work for the database,
// again and again, and each time has a proxy refuse connections for a moment.
func killBackends(ctx context.Context, t *testing.T, url string, proxies []*pgtest.Proxy) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for i, p := range proxies {
				p.Refuse(n%4 == i)
			}
			_, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	}
}
