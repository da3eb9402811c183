package storetest

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/selvagehq/selvage"
)

// feedPromises are about the feed of all threads.
func feedPromises() []promise {
	return []promise{
		{"FeedOfTheStore", "Watcher.Feed: it tells every change of every thread once, whole, those of a thread in the order of their versions.", feedOfTheStore},
		{"FeedGoesOn", "FeedQuery: After is exclusive: from each position on, as text, a reader gets what follows it, and that only.", feedGoesOn},
		{"FeedPageLimits", "CONTRACT 17: limit 0 is an empty page, above the maximum it is clamped, negative is invalid; default 50, maximum 200.", feedPageLimits},
		{"FeedHasTombstones", "CONTRACT 13: a deleted thread's header survives in the feed as the tombstone; what was before it is gone.", feedHasTombstones},
		{"FeedOfRelatives", "CONTRACT 13: detach and cascade tell in the feed what they did to each child.", feedOfRelatives},
		{"FeedOfCopies", "Watcher.Feed: forks and imported logs are told like everything else, each version in its turn.", feedOfCopies},
		{"OtherGenerationIsExpired", "CONTRACT 19: restoring a database raises the generation: a position of another generation, or ahead of the store, has expired.", otherGenerationIsExpired},
		{"EndIsTheEnd", "Watcher.End: what is appended after it comes after it, and what was read before it does not.", endIsTheEnd},
	}
}

// feedUntil follows the feed until a thread is at a version.
func (k *kit) feedUntil(after selvage.FeedPosition, id selvage.ThreadID, v selvage.Version) []selvage.FeedItem {
	k.Helper()
	items := []selvage.FeedItem{}
	for item, err := range selvage.FollowFeed(k.patient(), k.watcher(), after) {
		if err != nil {
			k.Fatalf("following the feed failed: %v; it has shown %d changes, and not version %d of %q", err, len(items), v, id)
		}
		items = append(items, item)
		if item.Change.ThreadID == id && item.Change.Version >= v {
			return items
		}
	}
	k.Fatal("the feed ended without an error")
	return nil
}

func (k *kit) feed(q selvage.FeedQuery) selvage.FeedPage {
	k.Helper()
	page, err := k.watcher().Feed(k.Context(), q)
	if err != nil {
		k.Fatalf("feed after %s failed: %v", q.After, err)
	}
	if page.Items == nil {
		k.Errorf("feed after %s: the items are nil; want a list", q.After)
	}
	return page
}

// mark appends to a thread of its own what comes last in the feed, and returns
// the feed up to there, without it.
func (k *kit) mark(after selvage.FeedPosition) []selvage.FeedItem {
	k.Helper()
	id := k.create(says("the last"))
	items := k.feedUntil(after, id, 1)
	return items[:len(items)-1]
}

// changesOf are the changes of items.
func changesOf(items []selvage.FeedItem) []selvage.Change {
	out := []selvage.Change{}
	for _, item := range items {
		out = append(out, item.Change)
	}
	return out
}

// logged checks that the items are the whole logs of threads, each thread's in
// the order of its versions.
func (k *kit) logged(items []selvage.FeedItem, ids ...selvage.ThreadID) {
	k.Helper()
	byThread := make(map[selvage.ThreadID][]selvage.Change)
	for _, item := range items {
		c := item.Change
		byThread[c.ThreadID] = append(byThread[c.ThreadID], c)
		if p := item.Position; p.Thread != c.ThreadID || p.Version != c.Version || p.Tenant != item.Tenant || p.IsZero() {
			k.Errorf("version %d of %q stands at position %+v of the tenant %q; want its own", c.Version, c.ThreadID, p, item.Tenant)
		}
	}
	for _, id := range ids {
		k.equal(fmt.Sprintf("changes of %q in the feed, beside those of its log", id), byThread[id], k.log(id))
		delete(byThread, id)
	}
	if len(byThread) > 0 {
		k.Errorf("the feed shows threads %v, which were not to be there", slices.Collect(maps.Keys(byThread)))
	}
}

// odd are ids that must come back from the text of a position.
func odd() []selvage.ThreadID {
	return []selvage.ThreadID{"a.b.c", "ümläut 線", "0198c9a0-7b5e-7000-8000-000000000001", "=&?#%"}
}

func feedOfTheStore(k *kit) {
	k = k.alone()
	rich := newID()
	k.history(rich)
	ids := append(odd(), rich)
	for i := range 6 {
		for _, id := range odd() {
			pre := selvage.Any()
			if i == 0 {
				pre = selvage.New()
			}
			k.append(id, says(fmt.Sprint(i)), pre)
		}
	}
	k.logged(k.mark(selvage.FeedPosition{}), ids...)
}

