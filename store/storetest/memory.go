package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func memoryPromises(cfg Config) []promise {
	all := []promise{
		{"EntryComesBack", "Memory.Put: an entry comes back as it was given, byte for byte, with the store's version and times.", entryComesBack},
		{"Preconditions", "Memory.Put: Any takes whatever there is, New nothing, Exact the version; a refusal writes nothing.", memoryPreconditions},
		{"VersionsAreNotReused", "MemoryEntry: a version is not used again for the owner, also after a delete.", memoryVersions},
		{"OneWinner", "Memory.Put: of many writers at one version, and of many that create an entry, one wins.", memoryOneWinner},
		{"NothingIsLost", "Memory.Put: who reads, changes and writes at the version read loses nothing to others.", memoryNothingIsLost},
		{"DeleteOrUpdate", "Memory.Delete: a delete and an update of one version never both succeed.", memoryDeleteOrUpdate},
		{"Deleting", "Memory.Delete: under Any it may be repeated; under Exact another version, or none, is stale.", memoryDeleting},
		{"OwnersAreApart", "Memory: who reads or writes one owner never meets another's entries.", memoryOwnersAreApart},
		{"ListIsInOrder", "Memory.List: entries of one owner by namespace and key, by namespace and prefix of the key.", memoryListIsInOrder},
		{"TextIsFound", "MemoryQuery.Text: part of the key, or of a string or member name in the value, whatever its case.", memoryTextIsFound},
		{"PagesAreStable", "Memory.List: entries that are added or removed meanwhile neither skip nor repeat others.", memoryPagesAreStable},
		{"CursorsAreBound", "Cursor: it belongs to its query and its store; any other, or one that was changed, is invalid.", memoryCursors},
		{"ClearForgets", "Memory.Clear: every entry of an owner and every trace of the name goes, and nobody else's.", memoryClearForgets},
		{"OwnersAreListed", "Memory.Owners: those of whom anything is kept, by name, of a kind or of all.", memoryOwnersAreListed},
		{"ExpiredIsGone", "Memory: an entry whose time is over is as good as deleted, before and after Sweep removes it.", memoryExpiredIsGone},
		{"ThreadMemory", "ThreadMemory: it needs its thread and is deleted with it.", memoryOfThreads},
		{"Limits", "Memory.Put: a name that is none, what is no JSON, a time that is over is invalid; too large is too_large.", memoryLimits},
		{"NothingIsShared", "Store: values passed in and out are never shared.", memoryNothingIsShared},
	}
	if cfg.Reopen != nil {
		all = append(all, promise{"SurvivesClose", "ARCHITECTURE 1: an acknowledged commit survives the end of the process, memory too.", memorySurvivesClose})
	}
	if cfg.Share != nil {
		all = append(all, promise{"IsShared", "SURFACE 2: two processes may use one store at once: each sees what the other remembers, and one wins.", memoryIsShared})
	}
	return all
}

// offered finds a capability that the group of the promise needs.
func offered[C any](k *kit) C {
	k.Helper()
	c, ok := selvage.As[C](k.store)
	if !ok {
		k.Fatalf("a %T offers no %T through selvage.As", k.store, c)
	}
	return c
}

func (k *kit) memory() selvage.Memory { k.Helper(); return offered[selvage.Memory](k) }

// someone is an owner that no other test uses.
func someone() selvage.MemoryOwner { return selvage.UserMemory("u-" + selvage.NewID()) }

// note is an entry under the namespace "notes".
func note(owner selvage.MemoryOwner, key, value string) selvage.MemoryDraft {
	return selvage.MemoryDraft{MemoryName: selvage.MemoryName{Owner: owner, Namespace: "notes", Key: key}, Value: json.RawMessage(value)}
}

// remember writes an entry, which must succeed.
func (k *kit) remember(d selvage.MemoryDraft) selvage.MemoryEntry {
	k.Helper()
	e, err := k.memory().Put(k.Context(), d, selvage.Any())
	if err != nil {
		k.Fatalf("put %s/%s of %s failed: %v", d.Namespace, d.Key, d.Owner, err)
	}
	return e
}

// recall reads an entry, which must be there.
func (k *kit) recall(name selvage.MemoryName) selvage.MemoryEntry {
	k.Helper()
	e, err := k.memory().Get(k.Context(), name)
	if err != nil {
		k.Fatalf("get %s/%s of %s failed: %v", name.Namespace, name.Key, name.Owner, err)
	}
	return e
}

