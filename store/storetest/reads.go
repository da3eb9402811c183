package storetest

import (
	"github.com/selvagehq/selvage"
)

func (k *kit) load(id selvage.ThreadID) selvage.Head {
	k.Helper()
	h, err := k.store.Load(k.Context(), id, selvage.LoadOptions{})
	if err != nil {
		k.Fatalf("load failed: %v", err)
	}
	return h
}

// state returns the state document at a version, encoded.
func (k *kit) state(id selvage.ThreadID, v selvage.Version) string {
	k.Helper()
	doc, err := k.store.State(k.Context(), id, v)
	if err != nil {
		k.Fatalf("state at version %d failed: %v", v, err)
	}
	return doc.String()
}

func (k *kit) messages(id selvage.ThreadID, q selvage.MessageQuery) selvage.MessagePage {
	k.Helper()
	page, err := k.store.Messages(k.Context(), id, q)
	if err != nil {
		k.Fatalf("messages (%+v) failed: %v", q, err)
	}
	return page
}

// allMessages walks the pages of a query, which has no limit of its own.
func (k *kit) allMessages(id selvage.ThreadID, q selvage.MessageQuery) []selvage.Message {
	k.Helper()
	q.Limit = ptr(selvage.MaxPage)
	return walk(k, k.messagePages(id, q))
}

// messagePages, changePages, threadPages and runPages read the pages of a
// query, for walk.
func (k *kit) messagePages(id selvage.ThreadID, q selvage.MessageQuery) func(selvage.Cursor) ([]selvage.Message, selvage.Cursor, error) {
	return func(c selvage.Cursor) ([]selvage.Message, selvage.Cursor, error) {
		q.Cursor = c
		page, err := k.store.Messages(k.Context(), id, q)
		return page.Items, page.Next, err
	}
}

func (k *kit) changePages(id selvage.ThreadID, q selvage.ChangeQuery) func(selvage.Cursor) ([]selvage.Change, selvage.Cursor, error) {
	return func(c selvage.Cursor) ([]selvage.Change, selvage.Cursor, error) {
		q.Cursor = c
		page, err := k.store.Changes(k.Context(), id, q)
		return page.Items, page.Next, err
	}
}

func (k *kit) threadPages(q selvage.ThreadQuery) func(selvage.Cursor) ([]selvage.Thread, selvage.Cursor, error) {
	return func(c selvage.Cursor) ([]selvage.Thread, selvage.Cursor, error) {
		q.Cursor = c
		page, err := k.store.Threads(k.Context(), q)
		return page.Items, page.Next, err
	}
}

func (k *kit) runPages(q selvage.RunQuery) func(selvage.Cursor) ([]selvage.Run, selvage.Cursor, error) {
	return func(c selvage.Cursor) ([]selvage.Run, selvage.Cursor, error) {
		q.Cursor = c
		page, err := k.store.Runs(k.Context(), q)
		return page.Items, page.Next, err
	}
}

// log returns every change of a thread.
func (k *kit) log(id selvage.ThreadID) []selvage.Change {
	k.Helper()
	return walk(k, k.changePages(id, selvage.ChangeQuery{Limit: ptr(selvage.MaxPage)}))
}

// change returns the change that made a version.
func (k *kit) change(id selvage.ThreadID, v selvage.Version) selvage.Change {
	k.Helper()
	page, err := k.store.Changes(k.Context(), id, selvage.ChangeQuery{After: v - 1, Limit: ptr(1)})
	if err != nil || len(page.Items) != 1 || page.Items[0].Version != v {
		k.Fatalf("the log answers %d changes, error %v, after version %d; want the change that made version %d", len(page.Items), err, v-1, v)
	}
	return page.Items[0]
}

func (k *kit) runs(q selvage.RunQuery) []selvage.Run {
	k.Helper()
	q.Limit = ptr(selvage.MaxPage)
	return walk(k, k.runPages(q))
}

func (k *kit) threads(q selvage.ThreadQuery) []selvage.Thread {
	k.Helper()
	if q.Limit == nil {
		q.Limit = ptr(selvage.MaxPage)
	}
	return walk(k, k.threadPages(q))
}

// walk reads pages until the last one.
func walk[T any](k *kit, read func(selvage.Cursor) ([]T, selvage.Cursor, error)) []T {
	k.Helper()
	return walkAnd(k, read, func(int, []T) {})
}

// walkAnd reads pages until the last one and calls between after each page that
// has a next one, with its number, from 1, and its items.
func walkAnd[T any](k *kit, read func(selvage.Cursor) ([]T, selvage.Cursor, error), between func(page int, items []T)) []T {
	k.Helper()
	const enough = 10_000 // pages; no test has as many
	var all []T
	var cursor selvage.Cursor
	for page := 1; page < enough; page++ {
		items, next, err := read(cursor)
		if err != nil {
			k.Fatalf("read page %d, after %d items: %v", page, len(all), err)
		}
		if next != "" && len(items) == 0 {
			k.Fatalf("page %d, after %d items, is empty and has a cursor to a next one; want items, or no cursor", page, len(all))
		}
		all = append(all, items...)
		if next == "" {
			return all
		}
		between(page, items)
		cursor = next
	}
	k.Fatalf("after %d pages and %d items there still is a cursor to a next page; want an end", enough, len(all))
	return nil
}
