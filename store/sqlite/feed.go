package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// Changes of the whole store stand in one order, that of their positions.
const (
	placesAfter = `SELECT c.pos, t.tenant, t.id, c.thread, c.version FROM changes c CROSS JOIN threads t ON t.key = c.thread
		WHERE c.pos > ? ORDER BY c.pos LIMIT ?`
	placeAt   = `SELECT c.pos, t.tenant, t.id, c.thread, c.version FROM changes c CROSS JOIN threads t ON t.key = c.thread WHERE c.pos = ?`
	lastPlace = `SELECT c.pos, t.tenant, t.id, c.thread, c.version FROM changes c CROSS JOIN threads t ON t.key = c.thread
		WHERE c.pos = (SELECT max(pos) FROM changes)`
	selectGeneration = `SELECT value FROM meta WHERE key = 'generation'`
)

// place leads to a change of any thread.
type place struct {
	pos int64
	threadKey
	thread  int64
	version selvage.Version
}

func scanPlace(r *rows) place {
	return place{r.int(0), threadKey{r.text(1), threadIDOf(r, 2)}, r.int(3), selvage.Version(r.int(4))}
}

func threadIDOf(r *rows, i int) selvage.ThreadID { return selvage.ThreadID(r.text(i)) }

// position is a place as the store tells it. That of another tenant's change
// says no more than how far the feed has come.
func (s *Store) position(generation int64, p place) selvage.FeedPosition {
	at := selvage.FeedPosition{Generation: generation, Order: p.pos}
	if s.sees(p.tenant) {
		at.Tenant, at.Thread, at.Version = p.tenant, p.id, p.version
	}
	return at
}

// sees reports whether the changes of a tenant are in the store's feed.
func (s *Store) sees(tenant string) bool { return s.tenant == "" || s.tenant == tenant }

// Feed implements [selvage.Watcher]. The content of each change is proved on
// the way, as in [Store.Changes].
func (w watcher) Feed(ctx context.Context, q selvage.FeedQuery) (page selvage.FeedPage, err error) {
	look := func() (bool, error) {
		for {
			f, err := w.s.feed(ctx, q)
			if err != nil {
				return false, err
			}
			if page, q.After = f.Page, f.Page.Next; f.Found() || !q.Wait || !page.More {
				return f.Found(), nil
			}
		}
	}
	if err := w.s.await(ctx, feedBell, q.Wait, look); err != nil {
		return selvage.FeedPage{}, fmt.Errorf("feed: %w", err)
	}
	return page, nil
}

func (s *Store) feed(ctx context.Context, q selvage.FeedQuery) (f *commit.Feed, err error) {
	if f, err = commit.NewFeed(q); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(c *conn) error {
		generation, err := readGeneration(c)
		if err != nil {
			return err
		}
		ahead, err := ahead(c, q.After)
		if err != nil {
			return err
		}
		if err := f.Begin(generation, ahead); err != nil || f.Limit == 0 {
			return err
		}
		scan := f.Limit + 1
		if s.tenant != "" {
			scan = commit.MaxScan + 1 // most may be of others
		}
		places, err := readPlaces(c, placesAfter, q.After.Order, int64(scan))
		if err != nil {
			return err
		}
		return s.fillFeed(ctx, c, f, generation, places)
	})
	return f, err
}

// fillFeed fills a page with the changes at places that the store may see.
func (s *Store) fillFeed(ctx context.Context, c *conn, f *commit.Feed, generation int64, places []place) error {
	for _, p := range places {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := s.position(generation, p)
		if !s.sees(p.tenant) {
			if !f.Pass(at) {
				return nil
			}
			continue
		}
		change, err := changeAt(c, p)
		if err != nil {
			return err
		}
		if !f.Take(selvage.FeedItem{Position: at, Tenant: p.tenant, Change: change}) {
			return nil
		}
	}
	return nil
}

// changeAt reads the change at a place and proves it.
func changeAt(c *conn, p place) (selvage.Change, error) {
	h := head{key: p.thread}
	h.Thread.ID = p.id
	ch, err := readChange(c, &h, p.pos)
	if err != nil {
		return selvage.Change{}, err
	}
	if ch.Prev, err = prevOf(c, ch); err != nil {
		return selvage.Change{}, err
	}
	if selvage.ChainHash(ch.Prev, ch.Version, ch.FirstSeq, ch.At, ch.Content) != ch.Hash {
		return selvage.Change{}, corrupt(p.id, ch.Version, "its header does not match its hash")
	}
	return ch.Change, nil
}

// ahead reports whether a position was not read from this data: it lies beyond
// the last change, or another change stands there.
func ahead(c *conn, at selvage.FeedPosition) (bool, error) {
	var last int64
	if _, err := c.one(func(r *rows) { last = r.int(0) }, lastPosition); err != nil || at.Order > last {
		return true, err
	}
	if at.Thread == "" {
		return false, nil
	}
	places, err := readPlaces(c, placeAt, at.Order)
	if err != nil || len(places) == 0 {
		return false, err // it went with its thread
	}
	p := places[0]
	return p.id != at.Thread || p.tenant != at.Tenant || p.version != at.Version, nil
}

// End implements [selvage.Watcher].
func (w watcher) End(ctx context.Context) (end selvage.FeedPosition, err error) {
	err = w.s.read(ctx, func(c *conn) error {
		generation, err := readGeneration(c)
		if err != nil {
			return err
		}
		places, err := readPlaces(c, lastPlace)
		if err != nil {
			return err
		}
		if end.Generation = generation; len(places) > 0 {
			end = w.s.position(generation, places[0])
		}
		return nil
	})
	if err != nil {
		return selvage.FeedPosition{}, fmt.Errorf("end of the feed: %w", err)
	}
	return end, nil
}

// readPlaces reads the rows of a query for places.
func readPlaces(c *conn, query string, args ...driver.Value) (places []place, err error) {
	r, err := c.query(query, args...)
	if err != nil {
		return nil, err
	}
	for r.next() {
		places = append(places, scanPlace(r))
	}
	return places, r.close()
}

// readGeneration reads the generation of the file's data.
func readGeneration(c *conn) (generation int64, err error) {
	found, err := c.one(func(r *rows) { generation = r.int(0) }, selectGeneration)
	if err == nil && !found {
		err = fmt.Errorf("table meta, generation: %w: %w", errNoRow, selvage.ErrCorrupt)
	}
	return generation, err
}
