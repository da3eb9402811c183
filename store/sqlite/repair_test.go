package sqlite_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/sqlite"
)

// worn makes a thread with everything that has rows of its own.
func worn(t *testing.T, s *sqlite.Store, id selvage.ThreadID) {
	t.Helper()
	run := selvage.RunID("run-" + id)
	pre := selvage.New()
	for i := range 70 {
		set := selvage.ChangeSet{RunID: run, Messages: []selvage.Message{{ID: string(id) + "-" + state.Int(int64(i)).String(), Role: selvage.RoleUser, Content: selvage.Text("hello")}}}
		switch i {
		case 0:
			set.Runs = []selvage.RunUpdate{{ID: run, Status: selvage.RunRunning}}
		case 1:
			set.Calls = []selvage.CallUpdate{{CallID: "c", Status: selvage.CallStarted}}
		case 2:
			set.Calls = []selvage.CallUpdate{{CallID: "c", Status: selvage.CallSucceeded}}
		case 3:
			set = selvage.ChangeSet{RunID: run, Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set("/n", state.Int(1))}}}}
		case 69:
			set.Runs = []selvage.RunUpdate{{ID: run, Status: selvage.RunDone, Outcome: &selvage.Outcome{Kind: selvage.OutcomeCompleted}}}
		}
		if _, err := s.Append(t.Context(), id, set, pre); err != nil {
			t.Fatal(err)
		}
		pre = selvage.Any()
	}
}

func seen(t *testing.T, s *sqlite.Store, id selvage.ThreadID) string {
	t.Helper()
	all := 100
	h, err := s.Load(t.Context(), id, selvage.LoadOptions{Messages: &all})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := s.Runs(t.Context(), selvage.RunQuery{ThreadID: id})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal([]any{h, runs})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRepair damages one view after the other and has it made again.
func TestRepair(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sql  string
		want []string
	}{
		"a title":                {`UPDATE threads SET title = 'another' WHERE id = 'a'`, []string{"head"}},
		"the end":                {`UPDATE threads SET version = 60, pos = 1 WHERE id = 'a'`, []string{"head"}},
		"an open run":            {`UPDATE threads SET run = '{"id":"x","status":"running"}' WHERE id = 'a'`, []string{"head"}},
		"a head that is no JSON": {`UPDATE threads SET metadata = '{' WHERE id = 'a'`, []string{"head"}},
		"runs":                   {`DELETE FROM runs WHERE id = 'run-a'`, []string{"runs"}},
		"a run's end":            {`UPDATE runs SET open = 1 WHERE id = 'run-a'`, []string{"runs"}},
		"calls":                  {`DELETE FROM calls`, []string{"calls"}},
		"marks":                  {`DELETE FROM marks`, []string{"marks"}},
		"links":                  {`UPDATE changes SET prev = 0, message_prev = 0 WHERE version > 3 AND thread = (SELECT key FROM threads WHERE id = 'a')`, []string{"links"}},
		"ids":                    {`DELETE FROM ids WHERE kind = 1`, []string{"ids"}},
		"an id of nothing":       {`INSERT INTO ids SELECT x'ff00', key, 1, 1 FROM threads WHERE id = 'a'`, []string{"stray ids"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, sqlite.Options{})
			worn(t, s, "a")
			before := seen(t, s, "a")
			if _, err := s.Exec(tt.sql); err != nil {
				t.Fatal(err)
			}
			s.Forget()
			for _, dry := range []bool{true, false} {
				report, told := repaired(t, s, dry)
				if report.Threads != 1 || report.Repaired != 1 || !slices.Equal(told.Changed, tt.want) || told.Version != 70 {
					t.Errorf("reported as %+v, %+v; want %v", report, told, tt.want)
				}
			}
			if after := seen(t, s, "a"); after != before {
				t.Errorf("repaired it is\n%s\nnot\n%s", after, before)
			}
			if report, told := repaired(t, s, false); report.Repaired != 0 {
				t.Errorf("a second repair finds %+v", told)
			}
			if r, err := s.Append(t.Context(), "a", selvage.ChangeSet{Messages: []selvage.Message{{ID: "a-5", Role: selvage.RoleUser}}}, selvage.Exact(70)); err != nil || r.Added != 0 {
				t.Errorf("an id of before is added again: %+v, %v", r, err)
			}
		})
	}
}

func repaired(t *testing.T, s *sqlite.Store, dry bool) (selvage.RepairReport, selvage.RepairedThread) {
	t.Helper()
	var last selvage.RepairedThread
	report, err := s.Repair(t.Context(), selvage.RepairRequest{DryRun: dry, Told: func(r selvage.RepairedThread) { last = r }})
	if err != nil {
		t.Fatal(err)
	}
	return report, last
}

// TestRepairLost leaves a thread alone whose log is damaged, and repairs the
// others.
func TestRepairLost(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	worn(t, s, "a")
	worn(t, s, "b")
	for _, sql := range []string{
		`UPDATE changes SET messages = CAST(replace(CAST(messages AS TEXT), 'hello', 'hullo') AS BLOB) WHERE version = 9 AND thread = (SELECT key FROM threads WHERE id = 'a')`,
		`UPDATE threads SET title = 'another'`,
	} {
		if _, err := s.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	s.Forget()
	told := map[selvage.ThreadID]selvage.RepairedThread{}
	report, err := s.Repair(t.Context(), selvage.RepairRequest{Told: func(r selvage.RepairedThread) { told[r.ID] = r }})
	if err != nil || report.Lost != 1 || report.Repaired != 1 {
		t.Fatalf("reported as %+v, %v", report, err)
	}
	var corrupt *selvage.CorruptError
	if !errors.As(told["a"].Lost, &corrupt) || corrupt.Version != 9 {
		t.Errorf("of the damaged log it says %v", told["a"].Lost)
	}
	if h, err := s.Load(t.Context(), "b", selvage.LoadOptions{}); err != nil || h.Thread.Title != "" {
		t.Errorf("the other thread is %+v, %v", h.Thread, err)
	}
}