// forgotten checks that an entry is not there.
func (k *kit) forgotten(name selvage.MemoryName) {
	k.Helper()
	_, err := k.memory().Get(k.Context(), name)
	k.class("get what is not remembered", err, selvage.ErrNotFound)
}

// memoryPages reads the pages of a query.
func (k *kit) memoryPages(q selvage.MemoryQuery) func(selvage.Cursor) ([]selvage.MemoryEntry, selvage.Cursor, error) {
	return func(c selvage.Cursor) ([]selvage.MemoryEntry, selvage.Cursor, error) {
		q := q
		q.Cursor = c
		page, err := k.memory().List(k.Context(), q)
		return page.Items, page.Next, err
	}
}

// memoryKeys are the entries of a query as "namespace/key".
func (k *kit) memoryKeys(q selvage.MemoryQuery) []string {
	k.Helper()
	out := []string{}
	for _, e := range walk(k, k.memoryPages(q)) {
		out = append(out, e.Namespace+"/"+e.Key)
	}
	return out
}

func entryComesBack(k *kit) {
	owner := someone()
	until := time.Now().Add(time.Hour)
	for i, value := range []string{`{"b": 9007199254740993, "a" :[1.0, "<&>\u00e9é", null]}`, `"text"`, `0`, `[]`, `null`, `{"\u0000":"\ud800"}`} {
		d := note(owner, fmt.Sprint("clé ", i), value)
		d.ExpiresAt = &until
		put := k.remember(d)
		k.isStored("the time of a new entry", put.CreatedAt)
		k.isStored("the time of a write", put.UpdatedAt)
		if put.Version < 1 || string(put.Value) != value || put.MemoryName != d.MemoryName || put.ExpiresAt == nil || !put.ExpiresAt.Equal(until.Truncate(selvage.TimePrecision)) {
			k.Errorf("put of %s answers %s", value, encode(k, put))
		}
		if got := k.recall(d.MemoryName); encode(k, got) != encode(k, put) || string(got.Value) != value {
			k.Errorf("get answers %s %s; want what put answered, %s %s", encode(k, got), got.Value, encode(k, put), value)
		}
	}
	first := k.remember(note(owner, "again", `1`))
	if second := k.remember(note(owner, "again", `2`)); second.Version <= first.Version || !second.CreatedAt.Equal(first.CreatedAt) || second.UpdatedAt.Before(first.UpdatedAt) {
		k.Errorf("written again, %s becomes %s; want a greater version and the same creation", encode(k, first), encode(k, second))
	}
}

// refusesMemory checks that a put is refused and leaves the entry as it is.
func (k *kit) refusesMemory(d selvage.MemoryDraft, pre selvage.Precondition, class error) error {
	k.Helper()
	before, beforeErr := k.memory().Get(k.Context(), d.MemoryName)
	_, err := k.memory().Put(k.Context(), d, pre)
	k.class(fmt.Sprintf("put under %s", pre), err, class)
	after, afterErr := k.memory().Get(k.Context(), d.MemoryName)
	if selvage.Code(beforeErr) != selvage.Code(afterErr) || encode(k, before) != encode(k, after) {
		k.Errorf("a put was refused (%v), yet it left its mark: %s", err, difference(encode(k, after), encode(k, before)))
	}
	return err
}

func memoryPreconditions(k *kit) {
	m, owner := k.memory(), someone()
	d := note(owner, "a", `1`)
	k.stale(k.refusesMemory(d, selvage.Exact(3), selvage.ErrConflict), 3, 0)
	e, err := m.Put(k.Context(), d, selvage.New())
	if err != nil {
		k.Fatalf("put of what is not there under new failed: %v", err)
	}
	d.Value = json.RawMessage(`2`)
	k.refusesMemory(d, selvage.New(), selvage.ErrAlreadyExists)
	k.stale(k.refusesMemory(d, selvage.Exact(e.Version+1), selvage.ErrConflict), e.Version+1, e.Version)
	k.refusesMemory(d, selvage.Recreate(), selvage.ErrInvalid)
	next, err := m.Put(k.Context(), d, selvage.Exact(e.Version))
	if err != nil || next.Version <= e.Version {
		k.Fatalf("put at version %d answers version %d, error %v; want a greater one", e.Version, next.Version, err)
	}
	k.stale(k.refusesMemory(d, selvage.Exact(e.Version), selvage.ErrConflict), e.Version, next.Version)
	if got := k.recall(d.MemoryName); string(got.Value) != `2` {
		k.Errorf("the entry is %s; want 2", got.Value)
	}
}

