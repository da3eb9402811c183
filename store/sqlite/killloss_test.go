package sqlite_test

import (
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestReplayAfterKillSurvivesPowerLoss kills a process after it wrote an
// append and before that was forced to the disk. The next process finds it in
// the log, answers the retry with its receipt, and then the power goes.
func TestReplayAfterKillSurvivesPowerLoss(t *testing.T) {
	t.Parallel()
	m := newMachine(t, sqlite.Options{})
	s := m.open()
	appendTo(t, s, "t", say("first"), selvage.New())
	set := say("second")
	set.ID = selvage.NewID()
	before := m.d.len()
	r, err := s.Append(t.Context(), "t", set, selvage.Exact(1))
	if err != nil {
		t.Fatal(err)
	}
	end := m.d.len()
	closeStore(t, s)
	replays := 0
	for n := before; n <= end; n++ {
		d := m.d.survive(t, n)
		next := &machine{t: t, d: d, path: d.root + m.path[len(m.d.root):], opts: d.options(sqlite.Options{})}
		s := next.open()
		again, err := s.Append(t.Context(), "t", set, selvage.Exact(1))
		if err != nil || again.Version != r.Version {
			t.Fatalf("killed after event %d: the retry answers %+v, %v", n, again, err)
		}
		if again.Replayed {
			replays++
		}
		d.note(acked{"t", 2, "second"})
		told := d.len() // what closing writes comes too late
		closeStore(t, s)
		for f := range numFates {
			if missing, err := next.suffer(outage{uint64(n), told, f}); missing > 0 || err != nil {
				t.Errorf("killed after event %d, replayed: %v, then the power was lost, what was not synced is %v: the append is gone, %v", n, again.Replayed, f, err)
			}
		}
	}
	if replays == 0 {
		t.Error("no process found what the one before it had not forced to the disk; the test shows nothing")
	}
}
