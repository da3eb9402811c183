package storetest

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/selvagehq/selvage"
)

func threadPromises() []promise {
	return []promise{
		{"UpdateIsMerged", "ThreadUpdate: a nil field stays, a pointer to the zero value clears; metadata is merged key by key, null removes.", updateIsMerged},
		{"MetadataIsVerbatim", "CONTRACT 6, 21: JSON metadata is kept byte for byte, integers beyond 2^53 included.", metadataIsVerbatim},
		{"UpdateIsAVersion", "ARCHITECTURE 3: a thread changes only through change sets, its title too.", updateIsAVersion},
		{"ListShowsTheThread", "ARCHITECTURE 3: a listed thread is the same as the loaded one.", listShowsTheThread},
		{"FilterByUser", "ThreadQuery: UserID selects the threads of that user, exactly.", filterByUser},
		{"FilterByMetadata", "ThreadQuery: each metadata key must hold this JSON string.", filterByMetadata},
		{"FilterByText", "ThreadQuery: text is part of the id or title, whatever its case, and nothing in it is a wildcard.", filterByText},
		{"FilterByParent", "ThreadQuery: any parent, none, or a certain one: exact.", filterByParent},
		{"NewestFirst", "ThreadQuery: ByCreated is newest first.", threadsNewestFirst},
		{"LastUpdatedFirst", "ThreadQuery: ByUpdated is newest first.", threadsLastUpdatedFirst},
		{"PageLimits", "CONTRACT 17: limit 0 is an empty page, above the maximum it is clamped, negative is invalid; default 50, maximum 200.", threadPageLimits},
		{"PagesUnderInserts", "ThreadQuery: no thread is skipped or repeated however many are written between two pages.", threadPagesUnderInserts},
		{"UnknownOrderIsInvalid", "ARCHITECTURE 3: input that breaks a rule is invalid, not guessed at.", unknownThreadOrder},
	}
}

func update(u selvage.ThreadUpdate) selvage.ChangeSet { return selvage.ChangeSet{Thread: &u} }

func threadIDs(threads []selvage.Thread) []selvage.ThreadID {
	ids := []selvage.ThreadID{}
	for _, t := range threads {
		ids = append(ids, t.ID)
	}
	return ids
}

func metadata(pairs ...string) map[string]json.RawMessage {
	m := make(map[string]json.RawMessage)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return m
}

func updateIsMerged(k *kit) {
	expires := time.Date(2100, 1, 2, 3, 4, 5, 6_789_000, time.FixedZone("elsewhere", 3600))
	id := k.create(update(selvage.ThreadUpdate{Title: ptr("title"), UserID: ptr("user"), ExpiresAt: &expires, Metadata: metadata("a", "1", "b", `"x"`, "c", "[]")}))
	h := k.load(id).Thread
	if h.Title != "title" || h.UserID != "user" || !h.ExpiresAt.Equal(expires.Truncate(selvage.TimePrecision)) {
		k.Errorf("the thread is %s; want what the update says", encode(k, h))
	}
	k.isStored("expires_at", h.ExpiresAt)
	k.equal("metadata", h.Metadata, metadata("a", "1", "b", `"x"`, "c", "[]"))

	k.append(id, update(selvage.ThreadUpdate{Metadata: metadata("a", "2", "b", "null", "d", "false", "never", "null")}), selvage.Any())
	h = k.load(id).Thread
	if h.Title != "title" || h.UserID != "user" || h.ExpiresAt.IsZero() {
		k.Errorf("an update of metadata alone left %s; want everything else as it was", encode(k, h))
	}
	k.equal("metadata after a merge", h.Metadata, metadata("a", "2", "c", "[]", "d", "false"))

	k.append(id, update(selvage.ThreadUpdate{}), selvage.Any())
	k.equal("metadata after an empty update", k.load(id).Thread.Metadata, metadata("a", "2", "c", "[]", "d", "false"))

	k.append(id, update(selvage.ThreadUpdate{Title: ptr(""), UserID: ptr(""), ExpiresAt: &time.Time{}, Metadata: metadata("a", "null", "c", "null", "d", "null")}), selvage.Any())
	if h = k.load(id).Thread; h.Title != "" || h.UserID != "" || !h.ExpiresAt.IsZero() || len(h.Metadata) > 0 {
		k.Errorf("after everything was cleared the thread is %s", encode(k, h))
	}
}

func metadataIsVerbatim(k *kit) {
	k = k.alone()
	meta := make(map[string]json.RawMessage)
	for i, text := range rawTexts {
		meta[fmt.Sprint("k", i)] = json.RawMessage(text)
	}
	meta["<&> é ."] = json.RawMessage("true")
	id := k.create(update(selvage.ThreadUpdate{Metadata: meta}), says("and then"))
	listed := k.threads(selvage.ThreadQuery{})
	for name, got := range map[string]selvage.Thread{"load": k.load(id).Thread, "list": listed[0]} {
		if len(got.Metadata) != len(meta) {
			k.Errorf("%s: %d keys became %d", name, len(meta), len(got.Metadata))
		}
		for key, want := range meta {
			if have := got.Metadata[key]; string(have) != string(want) {
				k.Errorf("%s: the metadata %s became %s", name, want, have)
			}
		}
	}
}

