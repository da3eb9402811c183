package storetest

import (
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

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
