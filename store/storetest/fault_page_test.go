package storetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func onMessages(change func(*selvage.MessageQuery)) func(*faulty) {
	return func(f *faulty) {
		f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
			change(&q)
			return f.sound.Messages(ctx, id, q)
		}
	}
}

func onThreads(change func(*selvage.ThreadQuery)) func(*faulty) {
	return func(f *faulty) {
		f.threads = func(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
			change(&q)
			return f.sound.Threads(ctx, q)
		}
	}
}

func onRunQuery(change func(*selvage.RunQuery)) func(*faulty) {
	return func(f *faulty) {
		f.runs = func(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
			change(&q)
			return f.sound.Runs(ctx, q)
		}
	}
}

func onChangeQuery(change func(*selvage.ChangeQuery)) func(*faulty) {
	return func(f *faulty) {
		f.changes = func(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
			change(&q)
			return f.sound.Changes(ctx, id, q)
		}
	}
}

// defaults turns limits that are no number of items into the default.
func defaults(limit **int, which func(int) bool) {
	if *limit != nil && which(**limit) {
		*limit = nil
	}
}

func isZero(n int) bool     { return n == 0 }
func isNegative(n int) bool { return n < 0 }

func pageFaults() []fault {
	return []fault{
		{"reads messages of the head whatever the version", onMessages(func(q *selvage.MessageQuery) { q.At = 0 }), []string{"Messages/AtAVersion", "Changes/PrefixIsTheVersion", "State/FormerLifeIsGone", "Sequences/Seed3"}},
		{"shows internal messages", onMessages(func(q *selvage.MessageQuery) {
			if q.Visibility == "" {
				q.Visibility = selvage.ShowAll
			}
		}), []string{"Messages/VisibilityFilter", "Messages/RunFilter"}},
		{"ignores the order", onMessages(func(q *selvage.MessageQuery) { q.Order = "" }), []string{"Messages/NewestFirst", "Messages/PageByPage", "Messages/UnknownWordsAreInvalid"}},
		{"includes the lower bound", onMessages(func(q *selvage.MessageQuery) { q.After = max(0, q.After-1) }), []string{"Messages/Bounds"}},
		{"ignores the upper bound", onMessages(func(q *selvage.MessageQuery) { q.Before = 0 }), []string{"Messages/Bounds", "Messages/NewestFirst"}},
		{"ignores the run", onMessages(func(q *selvage.MessageQuery) { q.RunID = "" }), []string{"Messages/RunFilter", "Messages/FiltersComeBeforeTheLimit"}},
		{"filters after the limit", filterLate, []string{"Messages/FiltersComeBeforeTheLimit"}},
		{"takes limit 0 for the default", onMessages(func(q *selvage.MessageQuery) { defaults(&q.Limit, isZero) }), []string{"Messages/PageLimits"}},
		{"takes a negative limit for the default", onMessages(func(q *selvage.MessageQuery) { defaults(&q.Limit, isNegative) }), []string{"Messages/PageLimits"}},
		{"takes limit 0 of changes for the default", onChangeQuery(func(q *selvage.ChangeQuery) { defaults(&q.Limit, isZero) }), []string{"Changes/PageLimits"}},
		{"takes limit 0 of threads for the default", onThreads(func(q *selvage.ThreadQuery) { defaults(&q.Limit, isZero) }), []string{"Threads/PageLimits"}},
		{"takes a negative limit of runs for the default", onRunQuery(func(q *selvage.RunQuery) { defaults(&q.Limit, isNegative) }), []string{"RunList/PageLimits"}},
		{"has no greatest page", noMaximum, []string{"Messages/PageLimits"}},
		{"forgets that there is more", noCursor, []string{"Messages/PageByPage", "Messages/PagesUnderAppends", "Cursors/LimitMayChange"}},
		{"pages on when a page is full", alwaysMore, []string{"Messages/PageByPage"}},
		{"starts over with a cursor it does not know", startOver, []string{"Cursors/BoundToTheQuery", "Cursors/BoundToTheThread", "Cursors/BoundToTheList", "Cursors/BoundToTheStore", "Cursors/TamperingIsRejected"}},
		{"binds cursors to limits", boundLimit, []string{"Cursors/LimitMayChange"}},
		{"binds cursors to spellings", boundSpelling, []string{"Cursors/SpelledOutIsTheSame"}},
		{"counts offsets", offsets, []string{"Threads/PagesUnderInserts", "Cursors/TamperingIsRejected", "Cursors/BoundToTheQuery"}},
		{"counts offsets in runs", runOffsets, []string{"RunList/PagesUnderInserts"}},
		{"includes the lower version", onChangeQuery(func(q *selvage.ChangeQuery) { q.After = max(0, q.After-1) }), []string{"Changes/Bounds"}},
		{"ignores the order of changes", onChangeQuery(func(q *selvage.ChangeQuery) { q.Order = "" }), []string{"Changes/PageByPage", "Changes/Bounds", "Changes/UnknownOrderIsInvalid"}},
		{"ignores the user", onThreads(func(q *selvage.ThreadQuery) { q.UserID = "" }), []string{"Threads/FilterByUser", "Threads/FilterByParent"}},
		{"ignores the metadata", onThreads(func(q *selvage.ThreadQuery) { q.Metadata = nil }), []string{"Threads/FilterByMetadata"}},
		{"ignores the parent", onThreads(func(q *selvage.ThreadQuery) { q.Parent = selvage.AnyParent() }), []string{"Threads/FilterByParent", "Delete/ManyChildren"}},
		{"searches by pattern", onThreads(func(q *selvage.ThreadQuery) { q.Text = strings.Trim(q.Text, "%_") }), []string{"Threads/FilterByText"}},
		{"searches by case", searchByCase, []string{"Threads/FilterByText"}},
		{"lists by creation always", onThreads(func(q *selvage.ThreadQuery) { q.Order = "" }), []string{"Threads/LastUpdatedFirst", "Threads/UnknownOrderIsInvalid"}},
		{"lists by update always", onThreads(func(q *selvage.ThreadQuery) { q.Order = selvage.ByUpdated }), []string{"Threads/NewestFirst", "Threads/PagesUnderInserts"}},
		{"lists runs oldest first", onRunQuery(func(q *selvage.RunQuery) { q.Order = selvage.Ascending }), []string{"RunList/InOrderOfCreation"}},
		{"ignores the time of runs", onRunQuery(func(q *selvage.RunQuery) { q.Since = time.Time{} }), []string{"RunList/Since"}},
		{"compares times finer than it keeps them", finerTimes, []string{"RunList/Since"}},
		{"ignores the agent", onRunQuery(func(q *selvage.RunQuery) { q.AgentID = "" }), []string{"RunList/Filters"}},
		{"ignores whether runs are open", onRunQuery(func(q *selvage.RunQuery) { q.Open = false }), []string{"RunList/Filters"}},
		{"guesses at what it does not know", onRunQuery(func(q *selvage.RunQuery) {
			if q.Order == "up" {
				q.Order = ""
			}
		}), []string{"RunList/UnknownWordsAreInvalid"}},
		{"gives titles without a version", freeTitles, []string{"Threads/UpdateIsAVersion"}},
	}
}