func memoryVersions(k *kit) {
	m, d := k.memory(), note(someone(), "a", `1`)
	first := k.remember(d)
	if err := m.Delete(k.Context(), d.MemoryName, selvage.Any()); err != nil {
		k.Fatalf("delete failed: %v", err)
	}
	again := k.remember(d)
	if again.Version <= first.Version {
		k.Errorf("an entry of version %d was deleted; its successor has version %d", first.Version, again.Version)
	}
	k.refusesMemory(d, selvage.Exact(first.Version), selvage.ErrConflict)
	k.class("delete at the version of a former entry", m.Delete(k.Context(), d.MemoryName, selvage.Exact(first.Version)), selvage.ErrConflict)
}

func memoryOneWinner(k *kit) {
	m, d := k.memory(), note(someone(), "a", `0`)
	race := func(what string, pre selvage.Precondition, class error) {
		errs := together(16, func(i int) error {
			d := d
			d.Value = json.RawMessage(fmt.Sprint(i))
			_, err := m.Put(k.Context(), d, pre)
			return err
		})
		won := k.winner(what, errs, class)
		if got := k.recall(d.MemoryName); string(got.Value) != fmt.Sprint(won) {
			k.Errorf("%s was won by writer %d, and the entry is %s", what, won, got.Value)
		}
	}
	race("creating an entry", selvage.New(), selvage.ErrAlreadyExists)
	for range 3 {
		race("writing at one version", selvage.Exact(k.recall(d.MemoryName).Version), selvage.ErrConflict)
	}
}

func memoryNothingIsLost(k *kit) {
	m, d := k.memory(), note(someone(), "counter", `0`)
	k.remember(d)
	const writers, each = 6, 8
	k.noErrors(together(writers, func(int) error {
		for done := 0; done < each; {
			e, err := m.Get(k.Context(), d.MemoryName)
			if err != nil {
				return err
			}
			var n int
			if err := json.Unmarshal(e.Value, &n); err != nil {
				return err
			}
			e.Value = json.RawMessage(fmt.Sprint(n + 1))
			_, err = m.Put(k.Context(), e.MemoryDraft, selvage.Exact(e.Version))
			switch selvage.Code(err) {
			case "":
				done++
			case "conflict":
			default:
				return err
			}
		}
		return nil
	}))
	if got := k.recall(d.MemoryName); string(got.Value) != fmt.Sprint(writers*each) {
		k.Errorf("after %d increments the counter is %s", writers*each, got.Value)
	}
}

func memoryDeleteOrUpdate(k *kit) {
	m, d := k.memory(), note(someone(), "a", `0`)
	for range 10 {
		at := selvage.Exact(k.remember(d).Version)
		errs := together(2, func(i int) error {
			if i == 0 {
				return m.Delete(k.Context(), d.MemoryName, at)
			}
			_, err := m.Put(k.Context(), d, at)
			return err
		})
		if won := k.winner("deleting or updating one version", errs, selvage.ErrConflict); won == 0 {
			k.forgotten(d.MemoryName)
		}
	}
}

func memoryDeleting(k *kit) {
	m, d := k.memory(), note(someone(), "a", `1`)
	if err := m.Delete(k.Context(), d.MemoryName, selvage.Any()); err != nil {
		k.Errorf("deleting what is not there failed: %v", err)
	}
	k.stale(m.Delete(k.Context(), d.MemoryName, selvage.Exact(1)), 1, 0)
	e := k.remember(d)
	k.stale(m.Delete(k.Context(), d.MemoryName, selvage.Exact(e.Version+1)), e.Version+1, e.Version)
	for _, pre := range []selvage.Precondition{selvage.New(), selvage.Recreate()} {
		k.class("delete under "+pre.String(), m.Delete(k.Context(), d.MemoryName, pre), selvage.ErrInvalid)
	}
	k.recall(d.MemoryName)
	if err := m.Delete(k.Context(), d.MemoryName, selvage.Exact(e.Version)); err != nil {
		k.Errorf("delete at version %d failed: %v", e.Version, err)
	}
	k.forgotten(d.MemoryName)
}

