package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/postgres"
)

// orders is a table of the test's own beside the store's, and connections to
// it.
func orders(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	execIn(t, url, `DROP TABLE IF EXISTS orders`)
	execIn(t, url, `CREATE TABLE orders (what text PRIMARY KEY)`)
	return pool
}

func ordered(t testing.TB, url string) int { return query[int](t, url, `SELECT count(*) FROM orders`) }

func begin(t testing.TB, pool *pgxpool.Pool, level pgx.TxIsoLevel) pgx.Tx {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(t.Context()) }) // it may be over
	return tx
}

func order(t testing.TB, tx pgx.Tx, what string) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), `INSERT INTO orders VALUES ($1)`, what); err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAppendTxCommitsBoth(t *testing.T) {
	t.Parallel()
	url := database(t)
	s, pool := open(t, url), orders(t, url)
	tx := begin(t, pool, "")
	order(t, tx, "boat")
	first, err := s.AppendTx(t.Context(), tx, "t", said("set-1", "one"), selvage.New())
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.AppendTx(t.Context(), tx, "t", said("set-2", "two"), selvage.Exact(1))
	if err != nil || second.Version != 2 || second.FirstSeq != 2 {
		t.Fatalf("a second set in one transaction: %+v, %v", second, err)
	}
	if r, err := s.AppendTx(t.Context(), tx, "t", said("set-1", "one"), selvage.New()); err != nil || !r.Replayed || r.Hash != first.Hash {
		t.Errorf("the first set again, in the same transaction: %+v, %v", r, err)
	}
	if _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("before the commit others see the thread: %v", err)
	}
	commit(t, tx)
	h, err := s.Load(t.Context(), "t", selvage.LoadOptions{})
	if err != nil || h.Thread.Version != 2 || h.Hash != second.Hash || ordered(t, url) != 1 {
		t.Errorf("after the commit: version %d, %d orders, %v", h.Thread.Version, ordered(t, url), err)
	}
	if r, err := s.Append(t.Context(), "t", said("set-2", "two"), selvage.Exact(1)); err != nil || !r.Replayed || r.Hash != second.Hash {
		t.Errorf("the second set again, outside: %+v, %v", r, err)
	}
}

