package sqlite_test

import (
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestEmptyChangesCostNothing reads threads of two messages with few and with
// very many changes between them and after them, and counts the pages that
// SQLite looks at.
func TestEmptyChangesCostNothing(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral, Readers: 1})
	for id, n := range map[selvage.ThreadID]int{"short": 5, "long": 3000} {
		appendTo(t, s, id, say("hello"), selvage.New())
		for range n {
			appendTo(t, s, id, selvage.ChangeSet{}, selvage.Any())
		}
		appendTo(t, s, id, say("hello again"), selvage.Any())
		for range n {
			appendTo(t, s, id, selvage.ChangeSet{}, selvage.Any())
		}
	}
	one := 1
	page := func(q selvage.MessageQuery) func(selvage.ThreadID) (int, error) {
		return func(id selvage.ThreadID) (int, error) {
			p, err := s.Messages(t.Context(), id, q)
			return len(p.Items), err
		}
	}
	for name, read := range map[string]struct {
		run  func(selvage.ThreadID) (int, error)
		want int
	}{
		"load": {func(id selvage.ThreadID) (int, error) {
			h, err := s.Load(t.Context(), id, selvage.LoadOptions{})
			return len(h.Messages), err
		}, 2},
		"up":         {page(selvage.MessageQuery{}), 2},
		"up, first":  {page(selvage.MessageQuery{Limit: &one}), 1},
		"up, second": {page(selvage.MessageQuery{After: 1}), 1},
		"down":       {page(selvage.MessageQuery{Order: selvage.Descending}), 2},
		"down, last": {page(selvage.MessageQuery{Order: selvage.Descending, Limit: &one}), 1},
		"down, old":  {page(selvage.MessageQuery{Order: selvage.Descending, Before: 2}), 1},
	} {
		pages := func(id selvage.ThreadID) int {
			before := s.PagesRead()
			if n, err := read.run(id); n != read.want || err != nil {
				t.Errorf("%s, %s thread: %d messages, %v; want %d", name, id, n, err, read.want)
			}
			return s.PagesRead() - before
		}
		pages("short") // prepares the statements
		short, long := pages("short"), pages("long")
		// A row is found through a tree, which may be some levels higher.
		if short == 0 || long > 2*short+20 {
			t.Errorf("%s looks at %d pages of the short thread and %d of the long one", name, short, long)
		}
	}
}
