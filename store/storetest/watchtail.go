package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// tailPromises are about following writers that are at work.
func tailPromises() []promise {
	const rule = "ARCHITECTURE 3: history and what follows are one stream without a gap and without a repetition"
	return []promise{
		{"EventsUnderWriters", rule + ", while 16 writers append to one thread: from the beginning, from a position, and from the end.", eventsUnderWriters},
		{"FeedOfOneThread", "CONTRACT 19: the feed of 16 Any writers on one thread has no inversion and no gap.", feedOfOneThread},
		{"FeedOfManyThreads", rule + ", while 16 writers append to many threads: from the beginning, from a position, and from the end.", feedOfManyThreads},
		{"FeedUnderDeletes", "Watcher.Feed: threads that are deleted and made again meanwhile are told in order, each life by its tombstone.", feedUnderDeletes},
	}
}

const (
	tailWriters = 16
	tailEach    = 12
	lastEvent   = selvage.EventKind("the last")
)

// closing is the set after which followers stop.
func closing() selvage.ChangeSet {
	return selvage.ChangeSet{Events: []selvage.EventDraft{{Kind: lastEvent}}}
}

// busy runs writers and, beside them, readers, which go on until they have
// read what end appends after the writers have ended.
func (k *kit) busyWith(write func(w, i int) error, end func() error, readers ...func() error) {
	k.Helper()
	written := make(chan struct{})
	errs := together(1+len(readers), func(who int) error {
		if who > 0 {
			return readers[who-1]()
		}
		defer close(written)
		err := errors.Join(together(tailWriters, func(w int) error {
			for i := range tailEach {
				if err := write(w, i); err != nil {
					return fmt.Errorf("writer %d: %w", w, err)
				}
			}
			return nil
		})...)
		return errors.Join(err, end())
	})
	for i, err := range errs {
		if err != nil && i == 0 {
			k.Fatalf("the writers failed: %v", err)
		} else if err != nil {
			k.Fatalf("reader %d failed: %v", i, err)
		}
	}
}

// follower collects the events of a thread up to the last one.
func (k *kit) follower(id selvage.ThreadID, after selvage.Position, into *[]selvage.Event) func() error {
	ctx, w := k.patient(), k.watcher()
	return func() error {
		for e, err := range selvage.Follow(ctx, w, id, after) {
			if err != nil {
				return fmt.Errorf("after %d events: %w", len(*into), err)
			}
			if *into = append(*into, e); e.Kind == lastEvent {
				return nil
			}
		}
		return errors.New("the events ended")
	}
}

// feedFollower collects the feed up to the last change of a thread.
func (k *kit) feedFollower(last selvage.ThreadID, after selvage.FeedPosition, into *[]selvage.FeedItem) func() error {
	ctx, w := k.patient(), k.watcher()
	return func() error {
		for item, err := range selvage.FollowFeed(ctx, w, after) {
			if err != nil {
				return fmt.Errorf("after %d changes: %w", len(*into), err)
			}
			*into = append(*into, item)
			events, err := item.Change.Events()
			if err != nil {
				return err
			}
			if item.Change.ThreadID == last && len(events) == 1 && events[0].Kind == lastEvent {
				return nil
			}
		}
		return errors.New("the feed ended")
	}
}

func eventsUnderWriters(k *kit) {
	id := k.create(says("one"), richSet(), says("three"))
	middle := selvage.Position{Version: 2, Index: 1}
	var fromStart, fromMiddle, fromEnd []selvage.Event
	k.busyWith(func(w, i int) error {
		_, err := k.store.Append(k.Context(), id, says(fmt.Sprint(w), fmt.Sprint(i)), selvage.Any())
		return err
	}, func() error {
		_, err := k.store.Append(k.Context(), id, closing(), selvage.Any())
		return err
	}, k.follower(id, selvage.Position{}, &fromStart), k.follower(id, middle, &fromMiddle), k.follower(id, selvage.Version(3).End(), &fromEnd))
	all := k.eventsOf(k.log(id))
	k.equal("events from the beginning", fromStart, all)
	k.equal("events from a position", fromMiddle, slices.DeleteFunc(slices.Clone(all), func(e selvage.Event) bool {
		return e.Position.Version < 2 || e.Position.Version == 2 && e.Position.Index <= 1
	}))
	k.equal("events from the end", fromEnd, slices.DeleteFunc(slices.Clone(all), func(e selvage.Event) bool { return e.Position.Version <= 3 }))
}

