package cli

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestVerifyTampered rewrites what no hash covers, in the file itself. What
// the log adds up to betrays it.
func TestVerifyTampered(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"which message was dropped": {`UPDATE changes SET dropped='[1]' WHERE dropped='[0]'`},
		"the last message is hidden": {
			`UPDATE changes SET dropped='[0]', added=0 WHERE version=4`,
			`UPDATE threads SET next_seq=next_seq-1`},
		"whose thread it is":     {`UPDATE threads SET user='mallory'`},
		"how the run ended":      {`UPDATE runs SET data=replace(data,'failed','completed')`},
		"the run is gone":        {`DELETE FROM runs`},
		"when a change was":      {`UPDATE changes SET at=at+1 WHERE version=2`},
		"who made a change":      {`UPDATE changes SET run='r2' WHERE version=3`},
		"a salt":                 {`UPDATE changes SET salt=randomblob(16) WHERE version=2`},
		"a hash":                 {`UPDATE changes SET hash=randomblob(32) WHERE version=2`},
		"the hash of the head":   {`UPDATE threads SET hash=randomblob(32)`},
		"the last change":        {`DELETE FROM changes WHERE version=4`},
		"a change in the middle": {`DELETE FROM changes WHERE version=2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.db")
			tellThread(t, path)
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range statements {
				done, err := db.Exec(statement)
				if err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
				if n, err := done.RowsAffected(); err != nil || n == 0 {
					t.Fatalf("%s: %d rows, %v", statement, n, err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := verifyThread(t.Context(), s, "a"); !errors.Is(err, selvage.ErrCorrupt) {
				t.Errorf("verify: %v, want ErrCorrupt", err)
			}
		})
	}
}

// tellThread makes a thread of four changes, one of which drops a duplicate.
func tellThread(t *testing.T, path string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	say := func(id, text string) selvage.Message {
		m := selvage.UserText(text)
		m.ID = id
		return m
	}
	pre := selvage.New()
	for _, set := range []selvage.ChangeSet{
		{Messages: []selvage.Message{say("m1", "one")}, Thread: &selvage.ThreadUpdate{UserID: new("alice")}},
		{Messages: []selvage.Message{say("m1", "one, again"), say("m2", "two")}},
		{RunID: "r", Runs: []selvage.RunUpdate{{ID: "r", Status: selvage.RunRunning},
			{ID: "r", Status: selvage.RunDone, Outcome: &selvage.Outcome{Kind: selvage.OutcomeFailed}}}},
		{Messages: []selvage.Message{say("m3", "the incriminating one")}},
	} {
		if _, err := s.Append(t.Context(), "a", set, pre); err != nil {
			t.Fatal(err)
		}
		pre = selvage.Any()
	}
	if _, err := verifyThread(t.Context(), s, "a"); err != nil {
		t.Fatalf("before anything was touched: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
