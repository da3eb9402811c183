package storetest

import (
	"fmt"
	"math"
	"slices"

	"github.com/selvagehq/selvage"
)

func messagePromises() []promise {
	return []promise{
		{"PageByPage", "ARCHITECTURE 3: messages are read in windows of seqs, page by page, each once.", messagesPageByPage},
		{"Bounds", "MessageQuery: after and before are exclusive, and 0 is no bound.", messageBounds},
		{"NewestFirst", "MessageQuery: descending order begins with the last message.", messagesNewestFirst},
		{"PageLimits", "CONTRACT 17: default 50, maximum 200; limit 0 is an empty page, above the maximum it is clamped, negative is invalid.", messagePageLimits},
		{"VisibilityFilter", "MessageQuery: the empty filter shows what the user may see; internal ones are for the model.", visibilityFilter},
		{"RunFilter", "MessageQuery: only messages that a run produced.", runFilter},
		{"FiltersComeBeforeTheLimit", "MessageQuery: a page is filled with messages that pass the filters.", filtersComeBeforeTheLimit},
		{"AtAVersion", "ARCHITECTURE 3: messages can be read as of a version.", messagesAtAVersion},
		{"EverythingIsKept", "ARCHITECTURE 3: a message comes back as it was submitted, with seq, id and time.", everythingOfAMessageIsKept},
		{"VerbatimJSON", "CONTRACT 6, 21: JSON inside a message is kept byte for byte, integers beyond 2^53 included.", verbatimJSON},
		{"PagesUnderAppends", "ARCHITECTURE 3: cursors are keyset-based, so that a concurrent insert neither skips nor repeats a row.", messagePagesUnderAppends},
		{"UnknownWordsAreInvalid", "ARCHITECTURE 3: input that breaks a rule is invalid, not guessed at.", unknownMessageWords},
	}
}

// talk makes a thread of n messages that say their seq, per to a version. The
// even ones are internal, and of the three in a row two are of run "x".
func (k *kit) talk(n, per int) selvage.ThreadID {
	k.Helper()
	id, pre := newID(), selvage.New()
	for i := 0; i < n; i += per {
		var set selvage.ChangeSet
		for seq := i + 1; seq <= min(i+per, n); seq++ {
			m := say("", fmt.Sprint(seq))
			if seq%2 == 0 {
				m.Visibility = selvage.VisibleInternal
			}
			if seq%3 != 0 {
				m.RunID = "x"
			}
			set.Messages = append(set.Messages, m)
		}
		k.append(id, set, pre)
		pre = selvage.Any()
	}
	return id
}

func seqs(messages []selvage.Message) []int64 {
	out := make([]int64, len(messages))
	for i, m := range messages {
		out[i] = m.Seq
	}
	return out
}

// between lists the integers from a to b, in either direction.
func between(a, b int64) []int64 {
	out := []int64{}
	for i := min(a, b); i <= max(a, b); i++ {
		out = append(out, i)
	}
	if a > b {
		slices.Reverse(out)
	}
	return out
}

func messagesPageByPage(k *kit) {
	id := k.talk(25, 4)
	for _, limit := range []int{1, 3, 5, 24, 25, 26} {
		for _, order := range []selvage.Order{"", selvage.Ascending, selvage.Descending} {
			pages := 1
			q := selvage.MessageQuery{Visibility: selvage.ShowAll, Order: order, Limit: &limit}
			got := walkAnd(k, k.messagePages(id, q), func(_ int, items []selvage.Message) {
				if pages++; len(items) != limit {
					k.Fatalf("a page that is not the last has %d messages; want its limit, %d", len(items), limit)
				}
			})
			want := between(1, 25)
			if order == selvage.Descending {
				want = between(25, 1)
			}
			k.equal(fmt.Sprintf("seqs by pages of %d in order %q", limit, order), seqs(got), want)
			if want := (25 + limit - 1) / limit; pages != want {
				k.Errorf("25 messages by pages of %d took %d pages; want %d: the last page has no cursor", limit, pages, want)
			}
		}
	}
}

