package commit

import (
	"fmt"
	"math"

	"github.com/selvagehq/selvage"
)

const (
	// maxEventBytes is how many bytes of changes a page of events or of the
	// feed is made of, about. The change that exceeds it is the last.
	maxEventBytes = 16 << 20
	// MaxScan bounds the changes that one page of events or of the feed looks
	// at, for not all of them are seen in it.
	MaxScan = 1000
)

// Events fills a page of a thread's events from its changes.
type Events struct {
	Page selvage.EventPage

	after selvage.Position
	limit int
	head  selvage.Version
	ends  bool // the log does, because the thread is deleted
	size  meter
	next  selvage.Version // the change to go on with
	part  bool            // of which some events were left out
}

// NewEvents begins the page that a query asks for. The error matches
// [selvage.ErrInvalid].
func NewEvents(q selvage.EventQuery) (*Events, error) {
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return nil, err
	}
	if q.After.Version < 0 || q.After.Index < 0 {
		return nil, invalid("after", "%s is no position of an event", q.After)
	}
	return &Events{after: q.After, limit: limit, Page: selvage.EventPage{Items: []selvage.Event{}, Next: q.After}}, nil
}

// Begin tells the page how far the thread's log goes, and whether it ends
// there. A position beyond it matches [selvage.ErrCursorExpired].
func (e *Events) Begin(id selvage.ThreadID, head selvage.Version, deleted bool) error {
	if e.after.Version > head {
		return fmt.Errorf("thread %q is at version %d, before position %s; read it from the beginning: %w",
			id, head, e.after, selvage.ErrCursorExpired)
	}
	e.head, e.ends = head, deleted
	if e.next = max(e.after.Version, 1); e.after.Index == math.MaxInt32 {
		e.next = e.after.Version + 1
	}
	e.finish()
	return nil
}

// finish says what comes after the page.
func (e *Events) finish() {
	more := e.next <= e.head || e.part
	e.Page.More = more && e.limit > 0
	e.Page.Ended = e.ends && !more
}

// Wants returns the first version whose change the page asks for, and false if
// it asks for none. A version that is no longer there is passed over.
func (e *Events) Wants() (selvage.Version, bool) {
	full := len(e.Page.Items) >= e.limit || e.part || e.size.full(MaxScan)
	return e.next, !full && e.next <= e.head
}

// Room is how many more events the page takes, which is how many changes are
// worth reading at a time: hardly one makes none.
func (e *Events) Room() int { return max(e.limit-len(e.Page.Items), 1) }

// Add adds the events of a change, which has at least the version that the
// page wants.
func (e *Events) Add(c *selvage.Change) error {
	events, err := c.Events()
	if err != nil {
		return err
	}
	e.size.add(c)
	for _, event := range events {
		if c.Version == e.after.Version && event.Position.Index <= e.after.Index {
			continue
		}
		if e.part = len(e.Page.Items) >= e.limit; e.part {
			break
		}
		e.Page.Items, e.Page.Next = append(e.Page.Items, event), event.Position
	}
	if e.next = c.Version; !e.part {
		e.next++
		if len(events) == 0 && c.Version > e.after.Version {
			e.Page.Next = selvage.Position{Version: c.Version}
		}
	}
	e.finish()
	return nil
}

// Found reports whether the page answers a query that waits.
func (e *Events) Found() bool { return len(e.Page.Items) > 0 || e.Page.Ended || e.limit == 0 }

// Feed fills a page of the changes of a store.
type Feed struct {
	Page  selvage.FeedPage
	Limit int
	size  meter
}

// NewFeed begins the page that a query asks for. The error matches
// [selvage.ErrInvalid].
func NewFeed(q selvage.FeedQuery) (*Feed, error) {
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return nil, err
	}
	if a := q.After; a.Generation < 0 || a.Order < 0 || a.Version < 0 {
		return nil, invalid("after", "%s is no position of a feed", a)
	}
	return &Feed{Limit: limit, Page: selvage.FeedPage{Items: []selvage.FeedItem{}, Next: q.After}}, nil
}

// Begin makes sure that the page goes on in the data that it was begun in. A
// position of another generation matches [selvage.ErrCursorExpired], and so
// does one that is ahead of the store.
func (f *Feed) Begin(generation int64, ahead bool) error {
	if f.Page.Next.IsZero() {
		f.Page.Next.Generation = generation
		return nil
	}
	if f.Page.Next.Generation != generation {
		return fmt.Errorf("the store was restored since position %s was read; read the feed from its beginning or from its end: %w",
			f.Page.Next, selvage.ErrCursorExpired)
	}
	if ahead {
		return fmt.Errorf("position %s is ahead of the store, whose data is older; read the feed from its beginning or from its end: %w",
			f.Page.Next, selvage.ErrCursorExpired)
	}
	return nil
}

// Take adds a change, and reports false, with nothing added, if the page is
// full.
func (f *Feed) Take(item selvage.FeedItem) bool {
	if len(f.Page.Items) >= f.Limit || f.size.full(MaxScan) {
		f.Page.More = true
		return false
	}
	f.size.add(&item.Change)
	f.Page.Items, f.Page.Next = append(f.Page.Items, item), item.Position
	return true
}

// Pass moves the page past a change that is not for it, and reports false, with
// the page where it was, if it has gone far enough.
func (f *Feed) Pass(p selvage.FeedPosition) bool {
	if f.size.full(MaxScan) {
		f.Page.More = true
		return false
	}
	f.size.changes++
	f.Page.Next = p
	return true
}

// Found reports whether the page answers a query that waits.
func (f *Feed) Found() bool { return len(f.Page.Items) > 0 || f.Limit == 0 }

// meter measures what a page is made of.
type meter struct{ changes, bytes int }

func (m *meter) add(c *selvage.Change) {
	m.changes++
	m.bytes += (&selvage.Body{Messages: c.Messages, Rest: c.Rest}).Size()
}

// full reports whether that is enough, whatever came of it.
func (m *meter) full(changes int) bool { return m.changes >= changes || m.bytes >= maxEventBytes }
