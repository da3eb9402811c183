package cli

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestVerifyTampered rewrites what no hash covers, in the file itself. What
// the log adds up to betrays it.
func TestVerifyTampered(t *testing.T) {
	t.Parallel()
	type tampering struct {
		version    selvage.Version // that is wrong
		statements []string
	}
	for name, tt := range map[string]tampering{
		"which message was dropped": {2, []string{`UPDATE changes SET dropped='[1]' WHERE dropped='[0]'`}},
		"the last message is hidden": {4, []string{
			`UPDATE changes SET dropped='[0]', added=0 WHERE version=4`,
			`UPDATE threads SET next_seq=next_seq-1`}},
		"whose thread it is":     {4, []string{`UPDATE threads SET user='mallory'`}},
		"how the run ended":      {4, []string{`UPDATE runs SET data=replace(data,'failed','completed')`}},
		"the run is gone":        {4, []string{`DELETE FROM runs`}},
		"when a change was":      {2, []string{`UPDATE changes SET at=at+1 WHERE version=2`}},
		"who made a change":      {3, []string{`UPDATE changes SET run='r2' WHERE version=3`}},
		"a salt":                 {2, []string{`UPDATE changes SET salt=randomblob(16) WHERE version=2`}},
		"a hash":                 {2, []string{`UPDATE changes SET hash=randomblob(32) WHERE version=2`}},
		"the hash of the head":   {4, []string{`UPDATE threads SET hash=randomblob(32)`}},
		"the last change":        {4, []string{`DELETE FROM changes WHERE version=4`}},
		"a change in the middle": {2, []string{`DELETE FROM changes WHERE version=2`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.db")
			tellThread(t, path)
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range tt.statements {
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
			_, err = verifyThread(t.Context(), s, "a")
			if f := classify(err); !errors.Is(err, selvage.ErrCorrupt) || f.details["version"] != tt.version {
				t.Errorf("verify: %v (version %v), want ErrCorrupt of version %d", err, f.details["version"], tt.version)
			}
			if n := strings.Count(err.Error(), "version"); n > 2 || strings.Count(err.Error(), "damaged") > 1 {
				t.Errorf("verify: %v; told more than once", err)
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
		{Messages: []selvage.Message{say("m3", "the incriminating one")},
			Calls: []selvage.CallUpdate{{CallID: "c", Status: selvage.CallStarted}, {CallID: "c", Status: selvage.CallSucceeded}}},
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
