package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/postgres"
)

func watcherOf(t *testing.T, s selvage.Store) selvage.Watcher {
	t.Helper()
	w, ok := selvage.As[selvage.Watcher](s)
	if !ok {
		t.Fatalf("a %T offers no Watcher", s)
	}
	return w
}

// openTx begins a transaction of somebody else's, which ends with the test.
func openTx(t *testing.T, url string) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) }) // rolls back what is left
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// numbered is openTx for a transaction that has a number already.
func numbered(t *testing.T, url string) pgx.Tx {
	t.Helper()
	tx := openTx(t, url)
	if _, err := tx.Exec(t.Context(), `SELECT pg_current_xact_id()`); err != nil {
		t.Fatal(err)
	}
	return tx
}

func mustAppend(t *testing.T, s *postgres.Store, id selvage.ThreadID, pre selvage.Precondition) {
	t.Helper()
	if _, err := s.Append(t.Context(), id, said("", "hello"), pre); err != nil {
		t.Fatal(err)
	}
}

// rest follows the feed to the first change of the thread "last", which is
// appended for that, and returns what came before it.
func rest(t *testing.T, s *postgres.Store, after selvage.FeedPosition) (seen []string) {
	t.Helper()
	mustAppend(t, s, "last", selvage.New())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for item, err := range selvage.FollowFeed(ctx, watcherOf(t, s), after) {
		if err != nil {
			t.Fatalf("following the feed: %v, after %v", err, seen)
		}
		if item.Change.ThreadID == "last" {
			return seen
		}
		seen = append(seen, fmt.Sprintf("%s@%d", item.Change.ThreadID, item.Change.Version))
	}
	return nil
}

// slowCommitter has a reader read while a change is written and not committed,
// and returns what it gets of the feed.
func slowCommitter(t *testing.T, s *postgres.Store, url string) (seen []string) {
	t.Helper()
	slow := openTx(t, url)
	if _, err := s.AppendTx(t.Context(), slow, "slow", said("", "hello"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, "fast", selvage.New())
	page, err := watcherOf(t, s).Feed(t.Context(), selvage.FeedQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		seen = append(seen, fmt.Sprintf("%s@%d", item.Change.ThreadID, item.Change.Version))
	}
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return append(seen, rest(t, s, page.Next)...)
}

// earlyNumber has a transaction that got its number first append last, and
// returns the feed of the thread.
func earlyNumber(t *testing.T, s *postgres.Store, url string) []string {
	t.Helper()
	mustAppend(t, s, "t", selvage.New())
	early := numbered(t, url)
	mustAppend(t, s, "t", selvage.Exact(1))
	if _, err := s.AppendTx(t.Context(), early, "t", said("", "hello"), selvage.Exact(2)); err != nil {
		t.Fatal(err)
	}
	if err := early.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return rest(t, s, selvage.FeedPosition{})
}

// TestFeedNeitherSkipsNorInverts does what a careless order would not stand,
// and then plants such orders to see that it shows.
func TestFeedNeitherSkipsNorInverts(t *testing.T) {
	t.Parallel()
	const ordered = `CREATE FUNCTION selvage.reorder() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.ord := (1::bigint << 48) + %s; RETURN NEW; END';
		CREATE TRIGGER reorder BEFORE INSERT OR UPDATE ON selvage.threads FOR EACH ROW EXECUTE FUNCTION selvage.reorder()`
	for _, tt := range []struct {
		name  string
		plant func(t *testing.T, s *postgres.Store, url string)
		read  func(*testing.T, *postgres.Store, string) []string
		want  string
		sound bool
	}{
		{"slow committer", nil, slowCommitter, "[slow@1 fast@1]", true},
		{"early number", nil, earlyNumber, "[t@1 t@2 t@3]", true},
		{"slow committer, no horizon", func(_ *testing.T, s *postgres.Store, _ string) { s.ForgetHorizon() }, slowCommitter, "[slow@1 fast@1]", false},
		{"slow committer, a sequence", func(t *testing.T, _ *postgres.Store, url string) {
			execIn(t, url, `CREATE SEQUENCE selvage.places; `+fmt.Sprintf(ordered, `nextval(''selvage.places'')`))
		}, slowCommitter, "[slow@1 fast@1]", false},
		{"early number, its own alone", func(t *testing.T, _ *postgres.Store, url string) {
			execIn(t, url, fmt.Sprintf(ordered, `pg_current_xact_id()::text::bigint`))
		}, earlyNumber, "[t@1 t@2 t@3]", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := cluster.Database(t, template)
			s := open(t, url)
			if tt.plant != nil {
				tt.plant(t, s, url)
			}
			got := fmt.Sprint(tt.read(t, s, url))
			if tt.sound != (got == tt.want) {
				t.Errorf("the feed is %s; want %s: %v", got, tt.want, tt.sound)
			}
		})
	}
}

