package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
)

// diskFault is a mistake in how stores open what is there already. Each
// opening, the first one too, is given the one before it, or nil.
type diskFault struct {
	name   string
	open   func(d *disk, before *faulty) *faulty
	caught []string
}

func diskFaults() []diskFault {
	sound := func(d *disk) *faulty { return flawless(&handle{disk: d}) }
	var openings atomic.Int64
	return []diskFault{
		{"finds nothing", func(*disk, *faulty) *faulty { return sound(newDisk()) },
			[]string{"Reopen/EverythingIsThere", "Reopen/TheChainGoesOn", "Reopen/ReplaysAreKnown", "Reopen/RulesAreKept", "Reopen/EveryVersionIsThere",
				"Reopen/TombstonesStay", "Reopen/LeasesStay", "Reopen/CursorsStay", "Reopen/AcknowledgedIsWritten",
				"Share/EachSeesTheOther", "Share/OneChain", "Share/OneWinnerAcross", "Share/OneEffectAcross", "Share/OneLeaseAcross",
				"Share/FencedAcross", "Share/CursorsAreShared", "Share/StateIsShared", "WatcherReopen/PositionsStay", "WatcherShare/PositionsAreShared"}},
		{"finds no leases", func(d *disk, _ *faulty) *faulty {
			return sound(&disk{d.Store, inmem.New(inmem.Options{})})
		}, []string{"Reopen/LeasesStay", "Share/OneLeaseAcross", "Share/FencedAcross"}},
		{"seals cursors anew", func(d *disk, _ *faulty) *faulty {
			f := sound(d)
			sealAnew(f, fmt.Sprint(openings.Add(1)))
			return f
		}, []string{"Reopen/CursorsStay", "Share/CursorsAreShared"}},
		{"closes for all", func(d *disk, before *faulty) *faulty {
			f := sound(d)
			if before != nil {
				f.close = func() error { return errors.Join(f.sound.Close(), before.Close()) }
			}
			return f
		}, []string{"Share/CloseOneOnly"}},
		{"keeps states at hand", func(d *disk, _ *faulty) *faulty {
			f := sound(d)
			keepStates(f)
			return f
		}, []string{"Share/StateIsShared"}},
		{"keeps heads at hand", func(d *disk, _ *faulty) *faulty {
			f := sound(d)
			cacheLoads(f)
			return f
		}, []string{"Share/EachSeesTheOther"}},
		{"acknowledges before it writes", func(d *disk, _ *faulty) *faulty {
			f := sound(d)
			onAppend(acknowledgeFirst)(f)
			return f
		}, []string{"Reopen/AcknowledgedIsWritten", "Share/OneChain"}},
		{"counts positions of its own", func(d *disk, _ *faulty) *faulty {
			f := sound(d)
			positionsOfItsOwn(f, openings.Add(1))
			return f
		}, []string{"WatcherReopen/PositionsStay", "WatcherShare/PositionsAreShared"}},
		{"looks for what others write now and then", func(d *disk, _ *faulty) *faulty {
			f := sound(d)
			lookNowAndThen(f)
			return f
		}, []string{"WatcherShare/OthersAreSeenSoon"}},
		{"loses what others write", func(d *disk, _ *faulty) *faulty {
			f := sound(d)
			onFeedPage(func(p *selvage.FeedPage) {
				p.Items = slices.DeleteFunc(p.Items, func(i selvage.FeedItem) bool { return i.Change.Version%5 == 3 })
			})(f)
			return f
		}, []string{"WatcherShare/FeedOfBoth"}},
	}
}

// positionsOfItsOwn makes the positions of one opening worthless to another.
func positionsOfItsOwn(f *faulty, opening int64) {
	feed, end := f.watching.feed, f.watching.end
	f.watching.feed = func(ctx context.Context, q selvage.FeedQuery) (selvage.FeedPage, error) {
		if !q.After.IsZero() {
			q.After.Generation -= opening
		}
		page, err := feed(ctx, q)
		page.Next.Generation += opening
		for i := range page.Items {
			page.Items[i].Position.Generation += opening
		}
		return page, err
	}
	f.watching.end = func(ctx context.Context) (selvage.FeedPosition, error) {
		at, err := end(ctx)
		at.Generation += opening
		return at, err
	}
}

// lookNowAndThen has who waits look every second.
func lookNowAndThen(f *faulty) {
	tick := func(ctx context.Context, look func() (found bool, err error)) error {
		for {
			if found, err := look(); found || err != nil {
				return err
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	events, feed := f.watching.events, f.watching.feed
	f.watching.events = func(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (page selvage.EventPage, err error) {
		wait := q.Wait
		q.Wait = false
		err = tick(ctx, func() (bool, error) {
			page, err = events(ctx, id, q)
			return len(page.Items) > 0 || !wait, err
		})
		return page, err
	}
	f.watching.feed = func(ctx context.Context, q selvage.FeedQuery) (page selvage.FeedPage, err error) {
		wait := q.Wait
		q.Wait = false
		err = tick(ctx, func() (bool, error) {
			page, err = feed(ctx, q)
			return len(page.Items) > 0 || !wait, err
		})
		return page, err
	}
}

// sealAnew makes the cursors of one opening worthless to another.
func sealAnew(f *faulty, seal string) {
	f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
		if q.Cursor != "" {
			own, rest, _ := strings.Cut(string(q.Cursor), "/")
			if own != seal {
				return selvage.MessagePage{}, &selvage.InvalidError{Field: "cursor", Reason: "it is another process's"}
			}
			q.Cursor = selvage.Cursor(rest)
		}
		page, err := f.sound.Messages(ctx, id, q)
		if page.Next != "" {
			page.Next = selvage.Cursor(seal + "/" + string(page.Next))
		}
		return page, err
	}
}

// keepStates answers the state that an opening has seen last, as long as it
// has not written itself.
func keepStates(f *faulty) {
	var mu sync.Mutex
	kept := make(map[selvage.ThreadID]state.Document)
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := f.sound.Append(ctx, id, set, pre)
		mu.Lock()
		defer mu.Unlock()
		delete(kept, id)
		return r, err
	}
	f.state = func(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
		mu.Lock()
		defer mu.Unlock()
		if doc, at := kept[id]; at {
			return doc, nil
		}
		doc, err := f.sound.State(ctx, id, v)
		kept[id] = doc
		return doc, err
	}
}

// TestDiskFaultsAreCaught plants mistakes in how a store is opened again.
func TestDiskFaultsAreCaught(t *testing.T) {
	t.Parallel()
	promises := named(t)
	for _, f := range diskFaults() {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for _, name := range f.caught {
				if broken, _ := record(t, promises[name], diskKit(t, f)); !broken {
					t.Errorf("a store that %s keeps the promise %s (%s); want it caught", f.name, name, promises[name].rule)
				}
			}
		})
	}
}

// diskKit is the kit for stores that are opened with a fault.
func diskKit(t *testing.T, fault diskFault) kit {
	fresh := func() selvage.Store { return fault.open(newDisk(), nil) }
	again := func(s selvage.Store) selvage.Store {
		before := s.(*faulty)
		return fault.open(before.sound.(*handle).disk, before)
	}
	return kit{TB: t, patience: faultPatience, store: fresh(), fresh: fresh, share: again, reopen: func(old selvage.Store) selvage.Store {
		if err := old.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		return again(old)
	}}
}
