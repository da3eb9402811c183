package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// orders makes a table of the test's own in the file.
func orders(t testing.TB, s *sqlite.Store) {
	t.Helper()
	_, err := s.AppendTx(t.Context(), "setup", say("tables"), selvage.New(), func(tx *sqlite.Tx) error {
		_, err := tx.Exec(`CREATE TABLE orders (n INTEGER PRIMARY KEY, what TEXT NOT NULL)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ordered is how many orders there are.
func ordered(t testing.TB, s *sqlite.Store) int {
	t.Helper()
	rows, err := s.Ask(`SELECT count(*) FROM orders`)
	if err != nil {
		t.Fatal(err)
	}
	return int(rows[0][0].(int64))
}

func order(what string) func(*sqlite.Tx) error {
	return func(tx *sqlite.Tx) error {
		_, err := tx.Exec(`INSERT INTO orders (what) VALUES (?)`, what)
		return err
	}
}

func TestAppendTxCommitsBoth(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	orders(t, s)
	set := say("buy a boat")
	set.ID = "set-1"
	r, err := s.AppendTx(t.Context(), "t", set, selvage.New(), func(tx *sqlite.Tx) error {
		if tx.Receipt().Version != 1 {
			t.Errorf("inside, the receipt says version %d; want 1", tx.Receipt().Version)
		}
		return order("boat")(tx)
	})
	if err != nil || r.Version != 1 || ordered(t, s) != 1 {
		t.Fatalf("version %d, %d orders, %v; want 1, 1 and no error", r.Version, ordered(t, s), err)
	}
	again, err := s.AppendTx(t.Context(), "t", set, selvage.New(), order("another boat"))
	if err != nil || !again.Replayed || again.Hash != r.Hash || ordered(t, s) != 1 {
		t.Errorf("the same set again: %+v, %d orders, %v; want the first receipt and nothing ordered", again, ordered(t, s), err)
	}
}

func TestAppendTxUndoesBoth(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	orders(t, s)
	if _, err := s.Append(t.Context(), "t", counted("0"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	sold := errors.New("sold out")
	undone := map[string]func(*sqlite.Tx) error{
		"an error":             func(tx *sqlite.Tx) error { return errors.Join(order("boat")(tx), sold) },
		"a class":              func(tx *sqlite.Tx) error { return errors.Join(order("boat")(tx), selvage.ErrNotFound) },
		"an error at once":     func(*sqlite.Tx) error { return sold },
		"a statement":          func(tx *sqlite.Tx) error { _, err := tx.Exec(`INSERT INTO orders (what) VALUES (NULL)`); return err },
		"a statement of sorts": func(tx *sqlite.Tx) error { _, err := tx.Exec(`INSERT`); return err },
	}
	for name, with := range undone {
		if _, err := s.AppendTx(t.Context(), "t", counted(name), selvage.Any(), with); err == nil {
			t.Errorf("after %s the append succeeded", name)
		} else if name == "an error" && !errors.Is(err, sold) {
			t.Errorf("after an error of the caller's the append failed with %v; want that error", err)
		}
	}
	func() {
		defer func() {
			if recover() != "overboard" {
				t.Error("a panic did not go on")
			}
		}()
		_, err := s.AppendTx(t.Context(), "t", counted("panic"), selvage.Any(), func(tx *sqlite.Tx) error {
			_ = order("boat")(tx)
			panic("overboard")
		})
		t.Errorf("a panic was swallowed: %v", err)
	}()
	if _, err := s.AppendTx(t.Context(), "t", counted("late"), selvage.Exact(9), order("boat")); !errors.Is(err, selvage.ErrConflict) {
		t.Errorf("a set at a version that is not there: %v; want a conflict, and nothing ordered", err)
	}
	if n := ordered(t, s); n != 0 {
		t.Errorf("%d orders were left behind; want none", n)
	}
	// What was to be delivered is taken back, too.
	mail := say("mail")
	mail.Outbox = []selvage.OutboxEntry{{Lane: "mail", Target: "a"}}
	if _, err := s.AppendTx(t.Context(), "t", mail, selvage.Any(), undone["an error"]); !errors.Is(err, sold) {
		t.Errorf("append: %v", err)
	}
	box, _ := selvage.As[selvage.Outbox](s)
	if page, err := box.Deliveries(t.Context(), selvage.DeliveryQuery{}); err != nil || len(page.Items) != 0 {
		t.Errorf("%d deliveries were left behind (%v); want none", len(page.Items), err)
	}
	// Nothing that was undone is remembered.
	r, err := s.Append(t.Context(), "t", counted("1"), selvage.Exact(1))
	if err != nil || r.Version != 2 || r.FirstSeq != 2 {
		t.Fatalf("append after what was undone: %+v, %v; want version 2 and seq 2", r, err)
	}
	if doc, err := s.State(t.Context(), "t", 0); err != nil || doc.String() != `{"all":["0","1"],"last":"1"}` {
		t.Errorf("state %s, %v", doc, err)
	}
}

// A fault in one caller's statements is nobody else's.
func TestAppendTxLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	orders(t, s)
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			id := selvage.ThreadID(fmt.Sprint("t-", w))
			for v := range each {
				pre := selvage.Exact(selvage.Version(v))
				switch w % 3 {
				case 0:
					if _, err := s.Append(t.Context(), id, say("hello"), pre); err != nil {
						t.Error(err)
					}
				case 1:
					if _, err := s.AppendTx(t.Context(), id, say("hello"), pre, order(string(id))); err != nil {
						t.Error(err)
					}
				case 2:
					func() {
						defer func() { _ = recover() }()
						_, _ = s.AppendTx(t.Context(), id, say("hello"), pre, func(tx *sqlite.Tx) error {
							_ = order(string(id))(tx)
							if v%2 == 0 {
								panic("overboard")
							}
							return errors.New("no")
						})
					}()
				}
			}
		})
	}
	wg.Wait()
	written := 0
	for w := range writers {
		h, err := s.Load(t.Context(), selvage.ThreadID(fmt.Sprint("t-", w)), selvage.LoadOptions{})
		switch {
		case w%3 == 2:
			if !errors.Is(err, selvage.ErrNotFound) {
				t.Errorf("a thread none of whose changes was committed: %v, version %d", err, h.Thread.Version)
			}
		case err != nil || h.Thread.Version != each:
			t.Errorf("thread %d is at version %d (%v); want %d", w, h.Thread.Version, err, each)
		case w%3 == 1:
			written += each
		}
	}
	if n := ordered(t, s); n != written {
		t.Errorf("%d orders; want %d", n, written)
	}
}

func TestAppendTxStatements(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	orders(t, s)
	var kept *sqlite.Tx
	_, err := s.AppendTx(t.Context(), "t", say("hello"), selvage.New(), func(tx *sqlite.Tx) error {
		kept = tx
		for _, query := range []string{"COMMIT", " /* now */ rollback", "INSERT INTO orders (what) VALUES ('a;b'); COMMIT", "-- note\nBEGIN", "SAVEPOINT x",
			"release x", "PRAGMA synchronous = OFF", "VACUUM", "ATTACH 'x' AS y", "END", "SELECT ';'; END"} {
			if _, err := tx.Exec(query); !errors.Is(err, selvage.ErrInvalid) {
				t.Errorf("%q: %v; want it invalid", query, err)
			}
		}
		if _, err := tx.Exec(`CREATE TRIGGER no_boats BEFORE INSERT ON orders WHEN new.what = 'boat' BEGIN SELECT raise(ABORT, 'no; boats'); END`); err != nil {
			return err
		}
		if err := order("boat")(tx); err == nil || selvage.Code(err) != "internal" {
			t.Errorf("a constraint that does not hold: %v; want an error of no class", err)
		}
		for _, what := range []string{"car", "END of 'it'; COMMIT"} {
			if err := order(what)(tx); err != nil {
				return err
			}
		}
		var all []string
		if err := tx.Query(func(r sqlite.Row) error {
			var n int
			var what string
			err := r.Scan(&n, &what)
			all = append(all, fmt.Sprint(n, " ", what))
			return err
		}, `SELECT n, what FROM orders WHERE n < ? ORDER BY n`, 10); err != nil {
			return err
		}
		if want := []string{"1 car", "2 END of 'it'; COMMIT"}; !slices.Equal(all, want) {
			t.Errorf("orders: got %q, want %q", all, want)
		}
		scanAll(t, tx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Exec(`DELETE FROM orders`); !errors.Is(err, selvage.ErrClosed) {
		t.Errorf("a transaction that is over: %v; want it closed", err)
	}
	if err := kept.QueryRow(`SELECT 1`).Scan(new(int)); !errors.Is(err, selvage.ErrClosed) {
		t.Errorf("a transaction that is over: %v; want it closed", err)
	}
}

func scanAll(t *testing.T, tx *sqlite.Tx) {
	t.Helper()
	var (
		i    int64
		text string
		raw  []byte
		yes  bool
		f    float64
		some any
		null sql.Null[string]
	)
	if err := tx.QueryRow(`SELECT 7, 'x', x'00ff', 1, 1.5, NULL, NULL`).Scan(&i, &text, &raw, &yes, &f, &some, &null); err != nil {
		t.Errorf("scan: %v", err)
	}
	if got := fmt.Sprintln(i, text, raw, yes, f, some, null.Valid); got != "7 x [0 255] true 1.5 <nil> false\n" {
		t.Errorf("scan: got %s", got)
	}
	if err := tx.QueryRow(`SELECT 1 WHERE 0`).Scan(&i); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("no row: %v", err)
	}
	for name, dest := range map[string][]any{"NULL into a string": {&text}, "too many places": {&some, &some}, "a place nobody knows": {&struct{}{}}} {
		if err := tx.QueryRow(`SELECT NULL`).Scan(dest...); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("%s: %v; want it invalid", name, err)
		}
	}
	if _, err := tx.Exec(`SELECT ?`, struct{}{}); !errors.Is(err, selvage.ErrInvalid) {
		t.Errorf("an argument that is no value: %v; want it invalid", err)
	}
}

func TestAppendTxOfATenant(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	orders(t, s)
	acme, err := s.Tenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acme.(*sqlite.Store).AppendTx(t.Context(), "t", say("hello"), selvage.New(), order("boat")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("a tenant's thread is that of all: %v", err)
	}
	if h, err := acme.Load(t.Context(), "t", selvage.LoadOptions{}); err != nil || h.Thread.Tenant != "acme" || ordered(t, s) != 1 {
		t.Errorf("a tenant's thread: %+v, %v", h.Thread, err)
	}
}

func TestAppendTxWaitsAndLeaves(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	release := s.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.AppendTx(ctx, "t", say("hello"), selvage.New(), func(*sqlite.Tx) error { return nil })
	release()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a caller whose context ended: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AppendTx(t.Context(), "t", say("hello"), selvage.New(), nil); !errors.Is(err, selvage.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// TestAppendTxCrash steps in before and after the commit: either both are
// there or neither is.
func TestAppendTxCrash(t *testing.T) {
	t.Parallel()
	for moment, want := range map[sqlite.Moment]int{sqlite.BeforeCommit: 0, sqlite.AfterCommit: 1} {
		path := filepath.Join(t.TempDir(), "selvage.db")
		s := open(t, path, sqlite.Options{})
		orders(t, s)
		crash := errors.New("crash")
		s.Probe(func(m sqlite.Moment) error {
			if m == moment {
				return crash
			}
			return nil
		})
		set := say("hello")
		set.ID = "set-1"
		if _, err := s.AppendTx(t.Context(), "t", set, selvage.New(), order("boat")); err == nil {
			t.Errorf("a crash at moment %d was not told", moment)
		}
		s.Probe(nil)
		if n := ordered(t, s); n != want {
			t.Errorf("after a crash at moment %d there are %d orders; want %d", moment, n, want)
		}
		r, err := s.AppendTx(t.Context(), "t", set, selvage.New(), order("boat"))
		if err != nil || r.Version != 1 || r.Replayed != (want == 1) || ordered(t, s) != 1 {
			t.Errorf("sent again after a crash at moment %d: %+v, %v, %d orders; want version 1 and one order", moment, r, err, ordered(t, s))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAppendTxKill kills a process between and in such transactions: there are
// always as many rows of its own as changes of its thread.
func TestAppendTxKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "selvage.db")
	for range 8 {
		killOnce(t, "orders", path, make(map[string]string))
		s := open(t, path, sqlite.Options{})
		h, err := s.Load(t.Context(), "t", selvage.LoadOptions{})
		if err != nil || int(h.Thread.Version) != ordered(t, s) {
			t.Errorf("the thread is at version %d and there are %d orders (%v); want as many", h.Thread.Version, ordered(t, s), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// orderForever is the process that is killed.
func orderForever(ctx context.Context, s *sqlite.Store) error {
	var v selvage.Version
	if h, err := s.Load(ctx, "t", selvage.LoadOptions{}); err == nil {
		v = h.Thread.Version
	}
	for ; ; v++ {
		_, err := s.AppendTx(ctx, "t", counted(fmt.Sprint(v)), selvage.Exact(v), func(tx *sqlite.Tx) error {
			if v == 0 {
				if _, err := tx.Exec(`CREATE TABLE orders (n INTEGER PRIMARY KEY, what TEXT NOT NULL)`); err != nil {
					return err
				}
			}
			return order(fmt.Sprint(v))(tx)
		})
		if err != nil {
			return err
		}
		fmt.Println("t", v+1, v)
	}
}
