package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// plain checks that an error is one line, tells what the engine said, and
// shows no statement.
func plain(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", says)
	}
	text := err.Error()
	if strings.ContainsAny(text, "\n\t") || strings.Contains(text, "SELECT") || strings.Contains(text, "INSERT") || strings.Contains(text, "CREATE") {
		t.Errorf("the error shows a statement, or is no single line: %q", text)
	}
	if !strings.Contains(text, says) {
		t.Errorf("the error is %q; want it to say %q", text, says)
	}
}

func TestErrorsShowNoStatement(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Readers: 1})
	appendTo(t, s, "t", say("hello"), selvage.New())
	if _, err := s.Exec(`DROP TABLE runs`); err != nil {
		t.Fatal(err)
	}
	_, err := s.Runs(t.Context(), selvage.RunQuery{})
	if !errors.Is(err, selvage.ErrUnavailable) {
		t.Errorf("Runs = %v; want ErrUnavailable", err)
	}
	plain(t, err, "no such table")
	run := selvage.ChangeSet{Runs: []selvage.RunUpdate{{ID: "r", Status: selvage.RunRunning}}}
	_, err = s.Append(t.Context(), "t", run, selvage.Exact(1))
	plain(t, err, "no such table: runs")
}

// TestBrokenReadIsOneLine has two things go wrong in one read.
func TestBrokenReadIsOneLine(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	err := s.Fault(errors.Join(errors.New("the query failed"), errors.New("so did its end")))
	plain(t, err, "the query failed; so did its end")
	if !errors.Is(err, selvage.ErrUnavailable) {
		t.Errorf("%v; want ErrUnavailable", err)
	}
}

// TestBrokenMigrationIsOneLine opens a database that has a table of ours
// already.
func TestBrokenMigrationIsOneLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "selvage.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, stmt := range []string{`CREATE TABLE threads (id TEXT)`, `PRAGMA application_id = 1399155830`} {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: -1})
	if err == nil {
		closeStore(t, s)
	}
	plain(t, err, "threads already exists")
}
