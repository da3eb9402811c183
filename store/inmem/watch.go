package inmem

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// watcher is the store as a [selvage.Watcher].
type watcher struct{ s *Store }

// threadKey names a thread of any tenant.
type threadKey struct {
	tenant string
	id     selvage.ThreadID
}

// feedBell is the bell of the feed: no thread is called that.
var feedBell threadKey

// Events implements [selvage.Watcher].
func (w watcher) Events(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (page selvage.EventPage, err error) {
	look := func() (bool, error) {
		for {
			e, err := w.s.events(ctx, id, q)
			if err != nil {
				return false, err
			}
			if page, q.After = e.Page, e.Page.Next; e.Found() || !q.Wait || !page.More {
				return e.Found(), nil
			}
		}
	}
	if err := w.s.await(ctx, threadKey{w.s.tenant, id}, q.Wait, look); err != nil {
		return selvage.EventPage{}, fmt.Errorf("events of thread %q: %w", id, err)
	}
	return page, nil
}

// await calls look once, or until it has found something.
func (s *Store) await(ctx context.Context, bell threadKey, wait bool, look func() (bool, error)) error {
	if found, err := look(); found || err != nil || !wait {
		return err
	}
	return s.bells.Wait(ctx, bell, look)
}

func (s *Store) events(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (*commit.Events, error) {
	e, err := commit.NewEvents(q)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	t := s.threads[id]
	if t == nil || len(t.log) == 0 {
		return nil, fmt.Errorf("thread %q: %w", id, selvage.ErrNotFound)
	}
	if err := e.Begin(id, t.head.Thread.Version, t.head.Deleted); err != nil {
		return nil, err
	}
	for v, wants := e.Wants(); wants; v, wants = e.Wants() {
		first := t.log[0].Version
		c := cloneChange(&t.log[max(v, first)-first])
		if err := e.Add(&c); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Feed implements [selvage.Watcher].
func (w watcher) Feed(ctx context.Context, q selvage.FeedQuery) (page selvage.FeedPage, err error) {
	look := func() (bool, error) {
		for {
			f, err := w.s.readFeed(ctx, q)
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

func (s *Store) readFeed(ctx context.Context, q selvage.FeedQuery) (*commit.Feed, error) {
	f, err := commit.NewFeed(q)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if err := f.Begin(s.feed.generation, q.After.Order > s.clock); err != nil {
		return nil, err
	}
	for _, p := range s.feed.after(q.After.Order) {
		c := s.changeAt(p)
		if c == nil {
			continue
		}
		at, more := s.position(p), false
		if s.tenant == "" || s.tenant == p.tenant {
			more = f.Take(selvage.FeedItem{Position: at, Tenant: p.tenant, Change: cloneChange(c)})
		} else {
			more = f.Pass(at)
		}
		if !more {
			break
		}
	}
	return f, nil
}

// End implements [selvage.Watcher].
func (w watcher) End(ctx context.Context) (selvage.FeedPosition, error) {
	w.s.mu.RLock()
	defer w.s.mu.RUnlock()
	if err := w.s.enter(ctx); err != nil {
		return selvage.FeedPosition{}, fmt.Errorf("end of the feed: %w", err)
	}
	if n := len(w.s.feed.places); n > 0 {
		return w.s.position(w.s.feed.places[n-1]), nil
	}
	return selvage.FeedPosition{Generation: w.s.feed.generation}, nil
}
