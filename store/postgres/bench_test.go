package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/store/postgres"
)

// The benchmarks below put an append beside the least that a database can do
// with the same bytes: one row with UNIQUE(thread, version), same driver, same
// pool, same server, in rounds that take turns. What counts is the ratio.

const (
	benchRounds  = 7
	benchThreads = 64
	benchRound   = 600 * time.Millisecond
)

// turn is a change set of two messages, 1 KiB of JSON in all.
func turn() selvage.ChangeSet {
	const words = "the thread keeps what was said and who said it so that nothing acknowledged is ever lost again "
	return selvage.ChangeSet{Messages: []selvage.Message{
		{ID: selvage.NewID(), Role: selvage.RoleUser, Content: selvage.Text(strings.Repeat(words, 5)[:405])},
		{ID: selvage.NewID(), Role: selvage.RoleAssistant, Content: selvage.Text(strings.Repeat(words, 5)[:405])},
	}}
}

// payload is what the change set is received as.
func payload(tb testing.TB, set *selvage.ChangeSet) []byte {
	var body []byte
	for i := range set.Messages {
		data, err := json.Marshal(&set.Messages[i])
		if err != nil {
			tb.Fatal(err)
		}
		body = append(body, data...)
	}
	return body
}

// writer appends one turn after the other.
type writer func(ctx context.Context, thread, version int) error

// round lets conns writers work for a while and returns each append's time.
func round(b *testing.B, conns int, version []int, write writer) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	end := time.Now().Add(benchRound)
	for c := range conns {
		wg.Go(func() {
			var own []time.Duration
			for n := c; time.Now().Before(end); n += conns {
				thread := n % (benchThreads / conns * conns)
				begin := time.Now()
				if err := write(b.Context(), thread, version[thread]); err != nil {
					b.Error(err)
					return
				}
				own = append(own, time.Since(begin))
				version[thread]++
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, own...)
		})
	}
	wg.Wait()
	return all
}

func BenchmarkAppendBesideInsert(b *testing.B) {
	for _, durable := range []bool{true, false} {
		server, err := pgtest.Start(pgtest.Options{Own: true, Durable: true})
		if err != nil {
			b.Fatal(err)
		}
		for _, conns := range []int{1, 16} {
			b.Run(fmt.Sprintf("conns=%d/sync=%v", conns, durable), func(b *testing.B) {
				url := with(server.Database(b, ""), fmt.Sprintf("pool_max_conns=%d", max(conns, 2)))
				if !durable {
					url = with(url, "synchronous_commit=off")
				}
				for b.Loop() {
					beside(b, url, conns)
				}
			})
		}
		if err := server.Stop(); err != nil {
			b.Fatal(err)
		}
	}
}

// beside runs both in turns and reports the medians of their ratios.
func beside(b *testing.B, url string, conns int) {
	s, err := postgres.Open(b.Context(), url, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	pool, err := pgxpool.New(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(b.Context(), `DROP TABLE IF EXISTS reference; CREATE TABLE reference (thread text NOT NULL, version bigint NOT NULL, body bytea NOT NULL, UNIQUE (thread, version));
		ALTER TABLE reference ALTER body SET STORAGE EXTERNAL`); err != nil {
		b.Fatal(err)
	}
	ids := make([]string, benchThreads)
	for i := range ids {
		ids[i] = selvage.NewID()
		if _, err := s.Append(b.Context(), selvage.ThreadID(ids[i]), selvage.ChangeSet{}, selvage.New()); err != nil {
			b.Fatal(err)
		}
	}
	appended := func(ctx context.Context, thread, version int) error {
		_, err := s.Append(ctx, selvage.ThreadID(ids[thread]), turn(), selvage.Exact(selvage.Version(version+1)))
		return err
	}
	inserted := func(ctx context.Context, thread, version int) error {
		set := turn()
		_, err := pool.Exec(ctx, `INSERT INTO reference (thread, version, body) VALUES ($1, $2, $3)`, ids[thread], version, payload(b, &set))
		return err
	}
	ours, theirs := make([]int, benchThreads), make([]int, benchThreads)
	var rate, typical, rates []float64
	for range benchRounds {
		ref := round(b, conns, theirs, inserted)
		own := round(b, conns, ours, appended)
		if b.Failed() {
			return
		}
		rate = append(rate, 100*float64(len(own))/float64(len(ref)))
		typical = append(typical, float64(median(own))/float64(median(ref)))
		rates = append(rates, float64(len(own))/benchRound.Seconds())
	}
	b.ReportMetric(median(rate), "%rate")
	b.ReportMetric(median(typical), "x-p50")
	b.ReportMetric(median(rates), "appends/s")
	set := turn()
	size := len(payload(b, &set))
	var total int
	for _, v := range ours {
		total += v
	}
	var stored, reference int64
	if err := pool.QueryRow(b.Context(), `SELECT sum(pg_total_relation_size(c.oid)), pg_total_relation_size('reference')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'selvage' AND c.relkind = 'r'`).Scan(&stored, &reference); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(stored)/float64(total*size), "x-bytes")
	b.ReportMetric(0, "ns/op")
	rows, _ := pool.Query(b.Context(), `SELECT c.relname, pg_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'selvage' ORDER BY 2 DESC LIMIT 9`)
	for rows.Next() {
		var name string
		var n int64
		_ = rows.Scan(&name, &n)
		b.Logf("%-22s %6.2f x payload", name, float64(n)/float64(total*size))
	}
}

func median[T interface{ ~int64 | ~float64 }](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}
