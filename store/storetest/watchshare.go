package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

// watcherSharePromises hold for watchers of stores that several processes use.
func watcherSharePromises() []promise {
	return []promise{
		{"OthersAreSeenSoon", "CONTRACT 19: who waits sees what another process writes, within 250 ms.", othersAreSeenSoon},
		{"PositionsAreShared", "FeedPosition: its text means the same to every process that works on the store.", positionsAreShared},
		{"FeedOfBoth", "CONTRACT 19: the feed of writers in two processes on one thread has no inversion and no gap, whoever reads it.", feedOfBoth},
	}
}

// watcherReopenPromises hold for watchers of stores that outlive a Close.
func watcherReopenPromises() []promise {
	return []promise{
		{"PositionsStay", "FeedPosition: positions outlive the process: a reader goes on where it stopped.", positionsStay},
	}
}

// othersAreSeenSoon measures how long news take from one store to the other.
// The machine may be busy, so that not each of them has to be in time; one
// that looked every second would not be for so many.
func othersAreSeenSoon(k *kit) {
	const within, rounds, inTime = 250 * time.Millisecond, 7, 3
	const settled = 50 * time.Millisecond
	a, b := k.pair()
	id := a.create(says("one"))
	took := make(map[string][]time.Duration)
	for range rounds {
		for what, wait := range b.waits(id) {
			if took[what] == nil {
				took[what] = []time.Duration{}
			}
			var written, seen time.Time
			begun := make(chan struct{})
			errs := together(2, func(who int) error {
				if who == 0 {
					<-begun
					k.waitUntil(time.Now().Add(settled)) // for the other to be waiting
					_, err := a.store.Append(k.Context(), id, says("news"), selvage.Any())
					written = time.Now()
					return err
				}
				close(begun)
				_, err := wait(k.patient())
				seen = time.Now()
				return err
			})
			k.noErrors(errs)
			took[what] = append(took[what], seen.Sub(written))
		}
	}
	for what, all := range took {
		slices.Sort(all)
		if all[inTime-1] > within {
			k.Errorf("%s by another handle were seen after %v; want them within %v, at least %d of %d on a busy machine", what, all, within, inTime, rounds)
		}
	}
}

func positionsAreShared(k *kit) {
	a, b := k.pair()
	id := a.create(says("one"), says("two"), says("three"))
	items := a.feedUntil(selvage.FeedPosition{}, id, 3)
	k.equal("versions read on through the other", versions(changesOf(b.feed(selvage.FeedQuery{After: items[0].Position}).Items)), []int64{2, 3})
	end, err := b.watcher().End(k.Context())
	if err != nil {
		k.Fatalf("end of the feed: %v", err)
	}
	a.append(id, says("four"), selvage.Any())
	k.equal("versions after the end that the other told", versions(changesOf(a.feedUntil(end, id, 4))), []int64{4})
}

func feedOfBoth(k *kit) {
	a, b := k.pair()
	id := a.create(says("one"))
	var one, other []selvage.FeedItem
	var events []selvage.Event
	a.busyWith(func(w, _ int) error {
		_, err := []selvage.Store{a.store, b.store}[w%2].Append(k.Context(), id, says(fmt.Sprint(w)), selvage.Any())
		return err
	}, func() error {
		_, err := b.store.Append(k.Context(), id, closing(), selvage.Any())
		return err
	}, a.feedFollower(id, selvage.FeedPosition{}, &one), b.feedFollower(id, selvage.FeedPosition{}, &other), b.follower(id, selvage.Position{}, &events))
	a.logged(one, id)
	b.logged(other, id)
	k.equal("events through the other", events, a.eventsOf(a.log(id)))
}

func positionsStay(k *kit) {
	k = k.alone()
	id := k.create(says("one"), says("two"))
	items := k.feedUntil(selvage.FeedPosition{}, id, 2)
	after := items[0].Position.String()
	k = k.restart()
	k.append(id, says("three"), selvage.Any())
	var at selvage.FeedPosition
	if err := at.UnmarshalText([]byte(after)); err != nil {
		k.Fatalf("position %s: %v", after, err)
	}
	k.equal("versions read on after a restart", versions(changesOf(k.feedUntil(at, id, 3))), []int64{2, 3})
	k.equal("events read on after a restart", k.allEvents(id, selvage.Position{Version: 1}, 1), k.eventsOf(k.log(id)[1:]))
}
