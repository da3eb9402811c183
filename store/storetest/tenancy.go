package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/selvagehq/selvage"
)

func tenancyPromises() []promise {
	const rule = "CONTRACT 15: no call crosses a tenant"
	return []promise{
		{"ScopeIsAStore", "CONTRACT 15: a tenant's store is a Leaser like every store, and offers nothing that is for operators.", scopeIsAStore},
		{"ThreadsNameTheirTenant", "Thread: it names its tenant; a thread of the store that was opened names none.", threadsNameTheirTenant},
		{"SameIDsStayApart", rule + ": threads, messages, change sets, runs and calls of one tenant bear the ids of another's and stay what they are.", sameIDsStayApart},
		{"NothingOfTheOther", rule + ": for what another tenant has, every method answers as for what never was.", nothingOfTheOther},
		{"NamesAreNotPatterns", "CONTRACT 15: a tenant is its name, byte for byte, whatever it looks like.", namesAreNotPatterns},
		{"BadNames", "Tenancy.Tenant: a name that cannot be an id is invalid.", badTenantNames},
		{"DuplicatesDoNotCross", rule + "; a message is a duplicate of one of its own tenant alone.", duplicatesDoNotCross},
		{"ParentsDoNotCross", rule + "; a parent is a thread of the same tenant.", parentsDoNotCross},
		{"LeasesDoNotCross", rule + "; the lease of a thread is not that of its namesake, and neither is its epoch.", leasesDoNotCross},
		{"DeletesDoNotCross", rule + "; what goes or is detached with a thread is its own.", deletesDoNotCross},
		{"CursorsDoNotCross", rule + "; a cursor of one tenant is refused by another.", cursorsDoNotCross},
		{"StatesDoNotCross", rule + "; what is kept at hand of a thread is not taken for its namesake's.", statesDoNotCross},
		{"FeedsDoNotCross", rule + "; a tenant's feed shows its own changes and tells nothing of the others, that of the store all.", feedsDoNotCross},
		{"TenantsTakeNoTurns", rule + ": writers of many tenants on one id do not get in each other's way.", tenantsTakeNoTurns},
		{"TenantsAreListed", "Tenancy.Tenants: it returns the names of the tenants that have a thread, in order and in pages.", tenantsAreListed},
		{"CloseOneTenant", "Tenancy.Tenant: closing a tenant's store ends its own use alone; closing the store it came from ends both.", closeOneTenant},
		{"TenantsOutliveTheStore", "CONTRACT 15: tenants are stored; who opens the store again finds each with what it had.", tenantsOutlive},
	}
}

// tenant returns the kit working on the store of a tenant.
func (k *kit) tenant(name string) *kit {
	k.Helper()
	tenancy, ok := selvage.As[selvage.Tenancy](k.store)
	if !ok {
		k.Fatalf("a %T offers no Tenancy", k.store)
	}
	s, err := tenancy.Tenant(name)
	if err != nil {
		k.Fatalf("tenant %q: %v", name, err)
	}
	return k.on(opened(k, s))
}

func scopeIsAStore(k *kit) {
	acme := k.tenant("acme")
	acme.acquire(acme.leaser(), newID(), owner("a"))
	if _, ok := selvage.As[selvage.Tenancy](acme.store); ok {
		k.Errorf("the store of a tenant offers tenants; want them asked of the store that was opened alone")
	}
	if _, ok := selvage.As[selvage.Checker](acme.store); ok {
		k.Errorf("the store of a tenant offers to check what all tenants share; want that left to operators")
	}
}

func threadsNameTheirTenant(k *kit) {
	acme, id := k.tenant("acme"), newID()
	for _, side := range []struct {
		kit  *kit
		want string
	}{{k, ""}, {acme, "acme"}} {
		side.kit.acquire(side.kit.leaser(), id, owner("a")) // a row before the thread is
		side.kit.append(id, says("hello"), selvage.New())
		side.kit.append(id, says("more"), selvage.Any())
		named := func(what string, t selvage.Thread) {
			k.Helper()
			if t.Tenant != side.want {
				k.Errorf("%s names the tenant %q; want %q", what, t.Tenant, side.want)
			}
		}
		named("a loaded thread", side.kit.load(id).Thread)
		for _, t := range side.kit.threads(selvage.ThreadQuery{Text: string(id)}) {
			named("a listed thread", t)
		}
		side.kit.delete(id, selvage.DeleteReject)
		side.kit.append(id, says("again"), selvage.Recreate())
		named("a recreated thread", side.kit.load(id).Thread)
	}
}

// namesakes are stores whose tenants are easily mistaken for each other.
func (k *kit) namesakes() []*kit {
	return []*kit{k, k.tenant("acme"), k.tenant("acme2"), k.tenant("ACME")}
}