// filterLate takes a page first and filters it then.
func filterLate(f *faulty) {
	f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
		filter, run := q.Visibility, q.RunID
		q.Visibility, q.RunID = selvage.ShowAll, ""
		page, err := f.sound.Messages(ctx, id, q)
		page.Items = slices.DeleteFunc(page.Items, func(m selvage.Message) bool { return !filter.Match(&m) || run != "" && m.RunID != run })
		return page, err
	}
}

func noMaximum(f *faulty) {
	f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
		page, err := f.sound.Messages(ctx, id, q)
		for err == nil && q.Limit != nil && len(page.Items) < *q.Limit && page.Next != "" {
			var more selvage.MessagePage
			q.Cursor = page.Next
			more, err = f.sound.Messages(ctx, id, q)
			page.Items, page.Next = append(page.Items, more.Items...), more.Next
		}
		return page, err
	}
}

func noCursor(f *faulty) {
	f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
		page, err := f.sound.Messages(ctx, id, q)
		page.Next = ""
		return page, err
	}
}

// alwaysMore gives a full page a cursor, also if it is the last.
func alwaysMore(f *faulty) {
	f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
		if q.Cursor == "end" {
			return selvage.MessagePage{Items: []selvage.Message{}}, nil
		}
		page, err := f.sound.Messages(ctx, id, q)
		if q.Limit != nil && len(page.Items) == *q.Limit && page.Next == "" {
			page.Next = "end"
		}
		return page, err
	}
}

