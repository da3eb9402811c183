package postgres_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/postgres"
)

func TestManyCopiesOfOneSet(t *testing.T) {
	t.Parallel()
	url := with(database(t), "pool_max_conns=4")
	stores := []*postgres.Store{open(t, url), open(t, url), open(t, url)}
	const copies = 900
	receipts := make([]selvage.Receipt, copies)
	var wg sync.WaitGroup
	for i := range copies {
		wg.Go(func() {
			var err error
			receipts[i], err = stores[i%len(stores)].Append(t.Context(), "t", said("the-set", "hello"), selvage.New())
			if err != nil {
				t.Errorf("copy %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	first := 0
	for i := range receipts {
		if !receipts[i].Replayed {
			first++
		}
		receipts[i].Replayed = false
		if fmt.Sprint(receipts[i]) != fmt.Sprint(receipts[0]) {
			t.Fatalf("copy %d was answered %+v, copy 0 %+v", i, receipts[i], receipts[0])
		}
	}
	if first != 1 || receipts[0].Version != 1 {
		t.Errorf("%d of %d copies were the first, at version %d; want one, at 1", first, copies, receipts[0].Version)
	}
}

// Sixteen writers of four processes: every change is there once, and the order
// of the whole store agrees with the order of versions.
func TestManyWritersOfOneThread(t *testing.T) {
	t.Parallel()
	base := database(t)
	url := with(base, "pool_max_conns=4")
	first := open(t, url)
	if _, err := first.Append(t.Context(), "t", selvage.ChangeSet{}, selvage.New()); err != nil {
		t.Fatal(err)
	}
	const writers, each = 16, 25
	var wg sync.WaitGroup
	for p := range 4 {
		s := first
		if p > 0 {
			s = open(t, url)
		}
		for w := range writers / 4 {
			wg.Go(func() {
				for n := range each {
					set := said(fmt.Sprintf("%d-%d-%d", p, w, n), "hello")
					set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Append("/all", state.String(set.ID))}}}
					if _, err := s.Append(t.Context(), "t", set, selvage.Any()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	h, err := open(t, url).Load(t.Context(), "t", selvage.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if h.Thread.Version != 1+writers*each || h.NextSeq != 1+writers*each {
		t.Errorf("after %d appends the thread is at version %d with next seq %d", writers*each, h.Thread.Version, h.NextSeq)
	}
	if got := strings.Count(h.State.String(), "-") / 2; got != writers*each {
		t.Errorf("the state holds %d of %d patches", got, writers*each)
	}
	if n := query[int](t, base, `SELECT count(*) FROM selvage.changes a JOIN selvage.changes b USING (tenant, thread) WHERE a.version < b.version AND a.ord > b.ord`); n > 0 {
		t.Errorf("%d changes come before an earlier version in the order of the store", n)
	}
}

// A message that another process added meanwhile is found by the unique key.
func TestMessageAddedElsewhere(t *testing.T) {
	t.Parallel()
	url := database(t)
	a, b := open(t, url), open(t, url)
	set := func(id, message string) selvage.ChangeSet {
		m := selvage.UserText(message)
		m.ID = message
		return selvage.ChangeSet{ID: id, Messages: []selvage.Message{m}}
	}
	for _, step := range []struct {
		store *postgres.Store
		set   selvage.ChangeSet
		pre   selvage.Precondition
		added int
	}{
		{a, set("1", "x"), selvage.New(), 1},
		{b, set("2", "y"), selvage.Any(), 1},
		{a, set("3", "y"), selvage.Any(), 0},
		{a, set("4", "x"), selvage.Any(), 0},
		{b, set("5", "z"), selvage.Exact(4), 1},
	} {
		r, err := step.store.Append(t.Context(), "t", step.set, step.pre)
		if err != nil || r.Added != step.added {
			t.Errorf("set %s: %d messages added, %v; want %d", step.set.ID, r.Added, err, step.added)
		}
	}
}

// What a process remembers is never what it refuses by.
func TestMemoryIsNotBelieved(t *testing.T) {
	t.Parallel()
	url := database(t)
	a, b := open(t, url), open(t, url)
	if _, err := a.Append(t.Context(), "t", said("1", "hello"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	run := selvage.RunUpdate{ID: "r", Status: selvage.RunRunning}
	if _, err := b.Append(t.Context(), "t", selvage.ChangeSet{ID: "2", Runs: []selvage.RunUpdate{run}}, selvage.Exact(1)); err != nil {
		t.Fatal(err)
	}
	// a believes the thread at version 1 without a run.
	run.Status = selvage.RunWaiting
	run.Waiting = &selvage.Waiting{Reason: selvage.WaitApproval}
	if r, err := a.Append(t.Context(), "t", selvage.ChangeSet{ID: "3", Runs: []selvage.RunUpdate{run}}, selvage.Exact(2)); err != nil || r.Version != 3 {
		t.Errorf("a set that only the database's head allows: version %d, %v; want 3", r.Version, err)
	}
	if err := a.Delete(t.Context(), "t", selvage.DeleteReject); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(t.Context(), "t", said("4", "hello"), selvage.Any()); !errors.Is(err, selvage.ErrGone) {
		t.Errorf("append to a thread that another process deleted: %v; want gone", err)
	}
	lease, err := a.Acquire(t.Context(), "u", selvage.Owner{Name: "a"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	set := said("5", "hello")
	set.Fence = lease.Fence()
	if r, err := b.Append(t.Context(), "u", set, selvage.New()); err != nil || r.Version != 1 {
		t.Errorf("append under a lease that another process took: version %d, %v; want 1", r.Version, err)
	}
}

func TestOpenedAtOnce(t *testing.T) {
	t.Parallel()
	base := cluster.Database(t, "")
	url := with(base, "pool_max_conns=2")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := query[int](t, base, `SELECT count(*) FROM selvage.migrations WHERE version_id > 0`); n != 1 {
		t.Errorf("%d migrations are recorded; want 1", n)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t, template)
	if err := open(t, url).Close(); err != nil {
		t.Fatal(err)
	}
	execIn(t, url, `INSERT INTO selvage.migrations (version_id, is_applied) VALUES (9999, true)`)
	_, err := postgres.Open(t.Context(), url, postgres.Options{})
	if !errors.Is(err, selvage.ErrUnsupported) || !strings.Contains(err.Error(), "9999") {
		t.Errorf("open a database of a newer program: %v; want unsupported, and the schema named", err)
	}
}

func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://user:hunter2@localhost:1/db?connect_timeout=2",
		"postgres://user:hunter2@local host/db",
		"postgres://user:hunter2@localhost:port/db",
		"postgres://user:hunter2@localhost/db?sslmode=hunter2",
		"user=me password=hunter2 host=/nowhere",
		"user=me password='hunter2 host=/nowhere",
		"postgres://hunter2",
	} {
		s, err := postgres.Open(t.Context(), url, postgres.Options{ConnectTimeout: 2 * time.Second})
		if err == nil {
			_ = s.Close()
			t.Fatalf("%s was opened", url)
		}
		if strings.Contains(err.Error(), "hunter2") && !strings.HasSuffix(url, "//hunter2") {
			t.Errorf("the error repeats the password: %v", err)
		}
		if !errors.Is(err, selvage.ErrInvalid) && !errors.Is(err, selvage.ErrUnavailable) {
			t.Errorf("%v; want invalid or unavailable", err)
		}
	}
}

func TestPoolIsBounded(t *testing.T) {
	t.Parallel()
	base := database(t)
	s := open(t, with(base, "pool_max_conns=3"))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			if _, err := s.Append(t.Context(), selvage.ThreadID(fmt.Sprint(i)), said("a", "hello"), selvage.New()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	const connections = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name `
	if n := query[int](t, base, connections+`<> 'selvage hints'`); n > 3 {
		t.Errorf("%d connections are open; want at most 3", n)
	}
	if n := query[int](t, base, connections+`= 'selvage hints'`); n > 1 {
		t.Errorf("%d connections are open for hints; want one, because nobody waits", n)
	}
}

func TestDeadOwnerIsSucceeded(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	owner := process.Self("crashed")
	owner.PID = child.Process.Pid
	if _, err := s.Acquire(t.Context(), "t", owner, time.Hour); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), "t", process.Self("next"), time.Hour)
	if err != nil {
		t.Fatalf("acquire what a dead process held: %v", err)
	}
	if lease.Epoch != 2 || lease.Took == nil || lease.Took.Name != "crashed" {
		t.Errorf("lease %+v; want epoch 2, taken from \"crashed\"", lease)
	}
	if _, err := s.Acquire(t.Context(), "t", process.Self("third"), time.Hour); !errors.Is(err, selvage.ErrBusy) {
		t.Errorf("acquire what a living process holds: %v; want busy", err)
	}
}

// A transaction that began before another one committed may write after it:
// its number is lower then, and its changes must not sort before.
func TestOrderFollowsTheHead(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := open(t, url)
	if _, err := s.Append(t.Context(), "t", said("1", "hello"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	execIn(t, url, `UPDATE selvage.threads SET ord = ord + 1000000`)
	if _, err := s.Append(t.Context(), "t", said("2", "hello"), selvage.Any()); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "t", selvage.DeleteReject); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "t", said("3", "hello"), selvage.Recreate()); err != nil {
		t.Fatal(err)
	}
	if n := query[int](t, url, `SELECT count(*) FROM selvage.changes c JOIN selvage.threads t USING (tenant, thread) WHERE c.ord = t.ord AND t.born = t.ord`); n != 2 {
		t.Errorf("%d of the changes after it have the order of the head; want both", n)
	}
}
