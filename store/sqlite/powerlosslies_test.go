package sqlite_test

import (
	"testing"

	"github.com/selvagehq/selvage/store/sqlite"
)

// toll is what the outages of a machine did.
type toll struct {
	images, missing, damaged int
	first                    string // the first loss
}

func (m *machine) toll(n int, seed uint64) (all toll) {
	m.t.Helper()
	m.work()
	for _, o := range m.d.outages(n, seed) {
		missing, err := m.suffer(o)
		all.images++
		all.missing += missing
		if err != nil {
			all.damaged++
		}
		if all.first == "" && (missing > 0 || err != nil) {
			all.first = o.String()
		}
	}
	return all
}

// TestPowerLossShowsALie proves that the images would show a store that does
// not force its log to the disk, tells of changes before they are made, or
// leaves a new directory to luck. A store that promises to survive the death of
// the process alone loses changes, and still tears none.
func TestPowerLossShowsALie(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		durability sqlite.Durability
		change     func(*machine)
		whole      bool // it must lose changes only, and damage nothing
	}{
		"synchronous=OFF":         {durability: sqlite.Ephemeral},
		"synchronous=NORMAL":      {durability: sqlite.CrashSafe, whole: true},
		"told before it is made":  {change: func(m *machine) { m.lie = true }, whole: true},
		"directories not synced":  {change: func(m *machine) { m.opts = m.opts.On(m.d.connect, m.d.pool, func(string) error { return nil }) }, whole: true},
		"syncs that do not do it": {change: func(m *machine) { m.d.fail(pretendSync) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const seed = 5
			m := newMachine(t, sqlite.Options{Readers: 2, Durability: test.durability})
			if test.change != nil {
				test.change(m)
			}
			toll := m.toll(60, seed)
			t.Logf("seed %d, %d images: %d acknowledged changes missing, %d damaged; first: %s", seed, toll.images, toll.missing, toll.damaged, toll.first)
			if toll.missing == 0 {
				t.Error("no acknowledged change is missing; want the lie found")
			}
			if test.whole && toll.damaged > 0 {
				t.Error("a database is damaged; want changes missing, and nothing torn")
			}
		})
	}
}