// again repeats a query without its cursor if the cursor was refused.
func again[P any](cursor *selvage.Cursor, query func() (P, error)) (P, error) {
	page, err := query()
	if errors.Is(err, selvage.ErrInvalid) && *cursor != "" {
		*cursor = ""
		return query()
	}
	return page, err
}

func startOver(f *faulty) {
	f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
		return again(&q.Cursor, func() (selvage.MessagePage, error) { return f.sound.Messages(ctx, id, q) })
	}
	f.changes = func(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
		return again(&q.Cursor, func() (selvage.ChangePage, error) { return f.sound.Changes(ctx, id, q) })
	}
}

func boundLimit(f *faulty) {
	f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
		limit := "50"
		if q.Limit != nil {
			limit = strconv.Itoa(*q.Limit)
		}
		if q.Cursor != "" {
			bound, rest, _ := strings.Cut(string(q.Cursor), "/")
			if bound != limit {
				return selvage.MessagePage{}, selvage.ErrInvalid
			}
			q.Cursor = selvage.Cursor(rest)
		}
		page, err := f.sound.Messages(ctx, id, q)
		if page.Next != "" {
			page.Next = selvage.Cursor(limit + "/" + string(page.Next))
		}
		return page, err
	}
}

func boundSpelling(f *faulty) {
	onMessages(func(q *selvage.MessageQuery) {
		if q.Cursor != "" && q.Order == selvage.Ascending {
			q.Order = selvage.Descending // another shape
		}
	})(f)
}

// offset answers a page that begins at the number the cursor is.
func offset[T any](cursor selvage.Cursor, limit int, all []T) ([]T, selvage.Cursor) {
	from, _ := strconv.Atoi(string(cursor)) // what is no number is the start
	from = min(max(from, 0), len(all))
	to := min(from+limit, len(all))
	if to == len(all) {
		return all[from:], ""
	}
	return all[from:to], selvage.Cursor(strconv.Itoa(to))
}

func offsets(f *faulty) {
	f.threads = func(ctx context.Context, q selvage.ThreadQuery) (page selvage.ThreadPage, err error) {
		limit, err := selvage.PageLimit(q.Limit)
		if err != nil {
			return page, err
		}
		whole := q
		whole.Cursor, whole.Limit = "", ptr(selvage.MaxPage)
		if page, err = f.sound.Threads(ctx, whole); err == nil {
			page.Items, page.Next = offset(q.Cursor, limit, page.Items)
		}
		return page, err
	}
}

func runOffsets(f *faulty) {
	f.runs = func(ctx context.Context, q selvage.RunQuery) (page selvage.RunPage, err error) {
		limit, err := selvage.PageLimit(q.Limit)
		if err != nil {
			return page, err
		}
		whole := q
		whole.Cursor, whole.Limit = "", ptr(selvage.MaxPage)
		if page, err = f.sound.Runs(ctx, whole); err == nil {
			page.Items, page.Next = offset(q.Cursor, limit, page.Items)
		}
		return page, err
	}
}

func searchByCase(f *faulty) {
	f.threads = func(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
		page, err := f.sound.Threads(ctx, q)
		page.Items = slices.DeleteFunc(page.Items, func(t selvage.Thread) bool {
			return !strings.Contains(string(t.ID), q.Text) && !strings.Contains(t.Title, q.Text)
		})
		return page, err
	}
}

func finerTimes(f *faulty) {
	f.runs = func(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
		since := q.Since
		page, err := f.sound.Runs(ctx, q)
		if !since.IsZero() {
			page.Items = slices.DeleteFunc(page.Items, func(r selvage.Run) bool { return r.CreatedAt.Before(since) })
		}
		return page, err
	}
}

// freeTitles answers an update of the title alone with the version there is.
func freeTitles(f *faulty) {
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		h, err := f.sound.Load(ctx, id, selvage.LoadOptions{})
		if err == nil && set.Thread != nil && set.Thread.Title != nil {
			return selvage.Receipt{Version: h.Thread.Version, Hash: h.Hash}, nil
		}
		return f.sound.Append(ctx, id, set, pre)
	}
}
