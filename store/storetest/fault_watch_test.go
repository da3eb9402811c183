package storetest

import (
	"context"
	"errors"
	"slices"

	"github.com/selvagehq/selvage"
)

type (
	eventsFunc = func(context.Context, selvage.ThreadID, selvage.EventQuery) (selvage.EventPage, error)
	feedFunc   = func(context.Context, selvage.FeedQuery) (selvage.FeedPage, error)
)

// badWatcher is a watcher each of whose methods may be replaced.
type badWatcher struct {
	events eventsFunc
	feed   feedFunc
	end    func(context.Context) (selvage.FeedPosition, error)
}

func soundWatcher(s selvage.Store) badWatcher {
	w, _ := selvage.As[selvage.Watcher](s)
	return badWatcher{w.Events, w.Feed, w.End}
}

// A faulty store is a Watcher by these methods.

func (f *faulty) Events(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (selvage.EventPage, error) {
	return f.watching.events(ctx, id, q)
}

func (f *faulty) Feed(ctx context.Context, q selvage.FeedQuery) (selvage.FeedPage, error) {
	return f.watching.feed(ctx, q)
}

func (f *faulty) End(ctx context.Context) (selvage.FeedPosition, error) { return f.watching.end(ctx) }

func onEvents(wrap func(next eventsFunc) eventsFunc) func(*faulty) {
	return func(f *faulty) { f.watching.events = wrap(f.watching.events) }
}

func onFeed(wrap func(next feedFunc) feedFunc) func(*faulty) {
	return func(f *faulty) { f.watching.feed = wrap(f.watching.feed) }
}

// onEventQuery plants a fault in what is asked, onEventPage in what is answered.
func onEventQuery(change func(*selvage.EventQuery)) func(*faulty) {
	return onEvents(func(next eventsFunc) eventsFunc {
		return func(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (selvage.EventPage, error) {
			change(&q)
			return next(ctx, id, q)
		}
	})
}

func onEventPage(change func(*selvage.EventPage, selvage.EventQuery)) func(*faulty) {
	return onEvents(func(next eventsFunc) eventsFunc {
		return func(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (selvage.EventPage, error) {
			page, err := next(ctx, id, q)
			change(&page, q)
			return page, err
		}
	})
}

func onFeedQuery(change func(*selvage.FeedQuery)) func(*faulty) {
	return onFeed(func(next feedFunc) feedFunc {
		return func(ctx context.Context, q selvage.FeedQuery) (selvage.FeedPage, error) {
			change(&q)
			return next(ctx, q)
		}
	})
}

func onFeedPage(change func(*selvage.FeedPage)) func(*faulty) {
	return onFeed(func(next feedFunc) feedFunc {
		return func(ctx context.Context, q selvage.FeedQuery) (selvage.FeedPage, error) {
			page, err := next(ctx, q)
			change(&page)
			return page, err
		}
	})
}

func watchFaults() []fault {
	return []fault{
		{"ignores the id of a run", onRunQuery(func(q *selvage.RunQuery) { q.ID = "" }), []string{"RunList/Filters"}},

		{"tells the event at the position again", onEventQuery(eventBefore), []string{"Watcher/AfterIsExclusive", "Watcher/EventPages", "Watcher/EventsUnderWriters"}},
		{"forgets what is left of a change", onEventQuery(func(q *selvage.EventQuery) { q.After = q.After.Version.End() }), []string{"Watcher/AfterIsExclusive", "Watcher/EventPages", "Watcher/EventsOfTheLog"}},
		{"forgets that there are more events", onEventPage(func(p *selvage.EventPage, _ selvage.EventQuery) { p.More = false }), []string{"Watcher/EventsOfTheLog", "Watcher/EventPages"}},
		{"loses events", onEventPage(func(p *selvage.EventPage, _ selvage.EventQuery) {
			p.Items = slices.DeleteFunc(p.Items, func(e selvage.Event) bool { return e.Position.Version%7 == 3 && e.Position.Index == 0 })
		}), []string{"Watcher/EventsUnderWriters"}},
		{"takes limit 0 of events for the default", onEventQuery(func(q *selvage.EventQuery) { defaults(&q.Limit, isZero) }), []string{"Watcher/EventPageLimits"}},
		{"takes a negative limit of events for the default", onEventQuery(func(q *selvage.EventQuery) { defaults(&q.Limit, isNegative) }), []string{"Watcher/EventPageLimits"}},
		{"stays before changes without events", onEventPage(stayBehind), []string{"Watcher/ChangesWithoutEvents"}},
		{"has no events of what never was", onEvents(eventsOfNothing), []string{"Watcher/EventsNeedAThread"}},
		{"starts over when a position is ahead", onEvents(startOverAhead), []string{"Watcher/AheadIsExpired"}},
		{"does not say that a thread has ended", onEventPage(func(p *selvage.EventPage, _ selvage.EventQuery) { p.Ended = false }), []string{"Watcher/DeletedThreadEnds"}},
		{"hides the event of a tombstone", onEventPage(func(p *selvage.EventPage, _ selvage.EventQuery) {
			p.Items = slices.DeleteFunc(p.Items, func(e selvage.Event) bool { return string(e.Payload) == `{"deleted":true}` })
		}), []string{"Watcher/DeletedThreadEnds", "Watcher/RecreatedThreadGoesOn", "Watcher/DeleteEndsTheWait"}},

		{"never waits for events", onEventQuery(func(q *selvage.EventQuery) { q.Wait = false }), []string{"Watcher/NothingIsWaitedFor"}},
		{"never waits for the feed", onFeedQuery(func(q *selvage.FeedQuery) { q.Wait = false }), []string{"Watcher/NothingIsWaitedFor"}},
		{"waits for what is new alone", waitForNews, []string{"Watcher/WaitReturnsWhatIsThere"}},
		{"waits whatever becomes of the context", onEvents(func(next eventsFunc) eventsFunc {
			return func(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (selvage.EventPage, error) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), faultPatience+faultPatience/10)
				defer cancel()
				return next(ctx, id, q)
			}
		}), []string{"Watcher/NothingIsWaitedFor", "Watcher/CancelEndsTheWait"}},
		{"leaves those who wait when it closes", func(f *faulty) { f.close = func() error { return nil } }, []string{"Watcher/CloseEndsTheWait"}},

		{"loses changes of the feed", onFeedPage(func(p *selvage.FeedPage) {
			p.Items = slices.DeleteFunc(p.Items, func(i selvage.FeedItem) bool { return i.Change.Version%5 == 3 })
		}), []string{"Watcher/FeedOfTheStore", "Watcher/FeedOfOneThread", "Watcher/FeedOfManyThreads"}},
		{"tells changes twice", onFeedPage(func(p *selvage.FeedPage) {
			if n := len(p.Items); n > 0 && p.Items[n-1].Change.Version%2 == 0 {
				p.Items = append(p.Items, p.Items[n-1])
			}
		}), []string{"Watcher/FeedOfOneThread"}},
		{"tells a later version first", onFeedPage(invert), []string{"Watcher/FeedOfTheStore", "Watcher/FeedOfOneThread", "Watcher/FeedUnderDeletes"}},
		{"tells the change at the position again", onFeedQuery(func(q *selvage.FeedQuery) { q.After.Order = max(q.After.Order-1, 0) }), []string{"Watcher/FeedGoesOn", "Watcher/EndIsTheEnd"}},
		{"hides tombstones in the feed", onFeedPage(func(p *selvage.FeedPage) {
			p.Items = slices.DeleteFunc(p.Items, func(i selvage.FeedItem) bool { return i.Change.Reason == selvage.ReasonDeleted })
		}), []string{"Watcher/FeedHasTombstones", "Watcher/FeedOfRelatives", "Watcher/FeedUnderDeletes"}},
		{"takes limit 0 of the feed for the default", onFeedQuery(func(q *selvage.FeedQuery) { q.Wait = false; defaults(&q.Limit, isZero) }), []string{"Watcher/FeedPageLimits"}},
		{"starts the feed over when a position has expired", onFeed(startOverExpired), []string{"Watcher/OtherGenerationIsExpired"}},
		{"takes the beginning for the end", func(f *faulty) {
			f.watching.end = func(context.Context) (selvage.FeedPosition, error) { return selvage.FeedPosition{}, nil }
		}, []string{"Watcher/EndIsTheEnd", "Watcher/FeedOfOneThread"}},
		{"shows a tenant the feed of all", onTenant(func(f *faulty, next tenantFunc) tenantFunc {
			return func(name string) (selvage.Store, error) {
				s, err := next(name)
				return struct {
					selvage.Store
					selvage.Watcher
				}{s, f}, err
			}
		}), []string{"Tenancy/FeedsDoNotCross"}},
	}
}

// eventBefore asks for one event more than was asked for.
func eventBefore(q *selvage.EventQuery) {
	switch {
	case q.After.Index > 0:
		q.After.Index--
	case q.After.Version > 0:
		q.After = (q.After.Version - 1).End()
	}
}

func stayBehind(p *selvage.EventPage, q selvage.EventQuery) {
	if len(p.Items) == 0 {
		p.Next = q.After
	} else {
		p.Next = p.Items[len(p.Items)-1].Position
	}
}

func eventsOfNothing(next eventsFunc) eventsFunc {
	return func(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (selvage.EventPage, error) {
		page, err := next(ctx, id, q)
		if errors.Is(err, selvage.ErrNotFound) {
			return selvage.EventPage{Items: []selvage.Event{}}, nil
		}
		return page, err
	}
}

func startOverAhead(next eventsFunc) eventsFunc {
	return func(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (selvage.EventPage, error) {
		page, err := next(ctx, id, q)
		if errors.Is(err, selvage.ErrCursorExpired) {
			return next(ctx, id, selvage.EventQuery{})
		}
		return page, err
	}
}

func startOverExpired(next feedFunc) feedFunc {
	return func(ctx context.Context, q selvage.FeedQuery) (selvage.FeedPage, error) {
		page, err := next(ctx, q)
		if errors.Is(err, selvage.ErrCursorExpired) {
			return next(ctx, selvage.FeedQuery{})
		}
		return page, err
	}
}

// waitForNews waits for events that are not there yet, whatever is.
func waitForNews(f *faulty) {
	next := f.watching.events
	f.watching.events = func(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (selvage.EventPage, error) {
		if h, err := f.sound.Load(ctx, id, selvage.LoadOptions{}); err == nil && q.Wait {
			q.After = h.Thread.Version.End()
		}
		return next(ctx, id, q)
	}
}

// invert swaps the first two changes of one thread that follow each other.
func invert(p *selvage.FeedPage) {
	for i := 1; i < len(p.Items); i++ {
		if p.Items[i].Change.ThreadID == p.Items[i-1].Change.ThreadID {
			p.Items[i], p.Items[i-1] = p.Items[i-1], p.Items[i]
			return
		}
	}
}
