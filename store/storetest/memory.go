package storetest

import (
	"encoding/json"
	"fmt"
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
