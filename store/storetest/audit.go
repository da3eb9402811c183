package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func auditPromises(cfg Config) []promise {
	all := []promise{
		{"EntryComesBack", "Audit.Append: an entry comes back with every field, an id, its time and the store's tenant.", auditComesBack},
		{"NewestFirst", "Audit.Query: newest first; what one writer appended one after the other stands in that order.", auditNewestFirst},
		{"FiltersSelect", "AuditQuery: each filter selects by its field, and all together.", auditFilters},
		{"ByTime", "AuditQuery: at or after Since, and before Until.", auditByTime},
		{"RetryIsOneEntry", "Audit.Append: the same id with the same content answers the first entry, with other content it is already_exists.", auditRetry},
		{"CopiesAreOne", "Audit.Append: many copies of one entry at once are one.", auditCopies},
		{"PagesAreStable", "Audit.Query: entries appended meanwhile neither skip nor repeat others.", auditPages},
		{"CursorsAreBound", "Cursor: it belongs to its query and its store; any other, or one that was changed, is invalid.", auditCursors},
		{"PruneByAge", "Audit.Prune: the oldest first, up to a limit, and nothing from the time on.", auditPrune},
		{"StaysWhenOthersGo", "Audit: forgetting a user or deleting a thread leaves the entries.", auditStays},
		{"Limits", "Audit.Append: an entry of nobody or nothing, or with an id that is none, is invalid; too large is too_large.", auditLimits},
	}
	if cfg.Reopen != nil {
		all = append(all, promise{"SurvivesClose", "ARCHITECTURE 1: an acknowledged commit survives the end of the process, the audit log too.", auditSurvives})
	}
	if cfg.Share != nil {
		all = append(all, promise{"IsShared", "SURFACE 2: two processes may use one store at once: each sees what the other appends.", auditIsShared})
	}
	return all
}

func (k *kit) audit() selvage.Audit { k.Helper(); return offered[selvage.Audit](k) }

// did is an entry of an actor that no other test uses.
func did(actor, action, resource string) selvage.AuditEntry {
	return selvage.AuditEntry{Actor: actor, Action: action, Resource: resource}
}

func (k *kit) audited(e selvage.AuditEntry) selvage.AuditEntry {
	k.Helper()
	out, err := k.audit().Append(k.Context(), e)
	if err != nil {
		k.Fatalf("append to the audit log failed: %v", err)
	}
	return out
}

func (k *kit) auditPages(q selvage.AuditQuery) func(selvage.Cursor) ([]selvage.AuditEntry, selvage.Cursor, error) {
	return func(c selvage.Cursor) ([]selvage.AuditEntry, selvage.Cursor, error) {
		q := q
		q.Cursor = c
		page, err := k.audit().Query(k.Context(), q)
		return page.Items, page.Next, err
	}
}

// actions are what the entries of a query did, the newest first.
func (k *kit) actions(q selvage.AuditQuery) []string {
	k.Helper()
	out := []string{}
	for _, e := range walk(k, k.auditPages(q)) {
		out = append(out, e.Action)
	}
	return out
}

func auditComesBack(k *kit) {
	given := selvage.AuditEntry{
		Actor: "a-" + selvage.NewID(), Action: "publish", Resource: "agent/writer", Before: json.RawMessage(`{"n":9007199254740993}`), After: json.RawMessage(`"<&>"`),
		RequestID: "r1", Remote: "10.0.0.1", Error: "line one\nline two",
	}
	got := k.audited(given)
	k.isStored("the time of an entry", got.At)
	if got.ID == "" || time.Since(got.At).Abs() > time.Minute {
		k.Errorf("an entry got the id %q and the time %v; want a UUIDv7 and now", got.ID, got.At)
	}
	k.equal("entries of the actor", walk(k, k.auditPages(selvage.AuditQuery{Actor: given.Actor})), []selvage.AuditEntry{got})
	got.ID, got.At, got.Tenant = "", time.Time{}, ""
	k.equal("an entry", got, given)
}