func memoryOwnersAreApart(k *kit) {
	m, name := k.memory(), selvage.NewID()
	owners := []selvage.MemoryOwner{selvage.UserMemory(name), selvage.AgentMemory(name), selvage.SystemMemory(name), selvage.UserMemory(name + "x"), selvage.UserMemory(name[:30])}
	for i, owner := range owners {
		k.remember(note(owner, "a", fmt.Sprint(i)))
	}
	for i, owner := range owners {
		if got := k.recall(note(owner, "a", "").MemoryName); string(got.Value) != fmt.Sprint(i) {
			k.Errorf("%s reads %s; want its own %d", owner, got.Value, i)
		}
		k.equal("the entries of "+string(owner), k.memoryKeys(selvage.MemoryQuery{Owner: owner}), []string{"notes/a"})
	}
	if err := m.Delete(k.Context(), note(owners[0], "a", "").MemoryName, selvage.Any()); err != nil {
		k.Fatalf("delete failed: %v", err)
	}
	for _, owner := range owners[1:] {
		k.recall(note(owner, "a", "").MemoryName)
	}
}

func memoryListIsInOrder(k *kit) {
	owner := someone()
	for _, name := range []string{"b/1", "a/2", "a/10", "ab/x", "a/1", "c/é", "c/z", "a/1 x"} {
		namespace, key, _ := strings.Cut(name, "/")
		d := note(owner, key, `true`)
		d.Namespace = namespace
		k.remember(d)
	}
	all := []string{"a/1", "a/1 x", "a/10", "a/2", "ab/x", "b/1", "c/z", "c/é"}
	for limit := range 4 {
		k.equal(fmt.Sprintf("all entries by pages of %d", limit+1), k.memoryKeys(selvage.MemoryQuery{Owner: owner, Limit: ptr(limit + 1)}), all)
	}
	k.equal("one namespace", k.memoryKeys(selvage.MemoryQuery{Owner: owner, Namespace: "a"}), all[:4])
	k.equal("a prefix", k.memoryKeys(selvage.MemoryQuery{Owner: owner, Namespace: "a", Prefix: "1"}), all[:3])
	k.equal("a prefix that is a key", k.memoryKeys(selvage.MemoryQuery{Owner: owner, Namespace: "a", Prefix: "10"}), []string{"a/10"})
	k.equal("what is not there", k.memoryKeys(selvage.MemoryQuery{Owner: owner, Namespace: "none"}), []string{})
	_, err := k.memory().List(k.Context(), selvage.MemoryQuery{Owner: owner, Prefix: "1"})
	k.class("a prefix without a namespace", err, selvage.ErrInvalid)
	page, err := k.memory().List(k.Context(), selvage.MemoryQuery{Owner: owner, Limit: ptr(0)})
	if err != nil || len(page.Items) != 0 || page.Items == nil || page.Next != "" {
		k.Errorf("a limit of 0 answers %s, error %v; want an empty page", encode(k, page), err)
	}
	_, err = k.memory().List(k.Context(), selvage.MemoryQuery{Owner: owner, Limit: ptr(-1)})
	k.class("a negative limit", err, selvage.ErrInvalid)
}

func memoryTextIsFound(k *kit) {
	owner := someone()
	k.remember(note(owner, "Likes Tea", `1`))
	k.remember(note(owner, "b", `{"drinks":["a TEApot"]}`))
	k.remember(note(owner, "c", `{"steaming":true}`))
	k.remember(note(owner, "d", `{"n":[4711,"x"]}`))
	k.remember(note(owner, "e", `"\u00c9t\u00e9"`))
	for text, want := range map[string][]string{
		"tea": {"notes/Likes Tea", "notes/b", "notes/c"}, "4711": {}, "été": {"notes/e"}, "ÉTÉ": {"notes/e"}, "true": {}, "teapot": {"notes/b"}, "notes": {},
	} {
		k.equal("entries that mention "+text, k.memoryKeys(selvage.MemoryQuery{Owner: owner, Text: text, Limit: ptr(1)}), want)
	}
}

