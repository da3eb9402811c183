package sqlite_test

import (
	"encoding/json"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// compare reads a thread in every way there is.
func (w *twins) compare(s *sqlite.Store, id selvage.ThreadID, after string) {
	w.t.Helper()
	got, want := w.view(s, id), w.view(w.model, id)
	for i := 0; i < max(len(got), len(want)); i++ {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			w.t.Fatalf("after %s: thread %s shows\n%.600s\nwant\n%.600s", after, id, got[min(i, len(got)):], want[min(i, len(want)):])
		}
	}
}

func (w *twins) view(s selvage.Store, id selvage.ThreadID) (lines []string) {
	w.t.Helper()
	ctx, all := w.t.Context(), 1<<20
	h, err := s.Load(ctx, id, selvage.LoadOptions{Messages: &all})
	if err != nil {
		return []string{selvage.Code(err)}
	}
	say := func(what ...any) {
		line, err := json.Marshal(what)
		if err != nil {
			w.t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	say("head", h.Thread, h.State.String(), h.Messages, h.NextSeq, h.OpenRun, h.Lease != nil)
	for _, call := range h.OpenCalls {
		say("call", call)
	}
	window := 2
	h2, err := s.Load(ctx, id, selvage.LoadOptions{Messages: &window})
	say("window", h2.Messages, selvage.Code(err))
	page := 3
	for _, q := range []selvage.MessageQuery{
		{Visibility: selvage.ShowAll}, {Order: selvage.Descending}, {After: h.NextSeq / 2}, {At: max(h.Thread.Version/2, 1), Visibility: selvage.ShowAll},
		{Before: h.NextSeq/2 + 1, Order: selvage.Descending},
	} {
		q.Limit = &page
		for more := true; more; more = q.Cursor != "" {
			p, err := s.Messages(ctx, id, q)
			say("messages", p.Items, p.Next != "", selvage.Code(err))
			q.Cursor = p.Next
		}
	}
	for v := selvage.Version(1); v <= h.Thread.Version; v += 1 + h.Thread.Version/5 {
		doc, err := s.State(ctx, id, v)
		say("state", v, doc.String(), selvage.Code(err))
	}
	q := selvage.ChangeQuery{Limit: &page}
	for more := true; more; more = q.Cursor != "" {
		p, err := s.Changes(ctx, id, q)
		say("changes", selvage.Code(err))
		for _, c := range p.Items {
			if c.Reason == selvage.ReasonDeleted || c.Reason == selvage.ReasonThreadUpdated {
				c.ID = "" // the store's own
			}
			say(c.Version, c.ID, c.Reason, c.FirstSeq, c.Added, c.Dropped)
		}
		q.Cursor = p.Next
	}
	runs, err := s.Runs(ctx, selvage.RunQuery{ThreadID: id})
	say("runs", runs.Items, selvage.Code(err))
	return lines
}

// checkOrphans looks for rows whose owner is gone.
func (w *twins) checkOrphans() {
	w.t.Helper()
	const buried = ` o JOIN threads t ON t.key = o.thread WHERE t.deleted = 1`
	for _, query := range []string{
		`SELECT count(*) FROM ids o WHERE NOT EXISTS (SELECT 1 FROM changes c WHERE c.pos = o.pos)`,
		`SELECT count(*) FROM marks o WHERE NOT EXISTS (SELECT 1 FROM changes c WHERE c.pos = o.pos)`,
		`SELECT count(*) FROM changes` + buried + ` AND o.pos <> t.pos`,
		`SELECT count(*) FROM ids` + buried, `SELECT count(*) FROM marks` + buried, `SELECT count(*) FROM runs` + buried,
		`SELECT count(*) FROM calls` + buried, `SELECT count(*) FROM state_cache` + buried,
	} {
		if n := count(w.t, w.files[0], query); n != 0 {
			w.t.Errorf("%d rows: %s", n, query)
		}
	}
}