func auditNewestFirst(k *kit) {
	actor := "a-" + selvage.NewID()
	want := []string{}
	for i := range 40 {
		want = append(want, fmt.Sprint(i))
		k.audited(did(actor, fmt.Sprint(i), "x"))
	}
	slices.Reverse(want)
	for _, limit := range []int{1, 7, 40, 100} {
		k.equal(fmt.Sprintf("entries by pages of %d", limit), k.actions(selvage.AuditQuery{Actor: actor, Limit: &limit}), want)
	}
	for limit, want := range map[int]int{0: 0, 2: 2} {
		page, err := k.audit().Query(k.Context(), selvage.AuditQuery{Actor: actor, Limit: &limit})
		if err != nil || len(page.Items) != want || page.Items == nil {
			k.Errorf("a limit of %d answers %d entries, error %v", limit, len(page.Items), err)
		}
	}
	_, err := k.audit().Query(k.Context(), selvage.AuditQuery{Limit: ptr(-1)})
	k.class("a negative limit", err, selvage.ErrInvalid)
}

func auditFilters(k *kit) {
	me, other := "a-"+selvage.NewID(), "b-"+selvage.NewID()
	request := selvage.NewID()
	for i, e := range []selvage.AuditEntry{did(me, "create", "agent/a"), did(me, "delete", "agent/a/b"), did(me, "create", "agents"), did(other, "create", "agent/a"), did(me, "create", "agent/")} {
		e.Error = fmt.Sprint(i)
		if i > 1 {
			e.RequestID = request
		}
		k.audited(e)
	}
	for what, c := range map[string]struct {
		q    selvage.AuditQuery
		want []string
	}{
		"actor":    {selvage.AuditQuery{Actor: me}, []string{"4", "2", "1", "0"}},
		"action":   {selvage.AuditQuery{Actor: me, Action: "delete"}, []string{"1"}},
		"resource": {selvage.AuditQuery{Actor: me, Resource: "agent/a"}, []string{"0"}},
		"below":    {selvage.AuditQuery{Actor: me, Resource: "agent/"}, []string{"4", "1", "0"}},
		"request":  {selvage.AuditQuery{RequestID: request}, []string{"4", "3", "2"}},
		"all":      {selvage.AuditQuery{Actor: me, Action: "create", Resource: "agent/", RequestID: request}, []string{"4"}},
		"none":     {selvage.AuditQuery{Actor: me + "x"}, []string{}},
	} {
		got := []string{}
		for _, e := range walk(k, k.auditPages(c.q)) {
			got = append(got, e.Error)
		}
		k.equal("entries by "+what, got, c.want)
	}
}

// uuidAt is a UUIDv7 of a time in the past.
func uuidAt(at time.Time, i int) string {
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return fmt.Sprintf("%s-%s-7%03x-8%s", ms[:8], ms[8:], i, selvage.NewID()[20:])
}

func auditByTime(k *kit) {
	actor, day := "a-"+selvage.NewID(), time.Now().Add(-24*time.Hour).Truncate(time.Second)
	for i := range 5 {
		e := did(actor, fmt.Sprint(i), "x")
		e.ID = uuidAt(day.Add(time.Duration(i)*time.Second), i)
		if got := k.audited(e); got.ID != e.ID || !got.At.Equal(day.Add(time.Duration(i)*time.Second)) {
			k.Errorf("an entry with the id %s got %s and the time %v", e.ID, got.ID, got.At)
		}
	}
	at := func(n time.Duration) time.Time { return day.Add(n) }
	for _, c := range []struct {
		since, until time.Time
		want         []string
	}{
		{at(time.Second), at(3 * time.Second), []string{"2", "1"}}, {at(time.Second + 1), at(3*time.Second + 1), []string{"3", "2"}},
		{at(3 * time.Second), time.Time{}, []string{"4", "3"}}, {time.Time{}, at(2 * time.Second), []string{"1", "0"}}, {at(9 * time.Second), at(time.Second), []string{}},
	} {
		k.equal(fmt.Sprintf("entries from %v to %v", c.since, c.until), k.actions(selvage.AuditQuery{Actor: actor, Since: c.since, Until: c.until, Limit: ptr(1)}), c.want)
	}
}