func memoryPagesAreStable(k *kit) {
	owner := someone()
	for i := range 10 {
		k.remember(note(owner, fmt.Sprint(i), `0`))
	}
	got := walkAnd(k, k.memoryPages(selvage.MemoryQuery{Owner: owner, Limit: ptr(3)}), func(page int, items []selvage.MemoryEntry) {
		k.remember(note(owner, fmt.Sprint("0 ", page), `0`)) // before all that follow
		if err := k.memory().Delete(k.Context(), items[len(items)-1].MemoryName, selvage.Any()); err != nil {
			k.Fatalf("delete failed: %v", err)
		}
	})
	var keys []string
	for _, e := range got {
		keys = append(keys, e.Key)
	}
	k.equal("keys by pages between writes", keys, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
}

func memoryCursors(k *kit) {
	owner := someone()
	for i := range 6 {
		k.remember(note(owner, fmt.Sprint("a", i), `"x"`))
	}
	q := selvage.MemoryQuery{Owner: owner, Namespace: "notes", Prefix: "a", Text: "x", Limit: ptr(2)}
	c := cursor(k, k.memoryPages(q))
	for what, change := range map[string]func(*selvage.MemoryQuery){
		"owner":     func(q *selvage.MemoryQuery) { q.Owner = someone() },
		"namespace": func(q *selvage.MemoryQuery) { q.Namespace = "other" },
		"prefix":    func(q *selvage.MemoryQuery) { q.Prefix = "" },
		"text":      func(q *selvage.MemoryQuery) { q.Text = "" },
	} {
		other := q
		change(&other)
		refuses(k, "memory by a cursor of a query with another "+what, c, k.memoryPages(other))
	}
	k.cursorIsSealed("memory", c, func(c selvage.Cursor) error { _, _, err := k.memoryPages(q)(c); return err })
	refuses(k, "threads by a cursor of memory", c, k.threadPages(selvage.ThreadQuery{}))
	other := k.alone()
	for i := range 6 {
		other.remember(note(owner, fmt.Sprint("a", i), `"x"`))
	}
	refuses(k, "memory by a cursor of another store", cursor(other, other.memoryPages(q)), k.memoryPages(q))
}

// cursorIsSealed checks that no cursor is taken that was changed or made up.
func (k *kit) cursorIsSealed(what string, c selvage.Cursor, read func(selvage.Cursor) error) {
	k.Helper()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	bad := []string{"x", "0", "{}", "%00", string(c) + "AAAA", string(c[:len(c)/2]), strings.Repeat("A", 1000), "\xff"}
	for i := 0; i < len(c); i += 3 {
		at := max(0, strings.IndexByte(alphabet, c[i]))
		bad = append(bad, string(c[:i])+string(alphabet[at^32])+string(c[i+1:]))
	}
	for _, b := range bad {
		k.class(what+" by the made-up cursor "+b, read(selvage.Cursor(b)), selvage.ErrInvalid)
	}
}

func memoryClearForgets(k *kit) {
	k = k.alone()
	m, owner, other := k.memory(), someone(), someone()
	for i := range 300 {
		k.remember(note(owner, fmt.Sprint(i), `"secret"`))
	}
	k.remember(note(other, "a", `"mine"`))
	if n, err := m.Clear(k.Context(), owner); err != nil || n != 300 {
		k.Fatalf("clearing 300 entries removed %d, error %v", n, err)
	}
	k.equal("the entries of who was cleared", k.memoryKeys(selvage.MemoryQuery{Owner: owner}), []string{})
	k.recall(note(other, "a", "").MemoryName)
	k.equal("owners", k.owners(selvage.MemoryOwnerQuery{}), []selvage.MemoryOwner{other})
	if n, err := m.Clear(k.Context(), owner); err != nil || n != 0 {
		k.Errorf("clearing nobody removed %d, error %v; want 0", n, err)
	}
	k.remember(note(owner, "a", `"anew"`))
}

// owners are the owners of a query.
func (k *kit) owners(q selvage.MemoryOwnerQuery) []selvage.MemoryOwner {
	k.Helper()
	return append([]selvage.MemoryOwner{}, walk(k, func(c selvage.Cursor) ([]selvage.MemoryOwner, selvage.Cursor, error) {
		q.Cursor = c
		page, err := k.memory().Owners(k.Context(), q)
		return page.Items, page.Next, err
	})...)
}

func memoryOwnersAreListed(k *kit) {
	k = k.alone()
	want := []selvage.MemoryOwner{"agent:b", "system:s", "user:a", "user:ab", "user:b"}
	for _, i := range []int{3, 0, 4, 1, 2, 2} {
		k.remember(note(want[i], "a", `0`))
	}
	for limit := range 3 {
		k.equal("owners", k.owners(selvage.MemoryOwnerQuery{Limit: ptr(limit + 1)}), want)
		k.equal("users", k.owners(selvage.MemoryOwnerQuery{Kind: "user", Limit: ptr(limit + 1)}), want[2:])
	}
	_, err := k.memory().Owners(k.Context(), selvage.MemoryOwnerQuery{Kind: "nobody"})
	k.class("owners of no kind", err, selvage.ErrInvalid)
	page, err := k.memory().Owners(k.Context(), selvage.MemoryOwnerQuery{Limit: ptr(1)})
	if err != nil || page.Next == "" {
		k.Fatalf("a first page of several has cursor %q, error %v", page.Next, err)
	}
	_, err = k.memory().Owners(k.Context(), selvage.MemoryOwnerQuery{Kind: "user", Cursor: page.Next})
	k.class("users by a cursor of all owners", err, selvage.ErrInvalid)
}

func memoryExpiredIsGone(k *kit) {
	k = k.alone()
	owner := someone()
	until := time.Now().Add(shortly)
	brief, long := note(owner, "brief", `"x"`), note(owner, "long", `"x"`)
	brief.ExpiresAt = &until
	first := k.remember(brief)
	k.remember(long)
	k.waitUntil(until)
	k.forgotten(brief.MemoryName)
	k.equal("what is left", k.memoryKeys(selvage.MemoryQuery{Owner: owner}), []string{"notes/long"})
	k.refusesMemory(note(owner, "brief", `1`), selvage.Exact(first.Version), selvage.ErrConflict)
	k.sweeps(1)
	k.sweeps(0)
	k.forgotten(brief.MemoryName)
	k.recall(long.MemoryName)
	if _, err := k.memory().Put(k.Context(), note(owner, "brief", `2`), selvage.New()); err != nil {
		k.Errorf("what has expired cannot be written anew: %v", err)
	}
}

// sweeps removes what has expired, which must be n records.
func (k *kit) sweeps(n int) {
	k.Helper()
	s := offered[selvage.Sweeper](k)
	if got, err := s.Sweep(k.Context(), 1<<20); err != nil || got != n {
		k.Errorf("sweep removed %d records, error %v; want %d", got, err, n)
	}
	_, err := s.Sweep(k.Context(), 0)
	k.class("sweep of nothing", err, selvage.ErrInvalid)
}

func memoryOfThreads(k *kit) {
	id := k.create(says("hello"))
	owner := selvage.ThreadMemory(id)
	k.refusesMemory(note(selvage.ThreadMemory(newID()), "a", `1`), selvage.Any(), selvage.ErrNotFound)
	k.remember(note(owner, "a", `1`))
	k.remember(note(someone(), "a", `1`))
	k.equal("what the thread remembers", k.memoryKeys(selvage.MemoryQuery{Owner: owner}), []string{"notes/a"})
	k.delete(id, selvage.DeleteReject)
	k.equal("what a deleted thread remembers", k.memoryKeys(selvage.MemoryQuery{Owner: owner}), []string{})
	k.refusesMemory(note(owner, "a", `1`), selvage.Any(), selvage.ErrNotFound)
	if slices.Contains(k.owners(selvage.MemoryOwnerQuery{Kind: "thread"}), owner) {
		k.Errorf("a deleted thread still owns memory")
	}
}

func memoryLimits(k *kit) {
	owner := someone()
	for _, name := range []selvage.MemoryName{
		{}, {Namespace: "n", Key: "k"}, {Owner: "alice", Namespace: "n", Key: "k"}, {Owner: "user:", Namespace: "n", Key: "k"}, {Owner: "robot:x", Namespace: "n", Key: "k"},
		{Owner: owner, Key: "k"}, {Owner: owner, Namespace: "n"}, {Owner: owner, Namespace: "a/b", Key: "k"}, {Owner: owner, Namespace: "n", Key: "a\x00b"},
		{Owner: owner, Namespace: "n", Key: "e\u0301"}, {Owner: owner, Namespace: strings.Repeat("n", 201), Key: "k"}, {Owner: owner, Namespace: "n", Key: "\xff"},
	} {
		_, err := k.memory().Put(k.Context(), selvage.MemoryDraft{MemoryName: name, Value: json.RawMessage(`1`)}, selvage.Any())
		k.class(fmt.Sprintf("put under the name %q", name), err, selvage.ErrInvalid)
		_, err = k.memory().Get(k.Context(), name)
		k.class(fmt.Sprintf("get under the name %q", name), err, selvage.ErrInvalid)
		k.class(fmt.Sprintf("delete under the name %q", name), k.memory().Delete(k.Context(), name, selvage.Any()), selvage.ErrInvalid)
	}
	for _, value := range []string{``, `{`, `1 2`, "\"\xff\"", `nothing`} {
		k.refusesMemory(note(owner, "k", value), selvage.Any(), selvage.ErrInvalid)
	}
	over := time.Now().Add(-time.Second)
	late := note(owner, "k", `1`)
	late.ExpiresAt = &over
	k.refusesMemory(late, selvage.Any(), selvage.ErrInvalid)
	large := `"` + strings.Repeat("x", selvage.MaxMemoryBytes-2) + `"`
	k.refusesMemory(note(owner, "k", large+" "), selvage.Any(), selvage.ErrTooLarge)
	if e := k.remember(note(owner, "k", large)); string(e.Value) != large || string(k.recall(e.MemoryName).Value) != large {
		k.Errorf("a value of %d bytes came back another", len(large))
	}
}

func memoryNothingIsShared(k *kit) {
	d := note(someone(), "k", `"aaaa"`)
	given, until := d, time.Now().Add(time.Hour)
	given.Value, given.ExpiresAt = json.RawMessage(`"aaaa"`), &until
	put := k.remember(given)
	copy(given.Value, `"bbbb"`)
	copy(put.Value, `"cccc"`)
	until = until.Add(time.Hour)
	*put.ExpiresAt = until
	for range 2 {
		got := k.recall(d.MemoryName)
		if string(got.Value) != `"aaaa"` || !got.ExpiresAt.Before(until.Add(-30*time.Minute)) {
			k.Fatalf("somebody else's change shows in an entry: %s", encode(k, got))
		}
		copy(got.Value, `"dddd"`)
		*got.ExpiresAt = until
	}
}

func memorySurvivesClose(k *kit) {
	k = k.alone()
	d := note(someone(), "k", `{"a": 1}`)
	put := k.remember(d)
	q := selvage.MemoryQuery{Owner: d.Owner, Limit: ptr(1)}
	k.remember(note(d.Owner, "l", `2`))
	c := cursor(k, k.memoryPages(q))
	k = k.restart()
	k.equal("an entry after a restart", k.recall(d.MemoryName), put)
	if items, _, err := k.memoryPages(q)(c); err != nil || len(items) != 1 || items[0].Key != "l" {
		k.Errorf("a list that goes on after a restart answers %s, error %v", encode(k, items), err)
	}
	if _, err := k.memory().Put(k.Context(), d, selvage.Exact(put.Version)); err != nil {
		k.Errorf("a put at the version from before a restart failed: %v", err)
	}
}

func memoryIsShared(k *kit) {
	a, b := k.pair()
	d := note(someone(), "k", `0`)
	e := a.remember(d)
	k.equal("an entry that the other wrote", b.recall(d.MemoryName), e)
	for range 5 {
		at := selvage.Exact(b.recall(d.MemoryName).Version)
		errs := together(8, func(i int) error {
			_, err := []*kit{a, b}[i%2].memory().Put(k.Context(), d, at)
			return err
		})
		k.winner("writing at one version from two sides", errs, selvage.ErrConflict)
	}
	if _, err := b.memory().Clear(k.Context(), d.Owner); err != nil {
		k.Fatalf("clear failed: %v", err)
	}
	a.forgotten(d.MemoryName)
}

// stale checks that an error tells which version was expected and which is there.
func (k *kit) stale(err error, expected, actual selvage.Version) {
	k.Helper()
	k.class("a write at another version", err, selvage.ErrConflict)
	var stale *selvage.StaleError
	if !errors.As(err, &stale) {
		k.Fatalf("it failed with %v, a %T; want a *StaleError, which tells both versions", err, err)
	}
	if stale.Expected != expected || stale.Actual != actual || stale.What == "" {
		k.Errorf("the error tells %+v; want version %d expected and %d there", *stale, expected, actual)
	}
}
