package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// watcher is the store as a [selvage.Watcher].
type watcher struct{ s *Store }

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

// events reads a page of events.
func (s *Store) events(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (e *commit.Events, err error) {
	if e, err = commit.NewEvents(q); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(c *conn) error {
		h, err := readHead(c, s.tenant, id)
		if err != nil {
			return err
		}
		if h.Thread.Version == 0 {
			return h.readable()
		}
		if err := e.Begin(id, h.Thread.Version, h.Deleted); err != nil {
			return err
		}
		return h.fill(ctx, c, e)
	})
	return e, err
}

// fill fills a page of events from the log.
func (h *head) fill(ctx context.Context, c *conn, e *commit.Events) error {
	first := h.Thread.Version // a deleted thread has nothing but its tombstone
	if !h.Deleted {
		born, err := h.firstVersion(c)
		if err != nil {
			return err
		}
		first = max(born-1, 1) // the log of a recreated one begins with it
	}
	for v, wants := e.Wants(); wants; v, wants = e.Wants() {
		lo := max(v, first)
		found, err := h.read(ctx, c, span{lo, lo + selvage.Version(min(e.Room(), markEvery)) - 1})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return corrupt(h.Thread.ID, lo, "it is missing")
		}
		for _, ch := range slices.Backward(found) {
			if err := e.Add(&ch.Change); err != nil {
				return err
			}
			if _, wants := e.Wants(); !wants {
				return nil
			}
		}
	}
	return nil
}
