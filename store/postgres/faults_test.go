package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/postgres"
)

// said is a change set of one message.
func said(id, text string) selvage.ChangeSet {
	return selvage.ChangeSet{ID: id, Messages: []selvage.Message{selvage.UserText(text)}}
}

// execIn runs a statement in a database, behind the store's back.
func execIn(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // also while the test cleans up
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// query reads one value from a database, behind the store's back.
func query[T any](t testing.TB, url, sql string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// hidden reports whether an error is one that a lost server may cause.
func hidden(err error) bool {
	return errors.Is(err, selvage.ErrUnavailable) || errors.Is(err, selvage.ErrUnknownOutcome)
}

// steady appends with ids to threads of its own while something breaks, and
// sends again what was not answered, until stop is closed. It then proves that
// everything acknowledged is there, once and where it was said to be.
func steady(t *testing.T, s *postgres.Store, writers int, broken func()) {
	t.Helper()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var acknowledged, hiddenFaults atomic.Int64
	for w := range writers {
		wg.Go(func() {
			id := selvage.ThreadID(fmt.Sprintf("steady-%d", w))
			var receipts []selvage.Receipt
			for n := 0; ; n++ {
				select {
				case <-stop:
					checkLog(t, s, id, receipts)
					return
				default:
				}
				pre := selvage.Exact(selvage.Version(n))
				set := said(fmt.Sprintf("set-%d-%d", w, n), "hello")
				for {
					r, err := s.Append(t.Context(), id, set, pre)
					if err == nil {
						if int(r.Version) != n+1 {
							t.Errorf("set %d was answered version %d", n, r.Version)
						}
						receipts = append(receipts, r)
						acknowledged.Add(1)
						break
					}
					if !hidden(err) {
						t.Errorf("while the server went away an append failed with %v; want unavailable or unknown_outcome", err)
						return
					}
					hiddenFaults.Add(1)
					select {
					case <-time.After(time.Millisecond):
					case <-t.Context().Done():
					}
				}
			}
		})
	}
	broken()
	close(stop)
	wg.Wait()
	t.Logf("%d appends acknowledged, %d answered unavailable or unknown", acknowledged.Load(), hiddenFaults.Load())
	if acknowledged.Load() == 0 {
		t.Error("nothing was acknowledged; the test proves nothing")
	}
}

// checkLog compares a thread's log with the receipts of its only writer.
func checkLog(t *testing.T, s *postgres.Store, id selvage.ThreadID, receipts []selvage.Receipt) {
	var log []selvage.Change
	limit := selvage.MaxPage
	q := selvage.ChangeQuery{Limit: &limit}
	for {
		page, err := s.Changes(t.Context(), id, q)
		if err != nil && hidden(err) {
			continue
		}
		if err != nil {
			t.Errorf("read the log: %v", err)
			return
		}
		log = append(log, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if len(log) != len(receipts) {
		t.Errorf("%d changes in the log of %s, and %d were acknowledged", len(log), id, len(receipts))
		return
	}
	var prev selvage.Hash
	for i := range log {
		if err := log[i].Verify(prev); err != nil || log[i].Hash != receipts[i].Hash || log[i].ID != receipts[i].ChangeID {
			t.Errorf("version %d of %s is set %s with hash %s (%v); acknowledged was %s with %s",
				i+1, id, log[i].ID, log[i].Hash, err, receipts[i].ChangeID, receipts[i].Hash)
			return
		}
		prev = log[i].Hash
	}
}

// eventually waits for something that another goroutine or process brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func version(t *testing.T, s *postgres.Store, id selvage.ThreadID) selvage.Version {
	h, err := s.Load(t.Context(), id, selvage.LoadOptions{})
	if err != nil {
		return 0
	}
	return h.Thread.Version
}

// advance waits until a writer of [steady] has got somewhere.
func advance(t *testing.T, s *postgres.Store, by selvage.Version) {
	from := version(t, s, "steady-0")
	eventually(t, "that appends go on", func() bool { return version(t, s, "steady-0") >= from+by })
}

func TestBackendsKilled(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := open(t, url)
	steady(t, s, 4, func() {
		for range 15 {
			advance(t, s, 5)
			execIn(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		}
		advance(t, s, 5)
	})
}

// TestServerKilled ends by SIGKILL, in turns, a process that works for us, after
// which the server ends the others and recovers, and the server itself.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	server, err := pgtest.Start(pgtest.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	rounds := 15
	if testing.Short() {
		rounds = 3
	}
	url := server.Database(t, "")
	s := open(t, url)
	steady(t, s, 4, func() {
		for range rounds {
			advance(t, s, 5)
			server.KillBackend(t, url)
			advance(t, s, 5)
			server.Kill(t)
			// A process of the server that is left may still answer once.
			eventually(t, "that a load is told that there is no server", func() bool {
				_, err := s.Load(t.Context(), "steady-0", selvage.LoadOptions{})
				if err != nil && !errors.Is(err, selvage.ErrUnavailable) {
					t.Errorf("load without a server: %v; want unavailable", err)
				}
				return err != nil
			})
			server.Revive(t)
		}
		advance(t, s, 5)
	})
}

// The connection is cut at the first, second, ... message of an append, in
// each of the ways, until one goes through whole.
func TestConnectionCut(t *testing.T) {
	t.Parallel()
	for _, refuse := range []bool{false, true} {
		for name, verdict := range map[string]pgtest.Verdict{"before": pgtest.Cut, "within": pgtest.Torn, "after": pgtest.CutAfter} {
			t.Run(fmt.Sprintf("%s/refused=%v", name, refuse), func(t *testing.T) {
				t.Parallel()
				url := database(t)
				proxy := pgtest.NewProxy(t, url)
				s := open(t, with(proxy.URL(t, url), "pool_max_conns=2"))
				cutEverywhere(t, s, proxy, verdict, refuse)
			})
		}
	}
}

func cutEverywhere(t *testing.T, s *postgres.Store, proxy *pgtest.Proxy, verdict pgtest.Verdict, refuse bool) {
	const id = "t"
	if _, err := s.Append(t.Context(), id, said("first", "hello"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for at := int64(1); ; at++ {
		before := version(t, s, id)
		var seen atomic.Int64
		var cut atomic.Bool
		proxy.Watch(func(pgtest.Step) pgtest.Verdict {
			if seen.Add(1) != at {
				return pgtest.Pass
			}
			cut.Store(true)
			proxy.Refuse(refuse)
			return verdict
		})
		set := said(fmt.Sprintf("set-%d", at), "hello")
		r, err := s.Append(t.Context(), id, set, selvage.Exact(before))
		proxy.Watch(nil)
		proxy.Refuse(false)
		if err != nil && !hidden(err) {
			t.Fatalf("cut at message %d: %v; want unavailable or unknown_outcome", at, err)
		}
		if err == nil && r.Replayed {
			t.Errorf("cut at message %d: the first answer says that it is a replay", at)
		}
		if errors.Is(err, selvage.ErrUnknownOutcome) {
			unknown++
		}
		again, err2 := s.Append(t.Context(), id, set, selvage.Exact(before))
		if err2 != nil || again.Version != before+1 {
			t.Fatalf("cut at message %d: sent again it answers version %d, %v; want %d", at, again.Version, err2, before+1)
		}
		if err == nil && (!again.Replayed || again.Hash != r.Hash) {
			t.Errorf("cut at message %d: answered %s, and sent again %s (replayed %v)", at, r.Hash, again.Hash, again.Replayed)
		}
		if got := version(t, s, id); got != before+1 {
			t.Fatalf("cut at message %d: the thread is at version %d; want %d: written once", at, got, before+1)
		}
		if !cut.Load() {
			t.Logf("%d messages, %d unknown outcomes", at-1, unknown)
			if refuse && unknown == 0 {
				t.Error("no cut left the outcome unknown; the test proves nothing")
			}
			return
		}
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := open(t, url)
	if _, err := s.Append(t.Context(), "t", said("a", "hello"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	execIn(t, url, `ALTER TABLE selvage.changes RENAME TO elsewhere`)
	_, err := s.Append(t.Context(), "t", said("b", "hello"), selvage.Any())
	if !errors.Is(err, selvage.ErrUnavailable) || errors.Is(err, selvage.ErrUnknownOutcome) {
		t.Errorf("an append that the server refused: %v; want unavailable", err)
	}
	execIn(t, url, `ALTER TABLE selvage.elsewhere RENAME TO changes`)
	if r, err := s.Append(t.Context(), "t", said("b", "hello"), selvage.Any()); err != nil || r.Version != 2 {
		t.Errorf("once it no longer refuses: version %d, %v; want 2", r.Version, err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := open(t, url)
	if _, err := s.Append(t.Context(), "t", said("a", "hello"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `UPDATE selvage.threads SET epoch = epoch`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() {
		_, err := s.Append(ctx, "t", said("b", "hello"), selvage.Any())
		answer <- err
	}()
	eventually(t, "that the append waits for the row", func() bool {
		return query[int](t, url, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
	})
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) || selvage.Code(err) != "cancelled" {
		t.Errorf("an append whose context is cancelled: %v; want its error alone", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Append(t.Context(), "t", said("b", "hello"), selvage.Any()); err != nil || r.Version != 2 {
		t.Errorf("sent again: version %d, %v; want 2", r.Version, err)
	}
}

// Whatever of a thread is damaged, reading it names the thread and the version.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"a message":           `UPDATE selvage.changes SET messages = set_byte(messages, length(messages) - 5, get_byte(messages, length(messages) - 5) # 1)`,
		"the rest":            `UPDATE selvage.changes SET rest = set_byte(rest, length(rest) - 3, get_byte(rest, length(rest) - 3) # 1)`,
		"the lengths":         `UPDATE selvage.changes SET sizes = '\\xffff7f'::bytea`,
		"the seal":            `UPDATE selvage.changes SET salt = '\\x00'::bytea`,
		"a hash":              `UPDATE selvage.changes SET hash = substring(hash for 31)`,
		"a digest":            `UPDATE selvage.changes SET content = set_byte(content, 0, get_byte(content, 0) # 1)`,
		"a reason":            `UPDATE selvage.changes SET reason = 99`,
		"a row that is gone":  `DELETE FROM selvage.changes WHERE version = 1`,
		"the head":            `UPDATE selvage.threads SET hash = substring(hash for 31)`,
		"what the head tells": `UPDATE selvage.threads SET info = 'poem'::bytea`,
		"the open run":        `UPDATE selvage.threads SET run = '['::bytea`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := database(t)
			s := open(t, url)
			set := said("a", "hello")
			set.Messages = append(set.Messages, selvage.UserText("hello again"))
			set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Set("/n", state.Int(1))}}}
			if _, err := s.Append(t.Context(), "t", set, selvage.New()); err != nil {
				t.Fatal(err)
			}
			execIn(t, url, strings.ReplaceAll(damage, `\\`, `\`))
			readDamaged(t, open(t, url))
		})
	}
}

// readDamaged reads the thread in every way. The changes alone need not notice
// that a head is damaged.
func readDamaged(t *testing.T, s *postgres.Store) {
	noticed := false
	for what, read := range map[string]func() error{
		"load":     func() error { _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); return err },
		"messages": func() error { _, err := s.Messages(t.Context(), "t", selvage.MessageQuery{}); return err },
		"changes":  func() error { _, err := s.Changes(t.Context(), "t", selvage.ChangeQuery{}); return err },
		"state":    func() error { _, err := s.State(t.Context(), "t", 0); return err },
		"replay":   func() error { _, err := s.Append(t.Context(), "t", said("a", "hello"), selvage.Any()); return err },
	} {
		err := read()
		var damaged *selvage.CorruptError
		switch {
		case errors.As(err, &damaged):
			noticed = true
			if damaged.Thread != "t" || damaged.Version != 1 {
				t.Errorf("%s names thread %q, version %d: %v; want \"t\", 1", what, damaged.Thread, damaged.Version, err)
			}
		case errors.Is(err, selvage.ErrCorrupt):
			t.Errorf("%s: %v (%T); want a *CorruptError", what, err, err)
		case err != nil && what != "replay":
			t.Errorf("%s: %v; want corrupt", what, err)
		case err == nil && what == "load":
			t.Error("a load does not notice it")
		}
	}
	if !noticed {
		t.Error("nothing noticed it")
	}
}
