package postgres_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// TestRepair damages one view after the other and has it made again.
func TestRepair(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := open(t, url)
	raw, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close(t.Context()) }()
	id := selvage.ThreadID("a")
	for i, set := range []selvage.ChangeSet{
		{Messages: []selvage.Message{{ID: "m1", Role: selvage.RoleUser, Content: selvage.Text("hello")}}, Runs: []selvage.RunUpdate{{ID: "r", Status: selvage.RunRunning}}},
		{Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set("/n", state.Int(1))}}}, Calls: []selvage.CallUpdate{{CallID: "c", Status: selvage.CallStarted}}},
		{Calls: []selvage.CallUpdate{{CallID: "c", Status: selvage.CallSucceeded}}, Messages: []selvage.Message{{Role: selvage.RoleUser, Content: selvage.Text("again")}}},
	} {
		pre := selvage.Any()
		if i == 0 {
			pre = selvage.New()
		}
		if _, err := s.Append(t.Context(), id, set, pre); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		sql  string
		want []string
	}{
		{`UPDATE selvage.threads SET info = NULL, user_id = 'x'`, []string{"head"}},
		{`UPDATE selvage.threads SET version = 2`, []string{"head"}},
		{`DELETE FROM selvage.threads`, []string{"head"}},
		{`DELETE FROM selvage.runs`, []string{"runs"}},
		{`DELETE FROM selvage.calls`, []string{"calls"}},
		{`UPDATE selvage.changes SET effect = 0`, []string{"links"}},
		{`INSERT INTO selvage.message_ids VALUES ('', (SELECT thread FROM selvage.threads LIMIT 1), '\x00')`, []string{"ids"}},
		{`DELETE FROM selvage.message_ids`, []string{"ids"}},
	} {
		if _, err := raw.Exec(t.Context(), tt.sql); err != nil {
			t.Fatal(err)
		}
		var last selvage.RepairedThread
		for _, dry := range []bool{true, false} {
			report, err := s.Repair(t.Context(), selvage.RepairRequest{DryRun: dry, Told: func(r selvage.RepairedThread) { last = r }})
			if err != nil || report.Threads != 1 || report.Repaired != 1 || !slices.Equal(last.Changed, tt.want) {
				t.Errorf("after %s: %+v, %+v, %v; want %v", tt.sql, report, last, err, tt.want)
			}
		}
		if report, err := s.Repair(t.Context(), selvage.RepairRequest{}); err != nil || report.Repaired+report.Lost != 0 {
			t.Errorf("after %s: a second repair %+v, %v", tt.sql, report, err)
		}
		h, err := s.Load(t.Context(), id, selvage.LoadOptions{})
		if err != nil || h.Thread.Version != 3 || len(h.Messages) != 2 || h.State.String() != `{"n":1}` || h.OpenRun == nil {
			t.Errorf("after %s: %+v, %v", tt.sql, h, err)
		}
	}
	if _, err := raw.Exec(t.Context(), `UPDATE selvage.changes SET messages = overlay(messages placing 'x' from 20) WHERE version = 1`); err != nil {
		t.Fatal(err)
	}
	var last selvage.RepairedThread
	if report, err := s.Repair(t.Context(), selvage.RepairRequest{Told: func(r selvage.RepairedThread) { last = r }}); err != nil || report.Lost != 1 || !errors.Is(last.Lost, selvage.ErrCorrupt) {
		t.Errorf("with a damaged log: %+v, %+v, %v", report, last, err)
	}
}