func feedGoesOn(k *kit) {
	k = k.alone()
	for _, id := range odd() {
		k.append(id, says("one"), selvage.New())
		k.append(id, says("two"), selvage.Any())
	}
	all := k.mark(selvage.FeedPosition{})
	for i, item := range all {
		var after selvage.FeedPosition
		if err := after.UnmarshalText([]byte(item.Position.String())); err != nil || after != item.Position {
			k.Fatalf("position %+v comes back from its text %q as %+v, %v", item.Position, item.Position, after, err)
		}
		rest := []selvage.Change{}
		for len(rest) < len(all)-i-1 {
			page := k.feed(selvage.FeedQuery{After: after, Limit: ptr(3)})
			if len(page.Items) == 0 || page.Next != page.Items[len(page.Items)-1].Position {
				k.Fatalf("the feed after %s is %s; want items, and next at the last of them", after, encode(k, page))
			}
			rest, after = append(rest, changesOf(page.Items)...), page.Next
		}
		k.equal("changes after position "+item.Position.String(), rest[:len(all)-i-1], changesOf(all[i+1:]))
	}
}

func feedPageLimits(k *kit) {
	k = k.alone()
	id := k.steps(selvage.MaxPage + 5)
	k.feedUntil(selvage.FeedPosition{}, id, selvage.MaxPage+5)
	for _, tt := range []struct {
		limit *int
		want  int
	}{{nil, selvage.DefaultPage}, {ptr(1), 1}, {ptr(selvage.MaxPage + 1), selvage.MaxPage}, {ptr(math.MaxInt), selvage.MaxPage}} {
		if page := k.feed(selvage.FeedQuery{Limit: tt.limit}); len(page.Items) != tt.want || !page.More {
			k.Errorf("limit %s answers %d changes, more: %v; want %d and more", encode(k, tt.limit), len(page.Items), page.More, tt.want)
		}
	}
	end, err := k.watcher().End(k.Context())
	if err != nil {
		k.Fatalf("end of the feed: %v", err)
	}
	if page := k.feed(selvage.FeedQuery{After: end, Limit: ptr(0), Wait: true}); len(page.Items) != 0 || page.Next != end {
		k.Errorf("limit 0 answers %s; want an empty page that goes on where it began", encode(k, page))
	}
	if page := k.feed(selvage.FeedQuery{Limit: ptr(0)}); len(page.Items) != 0 {
		k.Errorf("limit 0 answers %d changes from the beginning; want none", len(page.Items))
	}
	if page := k.feed(selvage.FeedQuery{After: end}); len(page.Items) != 0 || page.More {
		k.Errorf("the feed after its end is %s; want it empty", encode(k, page))
	}
	_, err = k.watcher().Feed(k.Context(), selvage.FeedQuery{Limit: ptr(-1)})
	k.class("feed with limit -1", err, selvage.ErrInvalid)
	for _, after := range []selvage.FeedPosition{{Generation: -1}, {Generation: end.Generation, Order: -1}, {Generation: end.Generation, Version: -1}} {
		_, err := k.watcher().Feed(k.Context(), selvage.FeedQuery{After: after})
		k.class(fmt.Sprintf("feed after %+v", after), err, selvage.ErrInvalid)
	}
}

func feedHasTombstones(k *kit) {
	k = k.alone()
	id := k.create(says("one"), says("two"), says("three"))
	seen := k.feedUntil(selvage.FeedPosition{}, id, 2)
	k.delete(id, selvage.DeleteReject)
	for what, after := range map[string]selvage.FeedPosition{"from the beginning": {}, "in the middle": seen[len(seen)-1].Position} {
		items := k.mark(after)
		items = slices.DeleteFunc(items, func(i selvage.FeedItem) bool { return i.Change.ThreadID != id })
		if len(items) != 1 || items[0].Change.Reason != selvage.ReasonDeleted || items[0].Change.Version != 4 {
			k.Fatalf("after a delete the feed, read %s, shows %s; want the tombstone, version 4, alone", what, encode(k, items))
		}
		if err := items[0].Change.Verify(items[0].Change.Prev); err != nil || items[0].Change.Prev.IsZero() {
			k.Errorf("the tombstone in the feed does not verify: %v (after hash %s)", err, items[0].Change.Prev)
		}
	}
	k.append(id, says("again"), selvage.Recreate())
	items := slices.DeleteFunc(k.mark(selvage.FeedPosition{}), func(i selvage.FeedItem) bool { return i.Change.ThreadID != id })
	k.logged(items, id)
	k.verify(changesOf(items))
}

func feedOfRelatives(k *kit) {
	k = k.alone()
	root := k.create(says("root"))
	child := k.create(under(root))
	grandchild := k.create(under(child))
	k.mark(selvage.FeedPosition{})
	end, err := k.watcher().End(k.Context())
	if err != nil {
		k.Fatalf("end of the feed: %v", err)
	}
	k.delete(root, selvage.DeleteDetach)
	k.delete(child, selvage.DeleteCascade)
	type told struct {
		Thread  selvage.ThreadID
		Version selvage.Version
		Reason  selvage.Reason
	}
	got := make(map[told]int)
	for _, item := range k.mark(end) {
		got[told{item.Change.ThreadID, item.Change.Version, item.Change.Reason}]++
	}
	// The change that detached the child went when that was deleted.
	for _, want := range []told{{root, 2, selvage.ReasonDeleted}, {child, 3, selvage.ReasonDeleted}, {grandchild, 2, selvage.ReasonDeleted}} {
		if got[want] != 1 {
			k.Errorf("after detach and cascade the feed tells %+v %d times; want once. It tells %v", want, got[want], got)
		}
		delete(got, want)
	}
	if len(got) != 0 {
		k.Errorf("after detach and cascade the feed tells %v besides", got)
	}
}

