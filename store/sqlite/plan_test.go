package sqlite_test

import (
	"database/sql/driver"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// scan matches a step of a query plan that goes through a whole table. What
// walks a chain, row by row, scans the chain itself.
var scan = regexp.MustCompile(`SCAN (\w+)`)

// TestNothingIsScanned asks how SQLite runs each statement of the hot path.
func TestNothingIsScanned(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	for name, query := range sqlite.Queries() {
		plan := explain(t, s, query)
		for _, m := range scan.FindAllStringSubmatch(plan, -1) {
			if m[1] != "chain" {
				t.Errorf("%s scans %s:\n%s\n%s", name, m[1], query, plan)
			}
		}
		if plan == "" {
			t.Errorf("%s has no plan: %s", name, query)
		}
	}
}

func explain(t *testing.T, s *sqlite.Store, query string) string {
	t.Helper()
	var plan strings.Builder
	rows, err := s.Ask("EXPLAIN QUERY PLAN "+query, make20()[:s.Params(query)]...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for _, row := range rows {
		fmt.Fprintln(&plan, row[3])
	}
	return plan.String()
}

// TestAppendIsFlat counts what a warm append does, early and late in the life
// of a thread.
func TestAppendIsFlat(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	v := selvage.Version(0)
	turn := func() (statements, rows int64) {
		set := selvage.ChangeSet{ID: selvage.NewID(), Messages: []selvage.Message{
			{ID: selvage.NewID(), Role: selvage.RoleUser, Content: selvage.Text("hello")},
			{ID: selvage.NewID(), Role: selvage.RoleAssistant, Content: selvage.Text("hello yourself")}}}
		before := s.Stats()
		v = appendTo(t, s, "t", set, selvage.Exact(v)).Version
		after := s.Stats()
		return after.Statements - before.Statements, after.Rows - before.Rows
	}
	for v < 1500 {
		statements, rows := turn()
		// Begin, ids, head, change, commit; 3 ids, a head and a change.
		wantStatements, wantRows := int64(5), int64(5)
		if v%sqlite.MarkEvery == 0 {
			wantStatements, wantRows = 6, 6
		}
		if v > 1 && (statements != wantStatements || rows != wantRows) {
			t.Fatalf("version %d took %d statements and %d rows; want %d and %d", v, statements, rows, wantStatements, wantRows)
		}
	}
}

// TestLoadIsFlat counts what a load asks for at different lengths of the log.
func TestLoadIsFlat(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	counts := make(map[selvage.ThreadID]int64)
	for id, n := range map[selvage.ThreadID]int{"short": 20, "long": 1500} {
		for v := range n {
			appendTo(t, s, id, say("hello"), selvage.Exact(selvage.Version(v)))
		}
		window := 10
		before := s.Stats().Statements
		if h, err := s.Load(t.Context(), id, selvage.LoadOptions{Messages: &window}); err != nil || len(h.Messages) != window {
			t.Fatalf("%d messages, %v", len(h.Messages), err)
		}
		counts[id] = s.Stats().Statements - before
	}
	if counts["short"] != counts["long"] {
		t.Errorf("a load takes %d statements early and %d late", counts["short"], counts["long"])
	}
}

// TestLogStaysShort appends much more than the log may hold.
func TestLogStaysShort(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	text := strings.Repeat("x", 200<<10)
	for v := range 200 {
		appendTo(t, s, "t", say(text), selvage.Exact(selvage.Version(v)))
	}
	stats := s.Stats()
	if stats.Pages < 4*sqlite.CheckpointAfter {
		t.Fatalf("%d pages were written; the test shows little", stats.Pages)
	}
	waitFor(t, func() bool { return s.Stats().Checkpoints >= 3 })
	if size := fileSize(t, s.Path()+"-wal"); size > 4*sqlite.CheckpointAfter*4096 {
		t.Errorf("after 40 MiB of change sets the log has %d bytes; want it to start over every %d", size, sqlite.CheckpointAfter*4096)
	}
}

// TestQuietStoreCopiesItsLog leaves a store alone after one append.
func TestQuietStoreCopiesItsLog(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	appendTo(t, s, "t", say("hello"), selvage.New())
	waitFor(t, func() bool { return s.Stats().Checkpoints == 1 })
	waitFor(t, func() bool {
		rows, err := s.Ask("SELECT count(*) FROM changes")
		return err == nil && rows[0][0] == int64(1)
	})
}

func make20() []driver.Value {
	args := make([]driver.Value, 64)
	for i := range args {
		args[i] = int64(1)
	}
	return args
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
