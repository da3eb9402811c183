package storetest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

// watcherPromises are about what one goroutine reads. The others are about
// waiting, and about following writers.
func watcherPromises() []promise {
	return slices.Concat([]promise{
		{"EventsOfTheLog", "ARCHITECTURE 3: the events of a thread are those of its changes, in the order of the log.", eventsOfTheLog},
		{"AfterIsExclusive", "EventQuery: After is exclusive: from each position on a reader gets what follows it, and that only.", afterIsExclusive},
		{"EventPages", "EventQuery: a page may end in the middle of a change; the next one goes on there.", eventPages},
		{"EventPageLimits", "CONTRACT 17: limit 0 is an empty page, above the maximum it is clamped, negative is invalid; default 50, maximum 200.", eventPageLimits},
		{"ChangesWithoutEvents", "EventPage: Next goes on behind changes that made no event, so that they are not read again and again.", changesWithoutEvents},
		{"EventsNeedAThread", "Watcher.Events: a thread that never was is not found, leased or not.", eventsNeedAThread},
		{"AheadIsExpired", "Watcher.Events: a position beyond the head of the thread has expired.", aheadIsExpired},
		{"DeletedThreadEnds", "Watcher.Events: a deleted thread ends with the event of its tombstone.", deletedThreadEnds},
		{"RecreatedThreadGoesOn", "Watcher.Events: the events of a recreated thread follow its tombstone, also for who was in the middle of its former life.", recreatedThreadGoesOn},
	}, feedPromises(), waitPromises(), tailPromises())
}

// watcher is the store as a Watcher.
func (k *kit) watcher() selvage.Watcher {
	k.Helper()
	w, ok := selvage.As[selvage.Watcher](k.store)
	if !ok {
		k.Fatalf("a %T offers no Watcher", k.store)
	}
	return w
}

// patience is how long something may take that should not take long, on a busy
// machine.
const patience = time.Minute

// patient returns a context for calls that wait.
func (k *kit) patient() context.Context {
	ctx, cancel := context.WithTimeout(k.Context(), k.patience)
	k.Cleanup(cancel)
	return ctx
}

func (k *kit) events(id selvage.ThreadID, q selvage.EventQuery) selvage.EventPage {
	k.Helper()
	page, err := k.watcher().Events(k.Context(), id, q)
	if err != nil {
		k.Fatalf("events after %s failed: %v", q.After, err)
	}
	if page.Items == nil {
		k.Errorf("events after %s: the items are nil; want a list", q.After)
	}
	return page
}

// allEvents reads the events there are after a position, by pages.
func (k *kit) allEvents(id selvage.ThreadID, after selvage.Position, limit int) []selvage.Event {
	k.Helper()
	all := []selvage.Event{}
	for range 10_000 {
		page := k.events(id, selvage.EventQuery{After: after, Limit: &limit})
		all = append(all, page.Items...)
		if after = page.Next; !page.More {
			return all
		}
	}
	k.Fatalf("events of %q: there is always more", id)
	return nil
}

// eventsOf are the events of changes.
func (k *kit) eventsOf(log []selvage.Change) []selvage.Event {
	k.Helper()
	all := []selvage.Event{}
	for i := range log {
		events, err := log[i].Events()
		if err != nil {
			k.Fatalf("events of version %d: %v", log[i].Version, err)
		}
		all = append(all, events...)
	}
	return all
}

func eventsOfTheLog(k *kit) {
	id := newID()
	k.history(id)
	want := k.eventsOf(k.log(id))
	for _, limit := range []int{1, 3, 7, selvage.MaxPage} {
		k.equal(fmt.Sprintf("events, %d at a time", limit), k.allEvents(id, selvage.Position{}, limit), want)
	}
	page := k.events(id, selvage.EventQuery{Limit: ptr(selvage.MaxPage)})
	if page.More || page.Ended || page.Next.Version != k.load(id).Thread.Version {
		k.Errorf("a page with all events has more: %v, ended: %v, next %s; want false, false and a position of the head", page.More, page.Ended, page.Next)
	}
}