func updateIsAVersion(k *kit) {
	id := k.create(says("hello"))
	before := k.load(id)
	r := k.append(id, update(selvage.ThreadUpdate{Title: ptr("title")}), selvage.Exact(1))
	h := k.load(id)
	if r.Version != 2 || r.Events != 1 || h.Thread.Version != 2 || h.Hash == before.Hash {
		k.Errorf("a new title answers version %d and %d events, and a head at %d; want version 2, one event, a new hash", r.Version, r.Events, h.Thread.Version)
	}
	k.refuse(id, update(selvage.ThreadUpdate{Title: ptr("late")}), selvage.Exact(1), selvage.ErrConflict)
}

func listShowsTheThread(k *kit) {
	k = k.alone()
	set := richSet()
	parent := k.create(says("parent"))
	set.Thread.ParentID = &parent
	id := k.create(set)
	listed := k.threads(selvage.ThreadQuery{Parent: selvage.ChildrenOf(parent)})
	if len(listed) != 1 {
		k.Fatalf("there are %d children; want 1", len(listed))
	}
	k.equal("listed thread", listed[0], k.load(id).Thread)
}

func threadsNewestFirst(k *kit) {
	k = k.alone()
	var want []selvage.ThreadID
	for range 30 {
		want = append([]selvage.ThreadID{k.create(says("hello"))}, want...)
	}
	k.append(want[20], says("an old one moves on"), selvage.Any())
	for _, order := range []selvage.ThreadOrder{"", selvage.ByCreated} {
		k.equal(fmt.Sprintf("threads in order %q", order), threadIDs(k.threads(selvage.ThreadQuery{Order: order})), want)
		k.equal(fmt.Sprintf("threads in order %q by pages of 7", order), threadIDs(k.threads(selvage.ThreadQuery{Order: order, Limit: ptr(7)})), want)
	}
}

func threadsLastUpdatedFirst(k *kit) {
	k = k.alone()
	for range 30 {
		k.create(says("hello"))
	}
	all := k.threads(selvage.ThreadQuery{})
	k.tick()
	k.append(all[20].ID, says("an old one moves on"), selvage.Any())
	byPages := k.threads(selvage.ThreadQuery{Order: selvage.ByUpdated, Limit: ptr(7)})
	seen := make(map[selvage.ThreadID]bool)
	for i, t := range byPages {
		seen[t.ID] = true
		if i > 0 && t.UpdatedAt.After(byPages[i-1].UpdatedAt) {
			k.Errorf("thread %d was updated at %v, the one before it at %v; want newest first", i, t.UpdatedAt, byPages[i-1].UpdatedAt)
		}
	}
	if len(byPages) != 30 || len(seen) != 30 {
		k.Errorf("30 threads by pages are %d, %d of them different", len(byPages), len(seen))
	}
	if byPages[0].ID != all[20].ID {
		k.Errorf("the first thread is %q, updated at %v; want %q, which was updated last", byPages[0].ID, byPages[0].UpdatedAt, all[20].ID)
	}
}

func threadPageLimits(k *kit) {
	k = k.alone()
	for range selvage.MaxPage + 5 {
		k.create(selvage.ChangeSet{})
	}
	read := func(limit *int) selvage.ThreadPage {
		page, err := k.store.Threads(k.Context(), selvage.ThreadQuery{Limit: limit})
		if err != nil {
			k.Fatalf("threads with limit %s failed: %v", encode(k, limit), err)
		}
		return page
	}
	for _, tt := range []struct {
		limit *int
		want  int
	}{{nil, selvage.DefaultPage}, {ptr(1), 1}, {ptr(selvage.MaxPage + 1), selvage.MaxPage}, {ptr(math.MaxInt), selvage.MaxPage}} {
		if page := read(tt.limit); len(page.Items) != tt.want || page.Next == "" {
			k.Errorf("limit %s answers %d threads, cursor %q; want %d and a cursor", encode(k, tt.limit), len(page.Items), page.Next, tt.want)
		}
	}
	if page := read(ptr(0)); page.Items == nil || len(page.Items) != 0 || page.Next != "" {
		k.Errorf("limit 0 answers %d threads (nil: %v), cursor %q; want an empty page, not nil, without cursor", len(page.Items), page.Items == nil, page.Next)
	}
	_, err := k.store.Threads(k.Context(), selvage.ThreadQuery{Limit: ptr(-1)})
	k.class("threads with limit -1", err, selvage.ErrInvalid)
}

func threadPagesUnderInserts(k *kit) {
	k = k.alone()
	want := []selvage.ThreadID{}
	for range 25 {
		want = append([]selvage.ThreadID{k.create(says("hello"))}, want...)
	}
	got := walkAnd(k, k.threadPages(selvage.ThreadQuery{Limit: ptr(4)}), func(page int, _ []selvage.Thread) {
		k.create(says("a new one"))
		k.append(want[page], says("an old one moves on"), selvage.Any())
		k.append(want[25-page], says("another moves on"), selvage.Any())
	})
	k.equal("threads by pages while others are written", threadIDs(got), want)
}

func unknownThreadOrder(k *kit) {
	_, err := k.store.Threads(k.Context(), selvage.ThreadQuery{Order: "title"})
	k.class("threads in an unknown order", err, selvage.ErrInvalid)
}