func messageBounds(k *kit) {
	id := k.talk(10, 3)
	for _, tt := range []struct {
		after, before int64
		limit         int
		want          []int64
	}{
		{0, 0, 50, between(1, 10)},
		{4, 0, 3, between(5, 7)},
		{4, 0, 50, between(5, 10)},
		{0, 4, 50, between(1, 3)},
		{4, 8, 50, between(5, 7)},
		{4, 6, 50, []int64{5}},
		{4, 5, 50, []int64{}},
		{8, 4, 50, []int64{}},
		{9, 0, 50, []int64{10}},
		{10, 0, 50, []int64{}},
		{99, 0, 50, []int64{}},
		{math.MaxInt64, 0, 50, []int64{}},
		{0, 99, 50, between(1, 10)},
		{0, math.MaxInt64, 50, between(1, 10)},
		{0, 1, 50, []int64{}},
	} {
		q := selvage.MessageQuery{After: tt.after, Before: tt.before, Limit: &tt.limit, Visibility: selvage.ShowAll}
		page := k.messages(id, q)
		k.equal(fmt.Sprintf("seqs after %d and before %d, %d at most", tt.after, tt.before, tt.limit), seqs(page.Items), tt.want)
		if more := len(tt.want) == tt.limit; (page.Next != "") != more {
			k.Errorf("after %d and before %d, %d at most: cursor %q; want one exactly if there is more", tt.after, tt.before, tt.limit, page.Next)
		}
	}
}

func messagesNewestFirst(k *kit) {
	id := k.talk(10, 3)
	for _, tt := range []struct {
		after, before int64
		limit         int
		want          []int64
	}{
		{0, 0, 3, between(10, 8)},
		{0, 8, 3, between(7, 5)},
		{6, 0, 50, between(10, 7)},
		{2, 6, 50, between(5, 3)},
		{2, 6, 2, between(5, 4)},
	} {
		q := selvage.MessageQuery{After: tt.after, Before: tt.before, Limit: &tt.limit, Visibility: selvage.ShowAll, Order: selvage.Descending}
		k.equal(fmt.Sprintf("seqs after %d and before %d, newest first, %d at most", tt.after, tt.before, tt.limit), seqs(k.messages(id, q).Items), tt.want)
	}
}

func messagePageLimits(k *kit) {
	id := newID()
	k.append(id, says(make([]string, selvage.MaxPage+50)...), selvage.New())
	for _, tt := range []struct {
		limit *int
		want  int
	}{{nil, selvage.DefaultPage}, {ptr(1), 1}, {ptr(selvage.MaxPage), selvage.MaxPage}, {ptr(selvage.MaxPage + 1), selvage.MaxPage}, {ptr(10000), selvage.MaxPage}, {ptr(math.MaxInt), selvage.MaxPage}} {
		page := k.messages(id, selvage.MessageQuery{Limit: tt.limit})
		if len(page.Items) != tt.want || page.Next == "" {
			k.Errorf("limit %s answers %d messages, cursor %q; want %d and a cursor", encode(k, tt.limit), len(page.Items), page.Next, tt.want)
		}
	}
	if page := k.messages(id, selvage.MessageQuery{Limit: ptr(0)}); page.Items == nil || len(page.Items) != 0 || page.Next != "" {
		k.Errorf("limit 0 answers %d messages (nil: %v), cursor %q; want an empty page, not nil, without cursor", len(page.Items), page.Items == nil, page.Next)
	}
	_, err := k.store.Messages(k.Context(), id, selvage.MessageQuery{Limit: ptr(-1)})
	k.class("messages with limit -1", err, selvage.ErrInvalid)
	if page := k.messages(k.create(selvage.ChangeSet{}), selvage.MessageQuery{}); page.Items == nil || len(page.Items) != 0 || page.Next != "" {
		k.Errorf("a thread without messages answers %d (nil: %v), cursor %q; want an empty page, not nil, without cursor", len(page.Items), page.Items == nil, page.Next)
	}
}

func visibilityFilter(k *kit) {
	id := k.talk(6, 2)
	for filter, want := range map[selvage.VisibilityFilter][]int64{
		"": {1, 3, 5}, selvage.ShowExternal: {1, 3, 5}, selvage.ShowInternal: {2, 4, 6}, selvage.ShowAll: between(1, 6),
	} {
		k.equal(fmt.Sprintf("seqs with visibility %q", filter), seqs(k.messages(id, selvage.MessageQuery{Visibility: filter}).Items), want)
	}
}

func runFilter(k *kit) {
	id := k.talk(9, 2)
	inherits := says("from the set")
	inherits.RunID = "y"
	k.append(id, inherits, selvage.Any())
	for run, want := range map[selvage.RunID][]int64{"x": {1, 2, 4, 5, 7, 8}, "y": {10}, "z": {}, "": between(1, 10)} {
		k.equal(fmt.Sprintf("seqs of run %q", run), seqs(k.messages(id, selvage.MessageQuery{RunID: run, Visibility: selvage.ShowAll}).Items), want)
	}
	k.equal("seqs of run \"x\" that the user may see", seqs(k.messages(id, selvage.MessageQuery{RunID: "x"}).Items), []int64{1, 5, 7})
}