func feedOfOneThread(k *kit) {
	k = k.alone()
	id := k.create(says("one"), says("two"))
	seen := k.feedUntil(selvage.FeedPosition{}, id, 2)
	end, err := k.watcher().End(k.Context())
	if err != nil {
		k.Fatalf("end of the feed: %v", err)
	}
	var fromStart, fromMiddle, fromEnd []selvage.FeedItem
	k.busyWith(func(w, _ int) error {
		_, err := k.store.Append(k.Context(), id, says(fmt.Sprint(w)), selvage.Any())
		return err
	}, func() error {
		_, err := k.store.Append(k.Context(), id, closing(), selvage.Any())
		return err
	}, k.feedFollower(id, selvage.FeedPosition{}, &fromStart), k.feedFollower(id, seen[0].Position, &fromMiddle), k.feedFollower(id, end, &fromEnd))
	k.logged(fromStart, id)
	log := k.log(id)
	k.equal("versions from a position", versions(changesOf(fromMiddle)), versions(log[1:]))
	k.equal("versions from the end", versions(changesOf(fromEnd)), versions(log[2:]))
}

func feedOfManyThreads(k *kit) {
	k = k.alone()
	shared, last := k.create(says("shared")), k.create(says("one"))
	ids := []selvage.ThreadID{shared, last}
	own := make([]selvage.ThreadID, tailWriters)
	for w := range own {
		own[w] = newID()
		ids = append(ids, own[w])
	}
	seen := k.feedUntil(selvage.FeedPosition{}, last, 1)
	end, err := k.watcher().End(k.Context())
	if err != nil {
		k.Fatalf("end of the feed: %v", err)
	}
	var fromStart, fromMiddle, fromEnd []selvage.FeedItem
	k.busyWith(func(w, i int) error {
		switch i {
		case 0:
			_, err := k.store.Append(k.Context(), own[w], says("own"), selvage.New())
			return err
		case 1, 5:
			_, err := k.store.Append(k.Context(), shared, says("shared"), selvage.Any())
			return err
		default: // the thread of a neighbour too, if it is there
			_, err := k.store.Append(k.Context(), own[(w+i%2)%tailWriters], says("own"), selvage.Any())
			if errors.Is(err, selvage.ErrNotFound) {
				return nil
			}
			return err
		}
	}, func() error {
		_, err := k.store.Append(k.Context(), last, closing(), selvage.Any())
		return err
	}, k.feedFollower(last, selvage.FeedPosition{}, &fromStart), k.feedFollower(last, seen[0].Position, &fromMiddle), k.feedFollower(last, end, &fromEnd))
	k.logged(fromStart, ids...)
	k.equal("changes from a position", changesOf(fromMiddle), changesOf(fromStart[1:]))
	k.equal("changes from the end", changesOf(fromEnd), changesOf(fromStart[2:]))
	for i := 0; i < len(fromStart)-1; i += 17 {
		page := k.feed(selvage.FeedQuery{After: fromStart[i].Position, Limit: ptr(20)})
		k.equal(fmt.Sprintf("the page after change %d", i), changesOf(page.Items), changesOf(fromStart[i+1:min(i+21, len(fromStart))]))
	}
}

func feedUnderDeletes(k *kit) {
	k = k.alone()
	last := k.create(says("one"))
	lives := make([]selvage.ThreadID, tailWriters)
	for w := range lives {
		lives[w] = k.create(says("first life"))
	}
	var items []selvage.FeedItem
	k.busyWith(func(w, i int) error {
		var err error
		switch i % 4 {
		case 0, 1:
			_, err = k.store.Append(k.Context(), lives[w], says("more"), selvage.Any())
		case 2:
			err = k.store.Delete(k.Context(), lives[w], selvage.DeleteReject)
		default:
			_, err = k.store.Append(k.Context(), lives[w], says("next life"), selvage.Recreate())
		}
		return err
	}, func() error {
		_, err := k.store.Append(k.Context(), last, closing(), selvage.Any())
		return err
	}, k.feedFollower(last, selvage.FeedPosition{}, &items))
	told := make(map[selvage.ThreadID]selvage.Version)
	for _, item := range items {
		c := item.Change
		before := told[c.ThreadID]
		// What a deletion removed before it was read is passed over; nothing
		// else may be missing.
		if c.Version <= before || c.Version > before+1 && c.Reason != selvage.ReasonDeleted {
			k.Errorf("version %d of %q (%s) follows version %d in the feed", c.Version, c.ThreadID, c.Reason, before)
		}
		told[c.ThreadID] = c.Version
	}
	for _, id := range lives {
		if v := k.load(id).Thread.Version; told[id] != v {
			k.Errorf("the feed of %q ends at version %d; its head is at %d", id, told[id], v)
		}
	}
}
