package inmem

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/selvagehq/selvage"
)

// feed is the order of all changes of a store.
type feed struct {
	generation int64 // tells this store's positions from those of another
	places     []place
	removed    int // how many of them lead nowhere, because their thread was deleted
}

// place leads to a change.
type place struct {
	order int64
	threadKey
	version selvage.Version
}

func newFeed() feed { return feed{generation: 1 + rand.Int64N(1<<48)} }

// after returns the places after one in the order.
func (f *feed) after(order int64) []place {
	i, found := slices.BinarySearchFunc(f.places, order, func(p place, order int64) int { return cmp.Compare(p.order, order) })
	if found {
		i++
	}
	return f.places[i:]
}

// position is a place as the store tells it. That of another tenant's change
// says no more than how far the feed has come.
func (s *Store) position(p place) selvage.FeedPosition {
	at := selvage.FeedPosition{Generation: s.feed.generation, Order: p.order}
	if s.tenant == "" || s.tenant == p.tenant {
		at.Tenant, at.Thread, at.Version = p.tenant, p.id, p.version
	}
	return at
}

// announce gives a change that was taken in its place, and wakes who waits for
// it.
func (s *Store) announce(c *selvage.Change, order int64) {
	key := threadKey{s.tenant, c.ThreadID}
	s.feed.places = append(s.feed.places, place{order, key, c.Version})
	// Places that lead nowhere are passed over one by one, so they must not
	// become many.
	if s.feed.removed > len(s.feed.places)/2 {
		s.feed.places = slices.DeleteFunc(s.feed.places, func(p place) bool { return s.changeAt(p) == nil })
		s.feed.removed = 0
	}
	s.bells.Ring(key, feedBell)
}

// changeAt returns the change of a place, or nil if it was removed.
func (s *Store) changeAt(p place) *selvage.Change {
	t := s.spaces[p.tenant].threads[p.id]
	if t == nil || len(t.log) == 0 || p.version < t.log[0].Version {
		return nil
	}
	return &t.log[p.version-t.log[0].Version]
}
