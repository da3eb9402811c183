package storetest

import (
	"fmt"
	"math"

	"github.com/selvagehq/selvage"
)

func changePromises() []promise {
	return []promise{
		{"PageByPage", "ARCHITECTURE 3: Changes answers the log, page by page, each change once.", changesPageByPage},
		{"Bounds", "ChangeQuery: after and before are exclusive; beyond the head there is nothing, which is no error.", changeBounds},
		{"PageLimits", "CONTRACT 17: limit 0 is an empty page, above the maximum it is clamped, negative is invalid; default 50, maximum 200.", changePageLimits},
		{"SetsComeBack", "ARCHITECTURE 1: the log is the only truth: what was submitted can be read from it.", setsComeBack},
		{"EventsDerive", "ARCHITECTURE 3: events derive from their change; nothing else is stored for them.", eventsDerive},
		{"PrefixIsTheVersion", "ARCHITECTURE 1: a prefix of the log makes the thread as it was at that version.", prefixIsTheVersion},
		{"UnknownOrderIsInvalid", "ARCHITECTURE 3: input that breaks a rule is invalid, not guessed at.", unknownChangeOrder},
	}
}

func versions(changes []selvage.Change) []int64 {
	out := make([]int64, len(changes))
	for i, c := range changes {
		out[i] = int64(c.Version)
	}
	return out
}

func (k *kit) changes(id selvage.ThreadID, q selvage.ChangeQuery) selvage.ChangePage {
	k.Helper()
	page, err := k.store.Changes(k.Context(), id, q)
	if err != nil {
		k.Fatalf("changes (%+v) failed: %v", q, err)
	}
	return page
}

// steps makes a thread of n empty versions.
func (k *kit) steps(n int) selvage.ThreadID {
	k.Helper()
	return k.create(make([]selvage.ChangeSet, n)...)
}

func changesPageByPage(k *kit) {
	id := k.steps(12)
	for _, order := range []selvage.Order{"", selvage.Ascending, selvage.Descending} {
		for _, limit := range []int{1, 5, 12, 13} {
			q := selvage.ChangeQuery{Order: order, Limit: &limit}
			got := versions(walkAnd(k, k.changePages(id, q), func(page int, _ []selvage.Change) {
				if page < 4 {
					k.append(id, selvage.ChangeSet{}, selvage.Any()) // another writer
				}
			}))
			if len(got) < 12 {
				k.Fatalf("a log of 12 changes or more was read as %d", len(got))
			}
			if order == selvage.Descending {
				k.equal("versions, newest first", got, between(got[0], 1))
			} else {
				k.equal("versions", got, between(1, int64(len(got))))
			}
		}
		id = k.steps(12)
	}
}

func changeBounds(k *kit) {
	id := k.steps(6)
	for _, tt := range []struct {
		after, before selvage.Version
		order         selvage.Order
		want          []int64
	}{
		{0, 0, "", between(1, 6)},
		{3, 0, "", between(4, 6)},
		{0, 3, "", between(1, 2)},
		{2, 5, "", between(3, 4)},
		{2, 5, selvage.Descending, between(4, 3)},
		{5, 2, "", []int64{}},
		{6, 0, "", []int64{}},
		{99, 0, "", []int64{}},
		{math.MaxInt64, 0, "", []int64{}},
		{99, 0, selvage.Descending, []int64{}},
		{0, 99, "", between(1, 6)},
		{0, math.MaxInt64, selvage.Descending, between(6, 1)},
	} {
		page := k.changes(id, selvage.ChangeQuery{After: tt.after, Before: tt.before, Order: tt.order})
		k.equal(fmt.Sprintf("versions after %d and before %d, order %q", tt.after, tt.before, tt.order), versions(page.Items), tt.want)
		if page.Next != "" {
			k.Errorf("after %d and before %d: there is a cursor, but no more", tt.after, tt.before)
		}
	}
}

func changePageLimits(k *kit) {
	id := k.steps(selvage.MaxPage + 5)
	for _, tt := range []struct {
		limit *int
		want  int
	}{{nil, selvage.DefaultPage}, {ptr(1), 1}, {ptr(selvage.MaxPage + 1), selvage.MaxPage}, {ptr(math.MaxInt), selvage.MaxPage}} {
		page := k.changes(id, selvage.ChangeQuery{Limit: tt.limit})
		if len(page.Items) != tt.want || page.Next == "" {
			k.Errorf("limit %s answers %d changes, cursor %q; want %d and a cursor", encode(k, tt.limit), len(page.Items), page.Next, tt.want)
		}
	}
	if page := k.changes(id, selvage.ChangeQuery{Limit: ptr(0)}); page.Items == nil || len(page.Items) != 0 || page.Next != "" {
		k.Errorf("limit 0 answers %d changes (nil: %v), cursor %q; want an empty page, not nil, without cursor", len(page.Items), page.Items == nil, page.Next)
	}
	_, err := k.store.Changes(k.Context(), id, selvage.ChangeQuery{Limit: ptr(-1)})
	k.class("changes with limit -1", err, selvage.ErrInvalid)
}

func setsComeBack(k *kit) {
	id := newID()
	for i, want := range k.history(id) {
		c := k.change(id, selvage.Version(i+1))
		got, err := c.Set()
		if err != nil {
			k.Fatalf("decode the set of version %d: %v", c.Version, err)
		}
		if want.Reason == "" {
			want.Reason = c.Reason // chosen by the store
		}
		k.equal(fmt.Sprintf("change set of version %d", c.Version), got, want)
	}
}

func eventsDerive(k *kit) {
	id := newID()
	set := richSet()
	set.Messages = append(set.Messages, say(set.Messages[0].ID, "a duplicate"))
	r := k.append(id, set, selvage.New())
	c := k.change(id, 1)
	events, err := c.Events()
	if err != nil {
		k.Fatalf("events of version 1: %v", err)
	}
	var kinds []selvage.EventKind
	for i, e := range events {
		kinds = append(kinds, e.Kind)
		if e.ThreadID != id || e.Position != (selvage.Position{Version: 1, Index: i}) || !e.At.Equal(r.At) || e.RunID != set.RunID {
			k.Errorf("event %d is %s; want it at position 1.%d of thread %q and run %q", i, encode(k, e), i, id, set.RunID)
		}
	}
	k.equal("kinds of events", kinds, []selvage.EventKind{selvage.EventMessage, selvage.EventMessage, selvage.EventMessage, selvage.EventMessage,
		selvage.EventState, selvage.EventRun, selvage.EventToolCall, selvage.EventThread, "note", "bare"})
	if r.Events != len(events) {
		k.Errorf("the receipt counts %d events; the change makes %d", r.Events, len(events))
	}
}

func prefixIsTheVersion(k *kit) {
	id := newID()
	k.history(id)
	var all []selvage.Message
	for _, c := range k.log(id) {
		added, err := c.AddedMessages()
		if err != nil {
			k.Fatalf("messages of version %d: %v", c.Version, err)
		}
		all = append(all, added...)
		k.equal(fmt.Sprintf("messages at version %d, beside those of the log", c.Version),
			k.allMessages(id, selvage.MessageQuery{At: c.Version, Visibility: selvage.ShowAll}), all)
	}
	k.equal("messages of the head, beside those of the log", k.load(id).Messages, all)
}

func unknownChangeOrder(k *kit) {
	_, err := k.store.Changes(k.Context(), k.steps(1), selvage.ChangeQuery{Order: "up"})
	k.class("changes in an unknown order", err, selvage.ErrInvalid)
}
