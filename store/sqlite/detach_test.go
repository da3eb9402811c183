package sqlite_test

import (
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestHeadIsDetached goes on using a change set after its append, and then has
// the head written again.
func TestHeadIsDetached(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	appendTo(t, s, "t", selvage.ChangeSet{Runs: []selvage.RunUpdate{{ID: "r", Status: selvage.RunRunning}}}, selvage.New())
	waits := selvage.ChangeSet{Runs: []selvage.RunUpdate{{ID: "r", Status: selvage.RunWaiting,
		Waiting: &selvage.Waiting{Reason: selvage.WaitApproval, Tickets: []string{"mine"}, Message: "may I?"}}}}
	appendTo(t, s, "t", waits, selvage.Exact(1))
	waits.Runs[0].Waiting.Tickets[0], waits.Runs[0].Waiting.Message = "another's", "changed"
	title := "a title"
	appendTo(t, s, "t", selvage.ChangeSet{Thread: &selvage.ThreadUpdate{Title: &title}}, selvage.Exact(2))
	h, err := s.Load(t.Context(), "t", selvage.LoadOptions{})
	if err != nil || h.OpenRun == nil {
		t.Fatalf("%+v, %v", h.OpenRun, err)
	}
	if w := h.OpenRun.Waiting; w.Message != "may I?" || len(w.Tickets) != 1 || w.Tickets[0] != "mine" {
		t.Errorf("the run waits for %+v; want what was appended", w)
	}
}