func auditRetry(k *kit) {
	e := did("a-"+selvage.NewID(), "create", "x")
	e.ID = selvage.NewID()
	first := k.audited(e)
	k.equal("the entry sent again", k.audited(e), first)
	k.equal("the entry sent again as it was answered", k.audited(first), first)
	for what, change := range map[string]func(*selvage.AuditEntry){
		"actor": func(e *selvage.AuditEntry) { e.Actor += "x" }, "after": func(e *selvage.AuditEntry) { e.After = json.RawMessage(`1`) },
	} {
		other := e
		change(&other)
		_, err := k.audit().Append(k.Context(), other)
		k.class("the same id with another "+what, err, selvage.ErrAlreadyExists)
	}
	k.equal("entries", k.actions(selvage.AuditQuery{Actor: e.Actor}), []string{"create"})
}

func auditCopies(k *kit) {
	e := did("a-"+selvage.NewID(), "create", "x")
	for range 5 {
		e.ID = selvage.NewID()
		k.noErrors(together(8, func(int) error {
			_, err := k.audit().Append(k.Context(), e)
			return err
		}))
	}
	k.noErrors(together(8, func(i int) error {
		_, err := k.audit().Append(k.Context(), did(e.Actor, fmt.Sprint(i), "x"))
		return err
	}))
	if n := len(k.actions(selvage.AuditQuery{Actor: e.Actor})); n != 13 {
		k.Errorf("5 entries in 8 copies each and 8 others make %d entries; want 13", n)
	}
}

func auditPages(k *kit) {
	actor := "a-" + selvage.NewID()
	for i := range 9 {
		k.audited(did(actor, fmt.Sprint(i), "x"))
	}
	var got []string
	for _, e := range walkAnd(k, k.auditPages(selvage.AuditQuery{Actor: actor, Limit: ptr(2)}), func(int, []selvage.AuditEntry) { k.audited(did(actor, "late", "x")) }) {
		got = append(got, e.Action)
	}
	k.equal("entries by pages between appends", got, []string{"8", "7", "6", "5", "4", "3", "2", "1", "0"})
}

func auditCursors(k *kit) {
	actor := "a-" + selvage.NewID()
	for range 4 {
		k.audited(selvage.AuditEntry{Actor: actor, Action: "a", Resource: "r", RequestID: "q"})
	}
	since := time.Now().Add(-time.Hour)
	q := selvage.AuditQuery{Actor: actor, Action: "a", Resource: "r", RequestID: "q", Since: since, Until: since.Add(2 * time.Hour), Limit: ptr(1)}
	c := cursor(k, k.auditPages(q))
	for what, change := range map[string]func(*selvage.AuditQuery){
		"actor": func(q *selvage.AuditQuery) { q.Actor = "" }, "action": func(q *selvage.AuditQuery) { q.Action = "" },
		"resource": func(q *selvage.AuditQuery) { q.Resource = "r/" }, "request": func(q *selvage.AuditQuery) { q.RequestID = "" },
		"since": func(q *selvage.AuditQuery) { q.Since = time.Time{} }, "until": func(q *selvage.AuditQuery) { q.Until = since },
	} {
		other := q
		change(&other)
		refuses(k, "entries by a cursor of a query with another "+what, c, k.auditPages(other))
	}
	k.cursorIsSealed("entries", c, func(c selvage.Cursor) error { _, _, err := k.auditPages(q)(c); return err })
}

