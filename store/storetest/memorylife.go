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
