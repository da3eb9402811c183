package selvage

import (
	"context"
	"iter"
	"math"
	"time"
)

// Watcher tells what durably happens to threads: of one thread event by event,
// of the whole store change by change. Nothing is skipped and nothing is told
// twice, whoever writes meanwhile and in whatever order writers commit. Events
// are read from the log, so history and what comes next are one stream.
//
// Find it with [As]. [Follow] and [FollowFeed] turn its pages into streams.
//
// # Resuming a stream
//
// A position is the place of what was read last, and reading goes on after it.
// A server that sends Server-Sent Events writes, for each durable event,
//
//	id: 12.3
//	event: message
//	data: {...}
//
// where the id is the text of [Event.Position]. A client that reconnects sends
// it back as Last-Event-ID; the server parses it with
// [Position.UnmarshalText] and gives it to [Follow]. Ephemeral events (deltas,
// progress) are sent without an id, so that they never move the place from
// which a client resumes; what they said is in the next change. Streams of the
// whole store do the same with [FeedPosition], whose text is safe in a header,
// a URL and an SSE id. One that matches [ErrCursorExpired] cannot be resumed
// (HTTP 410): the client starts over.
type Watcher interface {
	// Events returns a page of a thread's events after a position, in order.
	// It observes every append that returned before it was called. A thread
	// that never was matches [ErrNotFound]. A deleted one has the event of its
	// tombstone as the last; what was before is gone, even from the middle of
	// a stream. A position beyond the thread's head matches
	// [ErrCursorExpired].
	Events(ctx context.Context, id ThreadID, q EventQuery) (EventPage, error)

	// Feed returns a page of the changes of all threads after a position. A
	// store of one tenant shows the changes of that tenant, any other those of
	// all. The changes of a thread come in the order of their versions; a
	// change may come a moment after its append returned, see
	// [FeedPage.Behind]. What a deletion removed is no longer there, its
	// tombstone is. A position from before the store was restored from a
	// backup, or ahead of the store, matches [ErrCursorExpired].
	Feed(ctx context.Context, q FeedQuery) (FeedPage, error)

	// End returns the present end of the feed. Every append that begins after
	// End returned comes after it. An append that returned before comes after
	// it only if the feed had not shown it yet.
	End(ctx context.Context) (FeedPosition, error)
}

// EventQuery selects a page of a thread's events.
type EventQuery struct {
	After Position // the zero value is before the first event; see [Version.End]
	Limit *int     // of events; see [PageLimit]
	// Wait makes the call wait until there is an event after the position, the
	// thread is deleted, the context ends, or the store is closed, which
	// matches [ErrClosed]. A limit of 0 never waits.
	Wait bool
}

// EventPage is one page of a thread's events.
type EventPage struct {
	Items []Event  `json:"items"`
	Next  Position `json:"next"`            // where to go on, also if there are no items
	More  bool     `json:"more,omitempty"`  // there is more to read at once
	Ended bool     `json:"ended,omitempty"` // the thread is deleted and its last event was read: waiting is in vain
}

// FeedQuery selects a page of the changes of all threads.
type FeedQuery struct {
	After FeedPosition // the zero value is the beginning
	Limit *int         // of changes; see [PageLimit]
	// Wait makes the call wait until there is a change after the position, the
	// context ends, or the store is closed, which matches [ErrClosed]. A limit
	// of 0 never waits.
	Wait bool
}

// FeedPage is one page of the changes of all threads.
type FeedPage struct {
	Items []FeedItem   `json:"items"`
	Next  FeedPosition `json:"next"`           // where to go on, also if there are no items
	More  bool         `json:"more,omitempty"` // there may be more to read at once
	// Behind is for how long the oldest change that is written, and cannot be
	// shown yet, has been waiting. PostgreSQL cannot show a change while a
	// transaction that began to write before it is open, whoever's it is: what
	// that one writes might come first. It is 0 where nothing waits.
	Behind time.Duration `json:"behind_ns,omitempty"`
}

// FeedItem is a change in the feed of a store. [Change.Events] are its events.
type FeedItem struct {
	Position FeedPosition `json:"position"`
	Tenant   string       `json:"tenant,omitempty"`
	Change   Change       `json:"change"`
}

// End is the position after all events of the version: what follows it are the
// events of the next one.
func (v Version) End() Position { return Position{Version: v, Index: math.MaxInt32} }

// Follow yields the events of a thread after a position: those there are, and
// then each one as it happens. It ends when the thread is deleted, after the
// event of that, or with an error, which is the last pair: that of the context
// if that ended. To resume, call it again with the last event's position.
func Follow(ctx context.Context, w Watcher, id ThreadID, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			page, err := w.Events(ctx, id, EventQuery{After: after, Wait: true})
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range page.Items {
				if !yield(e, nil) {
					return
				}
			}
			if page.Ended {
				return
			}
			after = page.Next
		}
	}
}

// FollowFeed yields the changes of all threads after a position: those there
// are, and then each one as it happens, until an error, which is the last pair:
// that of the context if that ended. To resume, call it again with the last
// item's position.
func FollowFeed(ctx context.Context, w Watcher, after FeedPosition) iter.Seq2[FeedItem, error] {
	return func(yield func(FeedItem, error) bool) {
		for {
			page, err := w.Feed(ctx, FeedQuery{After: after, Wait: true})
			if err != nil {
				yield(FeedItem{}, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			after = page.Next
		}
	}
}