// TestForeignTransactionDelaysTheFeed holds a transaction of another database
// open: the feed comes late, tells so, and loses nothing.
func TestForeignTransactionDelaysTheFeed(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	w := watcherOf(t, s)
	mustAppend(t, s, "t", selvage.New())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first, err := w.Feed(ctx, selvage.FeedQuery{Wait: true})
	if err != nil || len(first.Items) != 1 {
		t.Fatalf("the feed of one change: %+v, %v", first, err)
	}
	foreign := numbered(t, database(t))
	for v := range selvage.Version(20) {
		mustAppend(t, s, "t", selvage.Exact(v+1))
	}
	if page, err := w.Events(ctx, "t", selvage.EventQuery{After: selvage.Version(1).End()}); err != nil || len(page.Items) != 20 {
		t.Errorf("the events of the thread beside a foreign transaction: %d, %v; want all 20 at once", len(page.Items), err)
	}
	held, err := w.Feed(ctx, selvage.FeedQuery{After: first.Next})
	if err != nil || len(held.Items) != 0 || held.Next != first.Next || held.Behind <= 0 {
		t.Fatalf("the feed beside a foreign transaction: %d changes, next %s, behind %v, %v; want none, and it told", len(held.Items), held.Next, held.Behind, err)
	}
	end, err := w.End(ctx)
	if err != nil || end != first.Next {
		t.Errorf("the end of the feed beside a foreign transaction is %s, %v; want %s: what was not shown comes after it", end, err, first.Next)
	}
	waited := make(chan selvage.FeedPage, 1)
	go func() {
		page, err := w.Feed(ctx, selvage.FeedQuery{After: first.Next, Wait: true})
		if err != nil {
			t.Errorf("waiting for the feed: %v", err)
		}
		waited <- page
	}()
	if err := foreign.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	page := <-waited
	for page.More || len(page.Items) < 20 {
		more, err := w.Feed(ctx, selvage.FeedQuery{After: page.Next, Wait: true})
		if err != nil {
			t.Fatal(err)
		}
		page.Items, page.Next, page.More = append(page.Items, more.Items...), more.Next, more.More
	}
	for i, item := range page.Items {
		if item.Change.Version != selvage.Version(i+2) {
			t.Errorf("change %d of the feed is version %d; want %d", i, item.Change.Version, i+2)
		}
	}
}