func afterIsExclusive(k *kit) {
	id := newID()
	k.history(id)
	all := k.eventsOf(k.log(id))
	for i, e := range all {
		var after selvage.Position
		if err := after.UnmarshalText([]byte(e.Position.String())); err != nil {
			k.Fatalf("position %s does not come back from its text: %v", e.Position, err)
		}
		k.equal("events after "+e.Position.String(), k.allEvents(id, after, 5), all[i+1:])
	}
	for _, v := range []selvage.Version{1, 2, k.load(id).Thread.Version} {
		first := slices.IndexFunc(all, func(e selvage.Event) bool { return e.Position.Version > v })
		if first < 0 {
			first = len(all)
		}
		k.equal(fmt.Sprintf("events after the end of version %d", v), k.allEvents(id, v.End(), 5), all[first:])
	}
}

func eventPages(k *kit) {
	set := richSet()
	id := k.create(set, says("more"))
	want := k.eventsOf(k.log(id))
	var got []selvage.Event
	after := selvage.Position{}
	for i := range want {
		page := k.events(id, selvage.EventQuery{After: after, Limit: ptr(1)})
		if len(page.Items) != 1 || page.Next != page.Items[0].Position || page.More != (i+1 < len(want)) {
			k.Fatalf("page %d of one event each is %s; want one, next after it, and more but at the end", i, encode(k, page))
		}
		got, after = append(got, page.Items...), page.Next
	}
	k.equal("events, one at a time", got, want)
	if page := k.events(id, selvage.EventQuery{After: after}); len(page.Items) != 0 || page.Next != after || page.More {
		k.Errorf("the page after the last event is %s; want it empty, and next where it was", encode(k, page))
	}
}

func eventPageLimits(k *kit) {
	id := k.create(selvage.ChangeSet{Events: slices.Repeat([]selvage.EventDraft{{Kind: "note"}}, selvage.MaxPage+5)})
	for _, tt := range []struct {
		limit *int
		want  int
	}{{nil, selvage.DefaultPage}, {ptr(1), 1}, {ptr(selvage.MaxPage + 1), selvage.MaxPage}, {ptr(math.MaxInt), selvage.MaxPage}} {
		if page := k.events(id, selvage.EventQuery{Limit: tt.limit}); len(page.Items) != tt.want || !page.More {
			k.Errorf("limit %s answers %d events, more: %v; want %d and more", encode(k, tt.limit), len(page.Items), page.More, tt.want)
		}
	}
	if page := k.events(id, selvage.EventQuery{Limit: ptr(0), Wait: true}); len(page.Items) != 0 || page.Next != (selvage.Position{}) {
		k.Errorf("limit 0 answers %s; want an empty page that goes on where it began", encode(k, page))
	}
	_, err := k.watcher().Events(k.Context(), id, selvage.EventQuery{Limit: ptr(-1)})
	k.class("events with limit -1", err, selvage.ErrInvalid)
	for _, after := range []selvage.Position{{Version: -1}, {Version: 1, Index: -1}} {
		_, err := k.watcher().Events(k.Context(), id, selvage.EventQuery{After: after})
		k.class("events after "+after.String(), err, selvage.ErrInvalid)
	}
}

func changesWithoutEvents(k *kit) {
	id := k.create(says("one"))
	for range 70 {
		k.append(id, selvage.ChangeSet{}, selvage.Any())
	}
	page := k.events(id, selvage.EventQuery{})
	for page.More {
		page = k.events(id, selvage.EventQuery{After: page.Next})
	}
	if page.Next.Version != 71 {
		k.Errorf("after 70 changes without events next is %s; want a position of version 71", page.Next)
	}
	k.append(id, says("two"), selvage.Any())
	k.equal("events after changes without any", k.allEvents(id, page.Next, 50), k.eventsOf(k.log(id)[71:]))
	k.equal("events with changes without any between", k.allEvents(id, selvage.Position{}, 1), k.eventsOf(k.log(id)))
}