func auditPrune(k *kit) {
	k = k.alone()
	day := time.Now().Add(-48 * time.Hour).Truncate(time.Second)
	for i := range 5 {
		e := did("a", fmt.Sprint(i), "x")
		e.ID = uuidAt(day.Add(time.Duration(i)*time.Second), i)
		k.audited(e)
	}
	k.audited(did("a", "now", "x"))
	before := day.Add(4 * time.Second)
	for _, c := range []struct {
		limit, removed int
		left           []string
	}{{3, 3, []string{"now", "4", "3"}}, {3, 1, []string{"now", "4"}}, {1 << 20, 0, []string{"now", "4"}}} {
		if n, err := k.audit().Prune(k.Context(), before, c.limit); err != nil || n != c.removed {
			k.Errorf("pruning up to %d removed %d, error %v; want %d", c.limit, n, err, c.removed)
		}
		k.equal("what is left", k.actions(selvage.AuditQuery{}), c.left)
	}
	_, err := k.audit().Prune(k.Context(), before, 0)
	k.class("pruning nothing", err, selvage.ErrInvalid)
}

func auditStays(k *kit) {
	id, user := k.create(says("hello")), someone()
	k.remember(note(user, "a", `1`))
	e := did("a-"+selvage.NewID(), "create", "thread/"+string(id))
	k.audited(e)
	k.delete(id, selvage.DeleteReject)
	if _, err := k.memory().Clear(k.Context(), user); err != nil {
		k.Fatalf("clear failed: %v", err)
	}
	k.equal("what is left", k.actions(selvage.AuditQuery{Actor: e.Actor}), []string{"create"})
}

func auditLimits(k *kit) {
	actor := "a-" + selvage.NewID()
	good := did(actor, "create", "x")
	for what, change := range map[string]func(*selvage.AuditEntry){
		"no actor": func(e *selvage.AuditEntry) { e.Actor = "" }, "no action": func(e *selvage.AuditEntry) { e.Action = "" },
		"a name": func(e *selvage.AuditEntry) { e.ID = "mine" }, "a UUIDv4": func(e *selvage.AuditEntry) { e.ID = "b1f0c0de-0000-4000-8000-000000000000" },
		"capitals":   func(e *selvage.AuditEntry) { e.ID = strings.ToUpper("019a0000-0000-7abc-8abc-0000000000ff") },
		"the future": func(e *selvage.AuditEntry) { e.ID = uuidAt(time.Now().Add(48*time.Hour), 1) }, "no JSON": func(e *selvage.AuditEntry) { e.After = json.RawMessage(`{`) },
		"two lines": func(e *selvage.AuditEntry) { e.Resource = "a\nb" }, "no UTF-8": func(e *selvage.AuditEntry) { e.Error = "\xff" },
		"a long name": func(e *selvage.AuditEntry) { e.Resource = strings.Repeat("x", 201) },
	} {
		e := good
		change(&e)
		_, err := k.audit().Append(k.Context(), e)
		k.class("an entry with "+what, err, selvage.ErrInvalid)
	}
	good.After = json.RawMessage(`"` + strings.Repeat("x", selvage.MaxAuditBytes) + `"`)
	_, err := k.audit().Append(k.Context(), good)
	k.class("an entry that is too large", err, selvage.ErrTooLarge)
	k.equal("entries", k.actions(selvage.AuditQuery{Actor: actor}), []string{})
}

func auditSurvives(k *kit) {
	k = k.alone()
	e := k.audited(did("a", "create", "x"))
	k = k.restart()
	k.equal("entries after a restart", walk(k, k.auditPages(selvage.AuditQuery{})), []selvage.AuditEntry{e})
}

func auditIsShared(k *kit) {
	a, b := k.pair()
	first := a.audited(did("a", "create", "x"))
	k.equal("what the other sees", walk(k, b.auditPages(selvage.AuditQuery{})), []selvage.AuditEntry{first})
	k.equal("the entry sent again through the other", b.audited(first), first)
}