func feedOfCopies(k *kit) {
	k = k.alone()
	origin := k.create(says("one"), says("two"), says("three"))
	ids := []selvage.ThreadID{origin}
	if f, offered := selvage.As[selvage.Forker](k.store); offered {
		// A rewind leaves a gap in the seqs, so that the fork takes two versions.
		k.append(origin, selvage.ChangeSet{Rewind: ptr(selvage.Version(2))}, selvage.Any())
		k.append(origin, says("four"), selvage.Any())
		fork := newID()
		if _, err := f.Fork(k.Context(), selvage.ForkRequest{From: origin, To: fork}); err != nil {
			k.Fatalf("fork failed: %v", err)
		}
		ids = append(ids, fork)
	}
	if needs[selvage.Importer](k.store) {
		_, id, log := k.exported()
		k.imports(id, log[:2])
		k.append(origin, says("between"), selvage.Any())
		k.imports(id, log)
		ids = append(ids, id)
	}
	k.logged(k.mark(selvage.FeedPosition{}), ids...)
}

func otherGenerationIsExpired(k *kit) {
	k = k.alone()
	id := k.create(says("one"), says("two"))
	items := k.feedUntil(selvage.FeedPosition{}, id, 2)
	at := items[0].Position
	other, ahead := at, at
	other.Generation++
	ahead.Order += 1 << 40
	for what, after := range map[string]selvage.FeedPosition{"of another generation": other, "ahead of the store": ahead} {
		_, err := k.watcher().Feed(k.patient(), selvage.FeedQuery{After: after, Wait: true})
		k.class("feed after a position "+what, err, selvage.ErrCursorExpired)
	}
	k.equal("changes after the true position", changesOf(k.feed(selvage.FeedQuery{After: at}).Items), changesOf(items[1:]))
}

func endIsTheEnd(k *kit) {
	k = k.alone()
	w := k.watcher()
	first, err := w.End(k.Context())
	if err != nil {
		k.Fatalf("end of the empty feed: %v", err)
	}
	if page := k.feed(selvage.FeedQuery{After: first}); len(page.Items) != 0 || page.Next != first {
		k.Errorf("the feed after the end of an empty store is %s; want it empty", encode(k, page))
	}
	id := k.create(says("one"))
	items := k.feedUntil(first, id, 1)
	k.logged(items, id)
	for v := selvage.Version(2); v < 20; v++ {
		end, err := w.End(k.Context())
		if err != nil {
			k.Fatalf("end of the feed: %v", err)
		}
		k.append(id, says("more"), selvage.Any())
		k.equal("versions after the end", versions(changesOf(k.feedUntil(end, id, v))), []int64{int64(v)})
	}
}

// feedsDoNotCross is a promise of stores that have tenants and feeds.
func feedsDoNotCross(k *kit) {
	if !needs[selvage.Watcher](k.store) {
		return
	}
	k = k.alone()
	id := newID()
	sides := []*kit{k, k.tenant("acme"), k.tenant("acme2")}
	names := []string{"", "acme", "acme2"}
	ends := make([]selvage.FeedPosition, len(sides))
	for round := range selvage.Version(4) {
		for i, side := range sides {
			side.append(id, says(names[i]), selvage.Exact(round))
		}
		for i, side := range sides[1:] {
			end, err := side.watcher().End(k.Context())
			if err != nil {
				k.Fatalf("end of a tenant's feed: %v", err)
			}
			if end.Tenant != "" && end.Tenant != names[1+i] || end.Tenant == "" && end.Thread != "" {
				k.Errorf("the end of the feed of %q is told as %+v; want nothing of another tenant in it", names[1+i], end)
			}
			items := side.feedUntil(ends[1+i], id, round+1)
			for _, item := range items {
				if item.Tenant != names[1+i] {
					k.Errorf("the feed of %q shows a change of %q", names[1+i], item.Tenant)
				}
			}
			k.equal("versions in the feed of "+names[1+i], versions(changesOf(items)), []int64{int64(round) + 1})
			page := side.feed(selvage.FeedQuery{After: items[len(items)-1].Position})
			if p := page.Next; p.Tenant != "" && p.Tenant != names[1+i] {
				k.Errorf("the feed of %q goes on at %+v; want nothing of another tenant in it", names[1+i], p)
			}
			ends[1+i] = page.Next
		}
	}
	got := make(map[string]int)
	for _, item := range k.mark(selvage.FeedPosition{}) {
		got[item.Tenant]++
	}
	k.equal("changes of each tenant in the feed of the store", got, map[string]int{"": 4, "acme": 4, "acme2": 4})
}