func eventsNeedAThread(k *kit) {
	leased := newID()
	k.acquire(k.leaser(), leased, owner("a"))
	for _, id := range []selvage.ThreadID{newID(), leased} {
		for _, wait := range []bool{false, true} {
			_, err := k.watcher().Events(k.patient(), id, selvage.EventQuery{Wait: wait})
			k.class("events of a thread that never was", err, selvage.ErrNotFound)
		}
	}
}

func aheadIsExpired(k *kit) {
	id := k.steps(3)
	for _, after := range []selvage.Position{{Version: 4}, {Version: 99, Index: 2}, selvage.Version(math.MaxInt64 - 1).End()} {
		_, err := k.watcher().Events(k.patient(), id, selvage.EventQuery{After: after, Wait: true})
		k.class("events after "+after.String()+" of a thread at version 3", err, selvage.ErrCursorExpired)
	}
	for _, after := range []selvage.Position{{Version: 3, Index: 7}, selvage.Version(3).End()} {
		if page := k.events(id, selvage.EventQuery{After: after}); len(page.Items) != 0 || page.Next.Version != 3 {
			k.Errorf("events after %s of a thread at version 3: %s; want none, and to go on from there", after, encode(k, page))
		}
	}
}

func deletedThreadEnds(k *kit) {
	id := k.create(says("one"), says("two"))
	k.delete(id, selvage.DeleteReject)
	for _, after := range []selvage.Position{{}, {Version: 1}, {Version: 2}, selvage.Version(2).End()} {
		page := k.events(id, selvage.EventQuery{After: after, Wait: true})
		if len(page.Items) != 1 || !page.Ended || page.More {
			k.Fatalf("events after %s of a deleted thread: %s; want that of the tombstone, and the end", after, encode(k, page))
		}
		e := page.Items[0]
		if e.Position != (selvage.Position{Version: 3}) || e.Kind != selvage.EventThread || string(e.Payload) != `{"deleted":true}` || e.ThreadID != id {
			k.Errorf("the event of a tombstone is %s; want a thread's, deleted, at 3.0", encode(k, e))
		}
		if page = k.events(id, selvage.EventQuery{After: page.Next, Wait: true}); len(page.Items) != 0 || !page.Ended {
			k.Errorf("events after the tombstone: %s; want none, and the end, without waiting", encode(k, page))
		}
	}
	n := 0
	for _, err := range selvage.Follow(k.patient(), k.watcher(), id, selvage.Position{}) {
		if err != nil {
			k.Fatalf("following a deleted thread failed: %v", err)
		}
		n++
	}
	if n != 1 {
		k.Errorf("following a deleted thread told %d events; want 1", n)
	}
}

func recreatedThreadGoesOn(k *kit) {
	id := k.create(says("one"), says("two"))
	k.delete(id, selvage.DeleteReject)
	k.append(id, says("again"), selvage.Recreate())
	k.append(id, says("and again"), selvage.Any())
	want := k.eventsOf(k.log(id))
	if len(want) == 0 || string(want[0].Payload) != `{"deleted":true}` {
		k.Fatalf("the log of a recreated thread makes the events %s; want that of the tombstone first", encode(k, want))
	}
	for _, after := range []selvage.Position{{}, {Version: 1}, {Version: 2}} {
		k.equal("events after "+after.String()+" of a recreated thread", k.allEvents(id, after, 2), want)
	}
	k.equal("events after the tombstone", k.allEvents(id, want[0].Position, 2), want[1:])
	if page := k.events(id, selvage.EventQuery{}); page.Ended {
		k.Error("the events of a recreated thread have ended; want them to go on")
	}
}