// What a rolled back transaction did is remembered nowhere.
func TestAppendTxRolledBack(t *testing.T) {
	t.Parallel()
	url := database(t)
	s, pool := open(t, url), orders(t, url)
	if _, err := s.Append(t.Context(), "t", said("set-1", "one"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		tx := begin(t, pool, "")
		order(t, tx, "boat")
		set := said("set-2", fmt.Sprint("lost ", n))
		set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Set("/lost", state.Bool(true))}}}
		set.Runs = []selvage.RunUpdate{{ID: "run", Status: selvage.RunRunning}}
		set.Outbox = []selvage.OutboxEntry{{Lane: "mail", Target: "a", DedupeKey: "mail-1", Payload: []byte(fmt.Sprint(n))}}
		if r, err := s.AppendTx(t.Context(), tx, "t", set, selvage.Any()); err != nil || r.Version != 2 || r.Replayed {
			t.Fatalf("append: %+v, %v", r, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	box, _ := selvage.As[selvage.Outbox](s)
	if page, err := box.Deliveries(t.Context(), selvage.DeliveryQuery{}); err != nil || len(page.Items) != 0 {
		t.Errorf("%d deliveries were left behind (%v); want none", len(page.Items), err)
	}
	h, err := s.Load(t.Context(), "t", selvage.LoadOptions{})
	if err != nil || h.Thread.Version != 1 || h.OpenRun != nil || h.State.String() != "{}" || ordered(t, url) != 0 {
		t.Errorf("after a rollback: version %d, run %v, state %s, %d orders, %v", h.Thread.Version, h.OpenRun, h.State, ordered(t, url), err)
	}
	if r, err := s.Append(t.Context(), "t", said("set-2", "two"), selvage.Exact(1)); err != nil || r.Version != 2 || r.Replayed || r.FirstSeq != 2 {
		t.Errorf("append after a rollback: %+v, %v", r, err)
	}
	tx := begin(t, pool, "")
	if _, err := s.AppendTx(t.Context(), tx, "new", said("set-1", "one"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "new", said("set-1", "one"), selvage.Any()); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("a thread whose creation was rolled back: %v; want not_found", err)
	}
	if _, err := s.AppendTx(t.Context(), tx, "new", said("set-1", "one"), selvage.New()); !errors.Is(err, selvage.ErrClosed) {
		t.Errorf("a transaction that is over: %v; want it closed", err)
	}
}

// A refused set leaves the caller's transaction open for more.
func TestAppendTxRefused(t *testing.T) {
	t.Parallel()
	url := database(t)
	s, pool := open(t, url), orders(t, url)
	if _, err := s.Append(t.Context(), "t", said("set-1", "one"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), "t", selvage.Owner{Name: "a"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	tx := begin(t, pool, "")
	order(t, tx, "boat")
	stale := said("", "late")
	stale.Fence = &selvage.Fence{Epoch: lease.Epoch - 1}
	broken := selvage.ChangeSet{Patches: []selvage.StatePatch{{Ops: state.Patch{state.Increment("/a/b", state.String("x"))}}}}
	for what, c := range map[string]struct {
		id   selvage.ThreadID
		set  selvage.ChangeSet
		pre  selvage.Precondition
		want error
	}{
		"a stale version":        {"t", said("", "late"), selvage.Exact(7), selvage.ErrConflict},
		"a thread that is there": {"t", said("", "late"), selvage.New(), selvage.ErrAlreadyExists},
		"a thread that is not":   {"u", said("", "late"), selvage.Any(), selvage.ErrNotFound},
		"a set of other content": {"t", said("set-1", "other"), selvage.Any(), selvage.ErrAlreadyExists},
		"a lost lease":           {"t", stale, selvage.Any(), selvage.ErrFenced},
		"a patch":                {"t", broken, selvage.Any(), selvage.ErrInvalid},
		"an id":                  {"a/b", said("", "late"), selvage.New(), selvage.ErrInvalid},
	} {
		if _, err := s.AppendTx(t.Context(), tx, c.id, c.set, c.pre); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want it to match %q", what, err, c.want)
		}
	}
	if r, err := s.AppendTx(t.Context(), tx, "t", said("set-2", "two"), selvage.Exact(1)); err != nil || r.Version != 2 {
		t.Errorf("append after what was refused: %+v, %v", r, err)
	}
	commit(t, tx)
	if h, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); err != nil || h.Thread.Version != 2 || ordered(t, url) != 1 {
		t.Errorf("after the commit: version %d, %d orders, %v", h.Thread.Version, ordered(t, url), err)
	}
}

// Transactions that commit and that roll back, among writers that use none.
func TestAppendTxUnderConcurrency(t *testing.T) {
	t.Parallel()
	url := database(t)
	s, pool := open(t, with(url, "pool_max_conns=8")), orders(t, url)
	if _, err := s.Append(t.Context(), "t", selvage.ChangeSet{Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set("/n", state.Int(0))}}}}, selvage.New()); err != nil {
		t.Fatal(err)
	}
	const writers, each = 6, 12
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				set := said(fmt.Sprint("set-", w, "-", n), "hello")
				set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Increment("/n", state.Int(1))}}}
				if w%3 == 0 {
					if _, err := s.Append(t.Context(), "t", set, selvage.Any()); err != nil {
						t.Error(err)
					}
					continue
				}
				giveUp := errors.New("no")
				err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
					if _, err := s.AppendTx(t.Context(), tx, "t", set, selvage.Any()); err != nil {
						return err
					}
					if _, err := tx.Exec(t.Context(), `INSERT INTO orders VALUES ($1)`, set.ID); err != nil {
						return err
					}
					if w%3 == 2 {
						return giveUp
					}
					return nil
				})
				if err != nil && !errors.Is(err, giveUp) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h, err := s.Load(t.Context(), "t", selvage.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const kept = writers / 3 * 2 * each
	if h.Thread.Version != 1+kept || h.State.String() != fmt.Sprintf(`{"n":%d}`, kept) || ordered(t, url) != kept/2 {
		t.Errorf("version %d, state %s, %d orders; want %d, n=%d and %d", h.Thread.Version, h.State, ordered(t, url), 1+kept, kept, kept/2)
	}
}

