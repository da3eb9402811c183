package postgres

import (
	"strconv"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// write is one change as rows, and the one statement that writes them all.
type write struct {
	store *Store
	from  *head // what was judged
	next  *head // what comes of it
	plan  *commit.Plan
	fence *int64

	sql  strings.Builder
	args []any
}

// newWrite turns a plan into a statement.
func (s *Store) newWrite(h *head, plan *commit.Plan, r *commit.Request) (*write, error) {
	w := &write{store: s, from: h, plan: plan, args: make([]any, 0, 48)}
	if f := r.Set.Fence; f != nil {
		w.fence = &f.Epoch
	}
	w.advance(&r.Set)
	run, calls, err := w.open(&r.Set)
	if err != nil {
		return nil, err
	}
	creates := !h.Exists()
	describes := creates || r.Set.Thread != nil || len(plan.Runs) > 0
	var info []byte
	if describes {
		if info, err = encodeInfo(&plan.Next.Thread); err != nil {
			return nil, err
		}
		// What is remembered must not share anything with what was passed in.
		if err := w.next.setInfo(info); err != nil {
			return nil, err
		}
	}
	if creates {
		w.insertHead(run, calls, info)
	} else {
		w.updateHead(headUpdate{opens: len(r.Set.Runs)+len(r.Set.Calls) > 0, describes: describes}, run, calls, info)
	}
	w.insertChange(w.effect(&r.Set))
	w.insertIDs()
	if err := w.writeRuns(); err != nil {
		return nil, err
	}
	if err := w.writeCalls(); err != nil {
		return nil, err
	}
	w.insertRefs()
	w.insertOutbox()
	w.sql.WriteString(" SELECT ord FROM h")
	return w, nil
}

// advance works out the head after the change.
func (w *write) advance(set *selvage.ChangeSet) {
	next := *w.from
	next.Head = w.plan.Next
	if !w.from.Exists() {
		next = head{Head: w.plan.Next, tombstone: int64(w.from.Thread.Version), firstSeq: w.plan.Change.FirstSeq, doc: &state.Document{}}
	}
	if w.effect(set) != effectNone {
		next.stateVersion = int64(w.plan.Next.Thread.Version)
		next.tail += len(w.plan.Change.Rest)
		next.bytes += len(w.plan.Change.Rest)
	}
	if w.plan.State != nil {
		next.doc = w.plan.State
	}
	if w.plan.Rewind != 0 {
		// The document is to be kept at once: the way to it leads past what is
		// hidden.
		next.stateVersion, next.cached = int64(w.plan.Next.Thread.Version), 0
		next.tail = keepAfterBytes + next.bytes
	}
	w.next = &next
}

// effect is the set's effect on the state.
func (w *write) effect(set *selvage.ChangeSet) int16 {
	switch {
	case set.Snapshot != nil:
		return effectReplace
	case len(set.Patches) > 0:
		return effectPatch
	case w.plan.State != nil && set.Rewind == nil:
		return effectReplace // an import: the document was kept when what led there was compacted
	default:
		return effectNone
	}
}

// open encodes the open run and the open calls, and makes the head hold what
// will be read back, which shares nothing with what was passed in.
func (w *write) open(set *selvage.ChangeSet) (run, calls []byte, err error) {
	if len(set.Runs)+len(set.Calls) == 0 {
		return nil, nil, nil
	}
	if r := w.plan.Next.OpenRun; r != nil {
		if run, err = encodeRun(r); err != nil {
			return nil, nil, err
		}
	}
	if c := w.plan.Next.OpenCalls; len(c) > 0 {
		if calls, err = encodeJSON(c); err != nil {
			return nil, nil, err
		}
	}
	return run, calls, w.next.setOpen(run, calls)
}

// arg adds an argument and writes its place into the statement. Every place
// has its type, because not every protocol tells it.
func (w *write) arg(v any, kind string) {
	w.args = append(w.args, v)
	w.sql.WriteByte('$')
	var b [4]byte
	w.sql.Write(strconv.AppendInt(b[:0], int64(len(w.args)), 10))
	w.sql.WriteString("::")
	w.sql.WriteString(kind)
}

// set writes an assignment.
func (w *write) set(column string, v any, kind string) {
	w.sql.WriteString(", ")
	w.sql.WriteString(column)
	w.sql.WriteString(" = ")
	w.arg(v, kind)
}

// place is the own place in the order of the store.
const place = "$3::bigint + pg_current_xact_id()::text::bigint"

// key adds the arguments that every statement begins with.
func (w *write) key() {
	w.args = append(w.args, w.store.tenant, packID(string(w.plan.Change.ThreadID)), w.store.generation)
}

// headUpdate says which columns of the head change.
type headUpdate struct{ opens, describes bool }

// updateHead moves a head on, if it is still the one that was judged.
func (w *write) updateHead(u headUpdate, run, calls, info []byte) {
	w.key()
	t := &w.next.Thread
	w.sql.WriteString("WITH h AS (UPDATE selvage.threads t SET ord = greatest(t.ord, " + place + ")")
	w.set("version", int64(t.Version), "bigint")
	w.set("next_seq", w.next.NextSeq, "bigint")
	w.set("state_version", w.next.stateVersion, "bigint")
	w.set("updated_at", t.UpdatedAt.UnixMilli(), "bigint")
	w.set("hash", w.next.Hash[:], "bytea")
	if u.opens {
		w.set("open_run", packOptional(string(t.OpenRunID)), "bytea")
		w.set("run", run, "bytea")
		w.set("calls", calls, "bytea")
	}
	if u.describes {
		w.set("parent", packOptional(string(t.ParentID)), "bytea")
		w.set("user_id", optional(t.UserID), "text")
		w.set("expires_at", expiry(t), "bigint")
		w.set("info", info, "bytea")
	}
	if len(w.next.Rewinds) > len(w.from.Rewinds) {
		w.set("rewinds", commit.PackRewinds(w.next.Rewinds), "bytea")
	}
	if w.next.Horizon != w.from.Horizon {
		w.set("horizon", int64(w.next.Horizon), "bigint")
	}
	w.sql.WriteString(" WHERE t.tenant = $1::text AND t.thread = $2::bytea")
	w.guard()
	if w.plan.Rewind != 0 {
		// What it goes back to must not have been compacted meanwhile.
		w.sql.WriteString(" AND t.horizon = ")
		w.arg(int64(w.from.Horizon), "bigint")
	}
	w.sql.WriteString(" RETURNING t.ord)")
}

// guard is what must still hold of the head that was judged.
func (w *write) guard() {
	w.sql.WriteString(" AND t.version = ")
	w.arg(int64(w.from.Thread.Version), "bigint")
	if w.from.Thread.Version > 0 {
		w.sql.WriteString(" AND t.hash = ")
		w.arg(w.from.Hash[:], "bytea")
	}
	if w.fence != nil {
		w.sql.WriteString(" AND t.epoch = ")
		w.arg(*w.fence, "bigint")
	}
}

// insertHead makes a head, or makes one of a row that only bears a lease or a
// tombstone, if it is still the one that was judged.
func (w *write) insertHead(run, calls, info []byte) {
	w.key()
	t := &w.next.Thread
	columns := []struct {
		name, kind string
		value      any
	}{
		{"version", "bigint", int64(t.Version)}, {"next_seq", "bigint", w.next.NextSeq}, {"state_version", "bigint", w.next.stateVersion},
		{"updated_at", "bigint", t.UpdatedAt.UnixMilli()}, {"created_at", "bigint", t.CreatedAt.UnixMilli()},
		{"tombstone", "bigint", w.next.tombstone}, {"first_seq", "bigint", w.next.firstSeq}, {"horizon", "bigint", int64(w.next.Horizon)}, {"expires_at", "bigint", expiry(t)},
		{"deleted", "boolean", false}, {"hash", "bytea", w.next.Hash[:]}, {"open_run", "bytea", packOptional(string(t.OpenRunID))},
		{"run", "bytea", run}, {"calls", "bytea", calls}, {"parent", "bytea", packOptional(string(t.ParentID))},
		{"user_id", "text", optional(t.UserID)}, {"info", "bytea", info},
	}
	w.sql.WriteString("WITH h AS (INSERT INTO selvage.threads AS t (tenant, thread, ord, born")
	for _, c := range columns {
		w.sql.WriteString(", " + c.name)
	}
	w.sql.WriteString(") VALUES ($1::text, $2::bytea, " + place + ", " + place)
	for _, c := range columns {
		w.sql.WriteString(", ")
		w.arg(c.value, c.kind)
	}
	w.sql.WriteString(") ON CONFLICT (tenant, thread) DO UPDATE SET ord = greatest(t.ord, excluded.ord), born = greatest(t.ord, excluded.ord)")
	for _, c := range columns {
		w.sql.WriteString(", " + c.name + " = excluded." + c.name)
	}
	w.sql.WriteString(" WHERE true")
	w.guard()
	w.sql.WriteString(" RETURNING t.ord)")
}