func sameIDsStayApart(k *kit) {
	id, set := newID(), richSet()
	sides := k.namesakes()
	var pictures []string
	for i, side := range sides {
		mine := set
		mine.Thread = &selvage.ThreadUpdate{Title: ptr(fmt.Sprintf("side %d", i))}
		if r := side.append(id, mine, selvage.New()); r.Version != 1 || r.Replayed {
			k.Errorf("the first change of tenant %d's thread got the receipt %s; want version 1 and no replay", i, encode(k, r))
		}
		side.append(id, selvage.ChangeSet{Runs: []selvage.RunUpdate{done(string(set.RunID))},
			Calls: []selvage.CallUpdate{{CallID: "call-1", Status: selvage.CallSucceeded}}}, selvage.Any())
		pictures = append(pictures, side.picture(id))
	}
	for i, side := range sides {
		if now := side.picture(id); now != pictures[i] {
			k.Errorf("what tenants did to threads of one id changed that of tenant %d: %s", i, difference(now, pictures[i]))
		}
		if h := side.load(id); h.Thread.Title != fmt.Sprintf("side %d", i) || h.Thread.Version != 2 || len(h.Messages) != 4 {
			k.Errorf("tenant %d's thread is %q at version %d with %d messages; want %q at 2 with 4", i, h.Thread.Title, h.Thread.Version,
				len(h.Messages), fmt.Sprintf("side %d", i))
		}
		if runs := side.runs(selvage.RunQuery{ThreadID: id}); len(runs) != 1 || runs[0].Status != selvage.RunDone {
			k.Errorf("tenant %d's thread has the runs %s; want its own one, done", i, encode(k, runs))
		}
	}
}

func nothingOfTheOther(k *kit) {
	k = k.alone()
	acme, other := k.tenant("acme"), k.tenant("other")
	id := newID()
	acme.history(id)
	run := newRunID()
	acme.append(id, runSet(running(run)), selvage.Any())
	acme.append(id, update(selvage.ThreadUpdate{UserID: ptr("user")}), selvage.Any())
	child := acme.create(under(id))
	for _, side := range []*kit{k, other} {
		side.unreadable(id, selvage.ErrNotFound)
		side.unreadable(child, selvage.ErrNotFound)
		k.class("append to another tenant's thread", errorOf(side.store.Append(k.Context(), id, says("hello"), selvage.Any())), selvage.ErrNotFound)
		k.class("append at a version of another tenant's thread", errorOf(side.store.Append(k.Context(), id, says("hello"), selvage.Exact(2))), selvage.ErrNotFound)
		k.class("recreate another tenant's thread", errorOf(side.store.Append(k.Context(), id, says("hello"), selvage.Recreate())), selvage.ErrNotFound)
		k.class("delete another tenant's thread", side.store.Delete(k.Context(), id, selvage.DeleteCascade), selvage.ErrNotFound)
		for what, q := range map[string]selvage.ThreadQuery{"all": {}, "by user": {UserID: "user"}, "by parent": {Parent: selvage.ChildrenOf(id)},
			"by text": {Text: string(id)}, "updated last": {Order: selvage.ByUpdated}} {
			k.equal("threads, "+what, side.threads(q), []selvage.Thread(nil))
		}
		for what, q := range map[string]selvage.RunQuery{"all": {}, "open": {Open: true}, "of the thread": {ThreadID: id}, "ascending": {Order: selvage.Ascending}} {
			k.equal("runs, "+what, side.runs(q), []selvage.Run(nil))
		}
	}
	// A run is moved on where it is, and is free to be created where it is not.
	side := other.create(runSet(running(run)))
	if r := other.run(side, run); r.ThreadID != side || acme.run(id, run).ThreadID != id {
		k.Errorf("a run of one id is that of another tenant's thread")
	}
}

func errorOf[T any](_ T, err error) error { return err }

func duplicatesDoNotCross(k *kit) {
	acme, id := k.tenant("acme"), newID()
	k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("m-1", "of nobody")}}, selvage.New())
	acme.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("m-2", "of acme")}}, selvage.New())
	// One duplicate has a store look for others.
	both := selvage.ChangeSet{Messages: []selvage.Message{say("m-1", "of acme, too"), say("m-2", "again")}}
	r := acme.append(id, both, selvage.Any())
	k.equal("messages dropped", r.Dropped, []int{1})
	k.equal("messages of the tenant", texts(acme.load(id).Messages), []string{"of acme", "of acme, too"})
}

// hostileNames are valid, and look like something else to who puts them into
// a query, a pattern, a path or a key.
func hostileNames() []string {
	return []string{"a", "A", "aa", "a ", " a", "a'", `a"`, "a''b", "a%", "%", "_", "a_", "*", "?", "[a]", "a;DROP TABLE threads", "a--", "$1", "?1", "a:b", "a:",
		"a|", "null", "NULL", "0", "default", "ä", "a\u0308x", "🧵", "a.", "..a", "a\u200b", strings.Repeat("n", 199), strings.Repeat("n", 200)}
}