func TestAppendTxAtOtherLevels(t *testing.T) {
	t.Parallel()
	url := database(t)
	s, pool := open(t, url), orders(t, url)
	if _, err := s.Append(t.Context(), "t", said("set-1", "one"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	root := selvage.ThreadID("t")
	under := selvage.ChangeSet{Thread: &selvage.ThreadUpdate{ParentID: &root}}
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		tx := begin(t, pool, level)
		order(t, tx, "boat") // its view of the database is fixed
		if _, err := s.AppendTx(t.Context(), tx, "child", under, selvage.New()); !errors.Is(err, selvage.ErrUnsupported) {
			t.Errorf("%s: a parent: %v; want it unsupported", level, err)
		}
		id := selvage.ThreadID("new at " + string(level))
		if _, err := s.AppendTx(t.Context(), tx, id, said("set-1", "one"), selvage.New()); err != nil {
			t.Errorf("%s: a new thread: %v", level, err)
		}
		if _, err := s.Append(t.Context(), "t", said("", "meanwhile"), selvage.Any()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.AppendTx(t.Context(), tx, "t", said("", "late"), selvage.Any()); !errors.Is(err, selvage.ErrConflict) {
			t.Errorf("%s: a thread that was written meanwhile: %v; want a conflict", level, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tx := begin(t, pool, "")
	if _, err := s.AppendTx(t.Context(), tx, "child", under, selvage.New()); err != nil {
		t.Errorf("a parent, read committed: %v", err)
	}
	commit(t, tx)
}

// The connection dies between the append and the commit: neither is there.
func TestAppendTxKilled(t *testing.T) {
	t.Parallel()
	url := database(t)
	s, pool := open(t, url), orders(t, url)
	tx := begin(t, pool, "")
	order(t, tx, "boat")
	if _, err := s.AppendTx(t.Context(), tx, "t", said("set-1", "one"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	execIn(t, url, `SELECT pg_terminate_backend($1)`, tx.Conn().PgConn().PID())
	if _, err := s.AppendTx(t.Context(), tx, "t", said("set-2", "two"), selvage.Exact(1)); !errors.Is(err, selvage.ErrUnavailable) {
		t.Errorf("append on a connection that was killed: %v; want unavailable", err)
	}
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("the commit of a transaction that was killed succeeded")
	}
	if n := ordered(t, url); n != 0 {
		t.Errorf("%d orders are left", n)
	}
	if r, err := s.Append(t.Context(), "t", said("set-1", "one"), selvage.New()); err != nil || r.Replayed || r.Version != 1 {
		t.Errorf("the set again: %+v, %v; want it written now", r, err)
	}
}

func TestAppendTxOfATenant(t *testing.T) {
	t.Parallel()
	url := database(t)
	s, pool := open(t, url), orders(t, url)
	acme, err := s.Tenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	tx := begin(t, pool, "")
	if _, err := acme.(*postgres.Store).AppendTx(t.Context(), tx, "t", said("set-1", "one"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	commit(t, tx)
	if _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("a tenant's thread is that of all: %v", err)
	}
	if h, err := acme.Load(t.Context(), "t", selvage.LoadOptions{}); err != nil || h.Thread.Tenant != "acme" {
		t.Errorf("a tenant's thread: %+v, %v", h.Thread, err)
	}
}