// TestOneTransactionOfManyTenants has changes of several tenants share one
// place in the order.
func TestOneTransactionOfManyTenants(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := open(t, url)
	names := []string{"a", "b", "c"}
	scoped := make(map[string]*postgres.Store)
	for _, name := range names {
		tenant, err := s.Tenant(name)
		if err != nil {
			t.Fatal(err)
		}
		scoped[name] = tenant.(*postgres.Store)
	}
	after := make(map[string]selvage.FeedPosition)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for round := range selvage.Version(3) {
		tx := openTx(t, url)
		for _, id := range []selvage.ThreadID{"one", "two"} {
			for _, name := range names {
				if _, err := scoped[name].AppendTx(ctx, tx, id, said("", "hello"), selvage.Exact(round)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		one := 1
		for _, name := range append(names, "") {
			store, want := scoped[name], 2
			if name == "" {
				store, want = s, 6
			}
			seen := make(map[string]int)
			for n := 0; n < want; {
				page, err := watcherOf(t, store).Feed(ctx, selvage.FeedQuery{After: after[name], Limit: &one, Wait: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range page.Items {
					seen[fmt.Sprint(item.Tenant, item.Change.ThreadID, item.Change.Version)]++
					n++
				}
				after[name] = page.Next
			}
			if len(seen) != want {
				t.Errorf("round %d: the feed of %q shows %v; want %d different changes", round, name, seen, want)
			}
		}
	}
}

// TestListensWhileSomebodyWaits looks for the connection that hears hints.
func TestListensWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t, template)
	s := open(t, url)
	mustAppend(t, s, "t", selvage.New())
	listeners := func() int64 {
		return query[int64](t, url, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
	}
	if n := listeners(); n != 0 {
		t.Fatalf("%d connections listen and nobody waits", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := watcherOf(t, s).Events(ctx, "t", selvage.EventQuery{After: selvage.Version(1).End(), Wait: true})
		ended <- err
	}()
	eventually(t, "that the store listens", func() bool { return listeners() == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was cancelled: %v", err)
	}
	eventually(t, "that the store does not listen any more", func() bool { return listeners() == 0 })
}

// TestHintsAreFew counts what a burst of appends tells others.
func TestHintsAreFew(t *testing.T) {
	t.Parallel()
	url := database(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), "LISTEN selvage_changes"); err != nil {
		t.Fatal(err)
	}
	s := open(t, url)
	began := time.Now()
	mustAppend(t, s, "t", selvage.New())
	const appends = 300
	for v := range selvage.Version(appends) {
		mustAppend(t, s, "t", selvage.Exact(v+1))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := conn.WaitForNotification(ctx); err != nil {
		t.Fatalf("no hint came: %v", err)
	}
	if err := s.Close(); err != nil { // tells no more
		t.Fatal(err)
	}
	hints, most := 1, int(time.Since(began)/(5*time.Millisecond))+1
	if _, err := conn.Exec(ctx, "NOTIFY selvage_changes, 'last'"); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n.Payload == "last" {
			break
		}
		hints++
	}
	if hints > most {
		t.Errorf("%d appends in %v gave %d hints; want one in 5 ms at most", appends, time.Since(began), hints)
	}
}

// TestWaitOutlivesConnections cuts every connection of a store on which
// somebody waits.
func TestWaitOutlivesConnections(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t, template)
	s, other := open(t, url), open(t, url)
	mustAppend(t, s, "t", selvage.New())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan error, 1)
	go func() {
		page, err := watcherOf(t, s).Events(ctx, "t", selvage.EventQuery{After: selvage.Version(1).End(), Wait: true})
		if err == nil && (len(page.Items) != 1 || page.Items[0].Position.Version != 2) {
			err = fmt.Errorf("it answers %+v", page)
		}
		got <- err
	}()
	const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	eventually(t, "that somebody listens", func() bool {
		return query[int64](t, url, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`) == 1
	})
	execIn(t, url, cut)
	mustAppend(t, other, "t", selvage.Exact(1))
	if err := <-got; err != nil {
		t.Errorf("waiting for an event while the connections broke: %v", err)
	}
}

// TestOwnCommitsWakeWithoutLooking waits where nobody looks at the database:
// what the store itself commits is enough to end the wait.
func TestOwnCommitsWakeWithoutLooking(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	s.Deafen()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	mustAppend(t, s, "t", selvage.New())
	for v := selvage.Version(1); v < 30; v++ {
		woken := make(chan error, 1)
		go func() {
			_, err := watcherOf(t, s).Events(ctx, "t", selvage.EventQuery{After: v.End(), Wait: true})
			woken <- err
		}()
		mustAppend(t, s, "t", selvage.Exact(v))
		if err := <-woken; err != nil {
			t.Fatalf("waiting for version %d: %v", v+1, err)
		}
	}
}