func namesAreNotPatterns(k *kit) {
	id := newID()
	k.append(id, says("of nobody"), selvage.New())
	names := hostileNames()
	sides := make([]*kit, 0, len(names))
	for _, name := range names {
		if name == "a\u0308x" {
			continue // not in normal form C, and so no name
		}
		side := k.tenant(name)
		side.append(id, says("of "+name), selvage.New())
		sides = append(sides, side)
	}
	for _, side := range sides {
		listed := side.threads(selvage.ThreadQuery{Text: string(id)})
		if len(listed) != 1 {
			k.Errorf("a tenant has %d threads called %s; want its own one", len(listed), id)
			continue
		}
		name := listed[0].Tenant
		if !slices.Contains(names, name) {
			k.Errorf("a thread names the tenant %q, which nobody asked for", name)
		}
		k.equal(fmt.Sprintf("messages of tenant %q", name), texts(side.load(id).Messages), []string{"of " + name})
	}
	k.equal("messages of no tenant", texts(k.load(id).Messages), []string{"of nobody"})
}

func badTenantNames(k *kit) {
	tenancy, _ := selvage.As[selvage.Tenancy](k.store)
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "-a", "a\x00", "a\n", "\xff", strings.Repeat("n", 201), "a\u0308x"} {
		if _, err := tenancy.Tenant(name); err == nil {
			k.Errorf("tenant %q was accepted; want it invalid", name)
		} else {
			k.class(fmt.Sprintf("tenant %q", name), err, selvage.ErrInvalid)
		}
	}
}

func closeOneTenant(k *kit) {
	k = k.alone()
	acme, again, other := k.tenant("acme"), k.tenant("acme"), k.tenant("other")
	id := acme.create(says("hello"))
	if err := acme.store.Close(); err != nil {
		k.Fatalf("close the store of a tenant failed: %v", err)
	}
	k.class("load after close", errorOf(acme.store.Load(k.Context(), id, selvage.LoadOptions{})), selvage.ErrClosed)
	k.class("append after close", errorOf(acme.store.Append(k.Context(), id, says("late"), selvage.Any())), selvage.ErrClosed)
	k.class("a second close", acme.store.Close(), selvage.ErrClosed)
	k.equal("messages", texts(again.load(id).Messages), []string{"hello"})
	again.append(id, says("more"), selvage.Any())
	other.create(says("hello"))
	k.create(says("hello"))
	if err := k.store.Close(); err != nil {
		k.Fatalf("close failed: %v", err)
	}
	k.class("load after the store was closed", errorOf(again.store.Load(k.Context(), id, selvage.LoadOptions{})), selvage.ErrClosed)
	k.class("append after the store was closed", errorOf(other.store.Append(k.Context(), id, says("late"), selvage.New())), selvage.ErrClosed)
	tenancy, _ := selvage.As[selvage.Tenancy](k.store)
	k.class("tenant of a closed store", errorOf(tenancy.Tenant("acme")), selvage.ErrClosed)
}

func tenantsOutlive(k *kit) {
	if k.reopen == nil {
		return // nothing outlives such a store
	}
	k = k.alone()
	id := newID()
	for _, side := range k.namesakes() {
		side.history(id)
		side.append(id, says(fmt.Sprintf("of %q", side.load(id).Thread.Tenant)), selvage.Any())
	}
	var before []string
	for _, side := range k.namesakes() {
		before = append(before, side.picture(id))
	}
	again := k.on(k.reopen(k.store))
	for i, side := range again.namesakes() {
		if now := side.picture(id); now != before[i] {
			k.Errorf("tenant %d's thread is not what it was before the store was opened again: %s", i, difference(now, before[i]))
		}
	}
}

func tenantsAreListed(k *kit) {
	k = k.alone()
	tenancy, _ := selvage.As[selvage.Tenancy](k.store)
	want := make([]string, selvage.MaxPage+3)
	var wg sync.WaitGroup
	for i := range want {
		want[i] = fmt.Sprintf("tenant-%04d", i)
		acme := k.tenant(want[i])
		wg.Go(func() {
			if _, err := acme.store.Append(k.Context(), newID(), says("hello"), selvage.New()); err != nil {
				k.Errorf("append for %s: %v", want[i], err)
			}
		})
	}
	wg.Wait()
	k.create(says("the store's own"))
	k.tenant("empty")
	var got []string
	for after := ""; ; after = got[len(got)-1] {
		names, err := tenancy.Tenants(k.Context(), after)
		if err != nil {
			k.Fatal(err)
		}
		if len(names) == 0 {
			break
		}
		if len(names) > selvage.MaxPage {
			k.Errorf("%d tenants came in one page; want %d at most", len(names), selvage.MaxPage)
		}
		got = append(got, names...)
	}
	if !slices.Equal(got, want) {
		k.Errorf("%d tenants are listed, from %v; want the %d that have a thread, in order", len(got), got[:min(3, len(got))], len(want))
	}
}