func filtersComeBeforeTheLimit(k *kit) {
	id := k.talk(120, 40)
	q := selvage.MessageQuery{Visibility: selvage.ShowInternal, RunID: "x", After: 10, Before: 100, Order: selvage.Descending, Limit: ptr(7)}
	var want []int64
	for seq := int64(99); seq > 10; seq-- {
		if seq%2 == 0 && seq%3 != 0 {
			want = append(want, seq)
		}
	}
	got := walkAnd(k, k.messagePages(id, q), func(_ int, items []selvage.Message) {
		if len(items) != 7 {
			k.Fatalf("a page has %d messages and a cursor; want it filled up to its limit, 7", len(items))
		}
	})
	k.equal("seqs through all filters", seqs(got), want)
}

func messagesAtAVersion(k *kit) {
	id := k.talk(10, 2)
	k.append(id, selvage.ChangeSet{}, selvage.Any()) // version 6
	k.append(id, says("11"), selvage.Any())
	for v, last := range map[selvage.Version]int64{1: 2, 2: 4, 5: 10, 6: 10, 7: 11, 0: 11} {
		q := selvage.MessageQuery{At: v, Visibility: selvage.ShowAll}
		k.equal(fmt.Sprintf("seqs at version %d", v), seqs(k.messages(id, q).Items), between(1, last))
		q.Order, q.Limit = selvage.Descending, ptr(2)
		k.equal(fmt.Sprintf("last two seqs at version %d", v), seqs(k.messages(id, q).Items), between(last, last-1))
		q.Order, q.Cursor = selvage.Ascending, ""
		k.equal(fmt.Sprintf("seqs at version %d by pages", v), seqs(k.allMessages(id, q)), between(1, last))
	}
	for _, v := range []selvage.Version{8, 1 << 40} {
		_, err := k.store.Messages(k.Context(), id, selvage.MessageQuery{At: v})
		k.class(fmt.Sprintf("messages at version %d of a thread at 7", v), err, selvage.ErrNotFound)
	}
}

func everythingOfAMessageIsKept(k *kit) {
	set := selvage.ChangeSet{ID: "set-" + selvage.NewID(), RunID: "run-of-the-set", Messages: richMessages()}
	set.Messages = append(set.Messages, say("", "without id"))
	id := newID()
	r := k.append(id, set, selvage.New())
	for i := range set.Messages {
		m := &set.Messages[i]
		m.Seq, m.CreatedAt = int64(i+1), r.At
		if m.RunID == "" {
			m.RunID = set.RunID
		}
	}
	set.Messages[4].ID = selvage.MessageID(set.ID, 4, r.At)
	k.equal("messages by pages", k.allMessages(id, selvage.MessageQuery{Visibility: selvage.ShowAll}), set.Messages)
	k.equal("messages of a load", k.load(id).Messages, set.Messages)
}

func verbatimJSON(k *kit) {
	set := selvage.ChangeSet{Messages: richMessages()}
	id := k.create(set)
	for name, got := range map[string][]selvage.Message{"messages": k.allMessages(id, selvage.MessageQuery{Visibility: selvage.ShowAll}), "load": k.load(id).Messages} {
		for key, want := range set.Messages[1].Metadata {
			if have := got[1].Metadata[key]; string(have) != string(want) {
				k.Errorf("%s: the metadata %s became %s", name, want, have)
			}
		}
		if have, want := got[1].Content[3].Value, set.Messages[1].Content[3].Value; string(have) != string(want) {
			k.Errorf("%s: the data %s became %s", name, want, have)
		}
		if have, want := got[2].ToolCalls[0].Arguments, set.Messages[2].ToolCalls[0].Arguments; string(have) != string(want) {
			k.Errorf("%s: the arguments %s became %s", name, want, have)
		}
	}
}

func messagePagesUnderAppends(k *kit) {
	id := k.talk(20, 5)
	q := selvage.MessageQuery{Visibility: selvage.ShowAll, Limit: ptr(6)}
	another := func(page int, _ []selvage.Message) {
		if page < 4 {
			k.append(id, says("in between"), selvage.Any())
		}
	}
	k.equal("seqs read upwards while others append", seqs(walkAnd(k, k.messagePages(id, q), another)), between(1, 23))
	q.Order = selvage.Descending
	k.equal("seqs read downwards while others append", seqs(walkAnd(k, k.messagePages(id, q), another)), between(23, 1))
}

func unknownMessageWords(k *kit) {
	id := k.talk(2, 2)
	for what, q := range map[string]selvage.MessageQuery{
		"order": {Order: "up"}, "order in capitals": {Order: "ASC"}, "visibility": {Visibility: "hidden"},
	} {
		_, err := k.store.Messages(k.Context(), id, q)
		k.class("messages with an unknown "+what, err, selvage.ErrInvalid)
	}
}
