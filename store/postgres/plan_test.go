package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/postgres"
)

// The statements that run all the time find their rows by index, however many
// others there are: with sequential scans made dear, none may be left in a plan.
func TestHotQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := open(t, url)
	for i := range 20 {
		set := selvage.ChangeSet{ID: "first", Runs: []selvage.RunUpdate{{ID: selvage.RunID(fmt.Sprint(i)), Status: selvage.RunRunning}}}
		if _, err := s.Append(t.Context(), selvage.ThreadID(fmt.Sprint(i)), set, selvage.New()); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, set := range []string{`ANALYZE`, `SET enable_seqscan = off`, `SET plan_cache_mode = force_generic_plan`} {
		if _, err := conn.Exec(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	for name, sql := range postgres.HotStatements() {
		plan := explain(t, conn, sql)
		for line := range strings.Lines(plan) {
			if strings.Contains(line, "Seq Scan") {
				t.Errorf("%s scans a whole table:\n%s", name, plan)
				break
			}
		}
		if name == "append" && strings.Contains(plan, "Sort") {
			t.Errorf("an append sorts:\n%s", plan)
		}
	}
}

func explain(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	// A prepared statement, because there are no values to explain it with.
	prepared, err := conn.Prepare(t.Context(), "", sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL,", len(prepared.ParamOIDs)), ",")
	if nulls != "" {
		nulls = "(" + nulls + ")"
	}
	if _, err := conn.Exec(t.Context(), "DEALLOCATE ALL; PREPARE q AS "+sql); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN (COSTS OFF) EXECUTE q"+nulls, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}

// An append rewrites its head in place and never touches an index of it.
func TestHeadsAreRewrittenInPlace(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t, template) // whose counters begin at zero
	s := open(t, url)
	const appends = 50
	for i := range appends {
		pre := selvage.Any()
		if i == 0 {
			pre = selvage.New()
		}
		if _, err := s.Append(t.Context(), "t", said(fmt.Sprint(i), "hello"), pre); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil { // the server's counters are complete when its sessions end
		t.Fatal(err)
	}
	const updates = `SELECT coalesce(sum(n_tup_upd), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = 'selvage' AND relname = 'threads'`
	eventually(t, "that the server has counted", func() bool { return query[int64](t, url, updates) >= appends-1 })
	if n := query[int64](t, url, strings.ReplaceAll(updates, "n_tup_upd", "n_tup_upd - n_tup_hot_upd")); n != 0 {
		t.Errorf("%d of %d updates of a head were not in place", n, appends-1)
	}
}

// A state document is kept once the log has run ahead, a reader starts from
// it, and one that was damaged costs nothing but time.
func TestStateIsKept(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := open(t, url)
	const appends = 300
	for i := range appends {
		pre := selvage.Any()
		if i == 0 {
			pre = selvage.New()
		}
		set := selvage.ChangeSet{Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set(state.Pointer(fmt.Sprintf("/%d", i%7)), state.Int(int64(i)))}}}}
		if _, err := s.Append(t.Context(), "t", set, pre); err != nil {
			t.Fatal(err)
		}
	}
	want, err := s.State(t.Context(), "t", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := query[int](t, url, `SELECT count(*) FROM selvage.state_cache`); n < 1 || n > 2 {
		t.Errorf("%d documents are kept after %d appends; want 1 or 2", n, appends)
	}
	if n := query[int64](t, url, `SELECT max(version) FROM selvage.state_cache`); n < appends-100 {
		t.Errorf("the newest document that is kept is of version %d of %d", n, appends)
	}
	check := func(what string) {
		t.Helper()
		fresh := open(t, url)
		h, err := fresh.Load(t.Context(), "t", selvage.LoadOptions{})
		if err != nil || h.State.String() != want.String() {
			t.Errorf("%s: load answers %s, %v; want %s", what, h.State, err, want)
		}
		for _, v := range []selvage.Version{1, 100, appends - 1} {
			doc, err := fresh.State(t.Context(), "t", v)
			if err != nil || !strings.Contains(doc.String(), fmt.Sprint(int(v)-1)) {
				t.Errorf("%s: state at version %d is %s, %v", what, v, doc, err)
			}
		}
	}
	check("whole")
	const flip = `UPDATE selvage.changes SET salt = set_byte(salt, 0, get_byte(salt, 0) # 1) WHERE version <= 100`
	execIn(t, url, flip) // what is before the kept document is not read
	if h, err := open(t, url).Load(t.Context(), "t", selvage.LoadOptions{}); err != nil || h.State.String() != want.String() {
		t.Errorf("load with a log that cannot be read at its beginning: %s, %v", h.State, err)
	}
	execIn(t, url, flip)
	execIn(t, url, `UPDATE selvage.state_cache SET doc = '{"0":-1}'`)
	check("damaged")
	execIn(t, url, `DELETE FROM selvage.state_cache`)
	check("lost")
}

// Many changes without messages between the last messages do not hide them.
func TestMessagesFarApart(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	if _, err := s.Append(t.Context(), "t", said("first", "far back"), selvage.New()); err != nil {
		t.Fatal(err)
	}
	for range 400 {
		if _, err := s.Append(t.Context(), "t", selvage.ChangeSet{}, selvage.Any()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Append(t.Context(), "t", said("last", "near"), selvage.Any()); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		h, err := s.Load(t.Context(), "t", selvage.LoadOptions{Messages: &n})
		if err != nil || len(h.Messages) != n || n > 0 && h.Messages[n-1].Text() != "near" || n > 1 && h.Messages[0].Text() != "far back" {
			t.Errorf("the last %d messages are %d: %v, %v", n, len(h.Messages), h.Messages, err)
		}
	}
}
