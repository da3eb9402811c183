package postgres_test

import (
	"fmt"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/postgres"
)

// work is what the server did for a store: looks into tables, rows it read and
// rows it wrote.
type work struct{ Looks, Read, Written int64 }

// flatTurns is how often each thing is done.
const flatTurns = 4

// TestHistoryCostsNothing lets the server count what it does for turns, loads
// and pages on threads of 400 messages and on one of 4 000: the same. On shorter ones there is less to read ahead.
func TestHistoryCostsNothing(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t, template) // whose counters nobody else moves
	const short, long = 400, 4000
	grow(t, url, "long", long)
	for i := range flatTurns {
		grow(t, url, shortThread(i), short)
	}
	quiet(t, url, "quiet-long", 2000)
	for i := range flatTurns {
		quiet(t, url, "quiet-"+shortThread(i), 400)
	}
	execIn(t, url, `ANALYZE`)
	window := 10
	for _, c := range []struct {
		name string
		more int64 // looks and rows that the longer thread may cost
		do   func(s *postgres.Store, id selvage.ThreadID) error
	}{
		{"a turn", 0, func(s *postgres.Store, id selvage.ThreadID) error {
			_, err := s.Append(t.Context(), id, twoSaid(), selvage.Any())
			return err
		}},
		{"a load", 0, func(s *postgres.Store, id selvage.ThreadID) error {
			h, err := s.Load(t.Context(), id, selvage.LoadOptions{Messages: &window})
			if err == nil && len(h.Messages) != window {
				err = fmt.Errorf("%d messages", len(h.Messages))
			}
			return err
		}},
		// The last messages are found by halves, beyond five times as many
		// changes that have none.
		{"a load of a quiet thread", 12, func(s *postgres.Store, id selvage.ThreadID) error {
			h, err := s.Load(t.Context(), "quiet-"+id, selvage.LoadOptions{Messages: &window})
			if err == nil && len(h.Messages) != window {
				err = fmt.Errorf("%d messages", len(h.Messages))
			}
			return err
		}},
		// A page is found by halves, and the thread is ten times as long.
		{"a page", 4, func(s *postgres.Store, id selvage.ThreadID) error {
			p, err := s.Messages(t.Context(), id, selvage.MessageQuery{Order: selvage.Descending, Limit: &window})
			if err == nil && len(p.Items) != window {
				err = fmt.Errorf("%d messages", len(p.Items))
			}
			return err
		}},
	} {
		old := workOf(t, url, func(s *postgres.Store, _ int) error { return c.do(s, "long") })
		young := workOf(t, url, func(s *postgres.Store, i int) error { return c.do(s, shortThread(i)) })
		more := c.more * flatTurns
		if young.Looks == 0 || old.Looks > young.Looks+more || old.Read > young.Read+more || old.Written > young.Written {
			t.Errorf("%s on a thread of %d messages costs %+v, on one of %d %+v", c.name, long, old, short, young)
		}
	}
}

// workOf has something done by stores that have just been opened, and answers
// what the server counted once their sessions have ended.
func workOf(t *testing.T, url string, do func(s *postgres.Store, i int) error) work {
	t.Helper()
	before := counted(t, url)
	for i := range flatTurns {
		s := open(t, url)
		if err := do(s, i); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	after := counted(t, url)
	return work{after.Looks - before.Looks, after.Read - before.Read, after.Written - before.Written}
}

// counted is what the server has counted so far, of all sessions that ended.
func counted(t *testing.T, url string) work {
	t.Helper()
	const others = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
	eventually(t, "that the sessions have ended", func() bool { return query[int](t, url, others) == 0 })
	sum := func(columns string) int64 {
		return query[int64](t, url, `SELECT coalesce(sum(`+columns+`), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = 'selvage'`)
	}
	return work{sum("seq_scan + coalesce(idx_scan, 0)"), sum("seq_tup_read + coalesce(idx_tup_fetch, 0)"), sum("n_tup_ins + n_tup_upd + n_tup_del")}
}

func shortThread(i int) selvage.ThreadID { return selvage.ThreadID(fmt.Sprintf("short-%d", i)) }

func twoSaid() selvage.ChangeSet {
	return selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("hello"), selvage.UserText("hello again")}}
}

// grow makes a thread of n messages, two a change.
func grow(t *testing.T, url string, id selvage.ThreadID, n int) {
	t.Helper()
	s := open(t, url)
	pre := selvage.New()
	for range n / 2 {
		if _, err := s.Append(t.Context(), id, twoSaid(), pre); err != nil {
			t.Fatal(err)
		}
		pre = selvage.Any()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// quiet makes a thread whose last n changes have no messages.
func quiet(t *testing.T, url string, id selvage.ThreadID, n int) {
	t.Helper()
	grow(t, url, id, 20)
	s := open(t, url)
	for range n {
		if _, err := s.Append(t.Context(), id, selvage.ChangeSet{}, selvage.Any()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
