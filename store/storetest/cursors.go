package storetest

import (
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func cursorPromises() []promise {
	const rule = "ARCHITECTURE 3: cursors are opaque and bound to the query's shape and resource"
	return []promise{
		{"BoundToTheQuery", rule + "; they are checked on decode.", boundToTheQuery},
		{"BoundToTheThread", rule + ".", boundToTheThread},
		{"BoundToTheList", rule + ".", boundToTheList},
		{"BoundToTheStore", "Cursor: another query, another thread or another store refuses it.", boundToTheStore},
		{"TamperingIsRejected", rule + "; tampering is rejected.", tamperedCursors},
		{"LimitMayChange", "CursorKey.Seal: the shape is everything about the query but its limit.", limitMayChange},
		{"SpelledOutIsTheSame", rule + ": an empty field and the value that it stands for are one query.", spelledOutIsTheSame},
	}
}

// cursor returns the cursor to the second page of a query, which must have one.
func cursor[T any](k *kit, read func(selvage.Cursor) ([]T, selvage.Cursor, error)) selvage.Cursor {
	k.Helper()
	_, next, err := read("")
	if err != nil || next == "" {
		k.Fatalf("a first page of several has cursor %q, error %v; want a cursor", next, err)
	}
	return next
}

// refuses checks that a query does not take a cursor.
func refuses[T any](k *kit, what string, c selvage.Cursor, read func(selvage.Cursor) ([]T, selvage.Cursor, error)) {
	k.Helper()
	_, _, err := read(c)
	k.class(what, err, selvage.ErrInvalid)
}

func boundToTheQuery(k *kit) {
	id := k.talk(12, 2)
	base := selvage.MessageQuery{Visibility: selvage.ShowAll, RunID: "x", After: 1, Limit: ptr(2)}
	c := cursor(k, k.messagePages(id, base))
	for what, change := range map[string]func(*selvage.MessageQuery){
		"version":       func(q *selvage.MessageQuery) { q.At = 4 },
		"lower bound":   func(q *selvage.MessageQuery) { q.After = 2 },
		"no bound":      func(q *selvage.MessageQuery) { q.After = 0 },
		"upper bound":   func(q *selvage.MessageQuery) { q.Before = 9 },
		"order":         func(q *selvage.MessageQuery) { q.Order = selvage.Descending },
		"visibility":    func(q *selvage.MessageQuery) { q.Visibility = selvage.ShowInternal },
		"no visibility": func(q *selvage.MessageQuery) { q.Visibility = "" },
		"run":           func(q *selvage.MessageQuery) { q.RunID = "y" },
		"no run":        func(q *selvage.MessageQuery) { q.RunID = "" },
	} {
		q := base
		change(&q)
		refuses(k, "messages by a cursor of a query with another "+what, c, k.messagePages(id, q))
	}

	changes := selvage.ChangeQuery{After: 1, Limit: ptr(2)}
	c = cursor(k, k.changePages(id, changes))
	for what, q := range map[string]selvage.ChangeQuery{
		"lower bound": {After: 2}, "no bound": {}, "upper bound": {After: 1, Before: 5}, "order": {After: 1, Order: selvage.Descending},
	} {
		refuses(k, "changes by a cursor of a query with another "+what, c, k.changePages(id, q))
	}
	k.threadCursorsAreBound()
	k.runCursorsAreBound()
}

func (k *kit) threadCursorsAreBound() {
	k.Helper()
	root := k.create(says("root"))
	for range 3 {
		k.create(update(selvage.ThreadUpdate{ParentID: &root, UserID: ptr("u"), Title: ptr("same"), Metadata: metadata("k", `"v"`)}))
	}
	q := selvage.ThreadQuery{Parent: selvage.ChildrenOf(root), UserID: "u", Metadata: map[string]string{"k": "v"}, Text: "same", Limit: ptr(1)}
	c := cursor(k, k.threadPages(q))
	for what, change := range map[string]func(*selvage.ThreadQuery){
		"parent":      func(q *selvage.ThreadQuery) { q.Parent = selvage.ChildrenOf("other") },
		"no parent":   func(q *selvage.ThreadQuery) { q.Parent = selvage.Roots() },
		"any parent":  func(q *selvage.ThreadQuery) { q.Parent = selvage.AnyParent() },
		"user":        func(q *selvage.ThreadQuery) { q.UserID = "v" },
		"metadata":    func(q *selvage.ThreadQuery) { q.Metadata = map[string]string{"k": "w"} },
		"no metadata": func(q *selvage.ThreadQuery) { q.Metadata = nil },
		"text":        func(q *selvage.ThreadQuery) { q.Text = "sam" },
		"order":       func(q *selvage.ThreadQuery) { q.Order = selvage.ByUpdated },
	} {
		other := q
		change(&other)
		refuses(k, "threads by a cursor of a query with another "+what, c, k.threadPages(other))
	}
	// Roots and any parent ask for the same empty id, and are two queries.
	k.create(says("root"))
	c = cursor(k, k.threadPages(selvage.ThreadQuery{Parent: selvage.Roots(), Limit: ptr(1)}))
	refuses(k, "all threads by a cursor of a query for roots", c, k.threadPages(selvage.ThreadQuery{}))
}

func (k *kit) runCursorsAreBound() {
	k.Helper()
	id := k.create(says("hello"))
	for range 3 {
		u := status(newRunID(), selvage.RunRunning)
		u.AgentID, u.ParentRunID = "agent", "above"
		k.append(id, runSet(u, status(u.ID, selvage.RunDone)), selvage.Any())
	}
	since := time.Now().Add(-time.Hour)
	q := selvage.RunQuery{ThreadID: id, AgentID: "agent", ParentRunID: "above", Status: selvage.RunDone, Since: since, Limit: ptr(1)}
	c := cursor(k, k.runPages(q))
	for what, change := range map[string]func(*selvage.RunQuery){
		"thread":     func(q *selvage.RunQuery) { q.ThreadID = "" },
		"agent":      func(q *selvage.RunQuery) { q.AgentID = "" },
		"parent run": func(q *selvage.RunQuery) { q.ParentRunID = "" },
		"status":     func(q *selvage.RunQuery) { q.Status = "" },
		"openness":   func(q *selvage.RunQuery) { q.Open = true },
		"time":       func(q *selvage.RunQuery) { q.Since = since.Add(-time.Hour) },
		"no time":    func(q *selvage.RunQuery) { q.Since = time.Time{} },
		"order":      func(q *selvage.RunQuery) { q.Order = selvage.Ascending },
	} {
		other := q
		change(&other)
		refuses(k, "runs by a cursor of a query with another "+what, c, k.runPages(other))
	}
}

func boundToTheThread(k *kit) {
	one, two := k.talk(6, 2), k.talk(6, 2)
	q := selvage.MessageQuery{Limit: ptr(1)}
	refuses(k, "messages by a cursor of another thread", cursor(k, k.messagePages(one, q)), k.messagePages(two, q))
	changes := selvage.ChangeQuery{Limit: ptr(1)}
	refuses(k, "changes by a cursor of another thread", cursor(k, k.changePages(one, changes)), k.changePages(two, changes))
}

func boundToTheList(k *kit) {
	id := k.talk(6, 2)
	q, changes := selvage.MessageQuery{Limit: ptr(1), Visibility: selvage.ShowAll}, selvage.ChangeQuery{Limit: ptr(1)}
	c := cursor(k, k.messagePages(id, q))
	refuses(k, "changes by a cursor of messages", c, k.changePages(id, changes))
	refuses(k, "threads by a cursor of messages", c, k.threadPages(selvage.ThreadQuery{}))
	refuses(k, "runs by a cursor of messages", c, k.runPages(selvage.RunQuery{ThreadID: id}))
	refuses(k, "messages by a cursor of changes", cursor(k, k.changePages(id, changes)), k.messagePages(id, q))
}

func boundToTheStore(k *kit) {
	other := k.alone()
	set := says("one", "two", "three")
	id := newID()
	k.append(id, set, selvage.New())
	other.append(id, set, selvage.New())
	q := selvage.MessageQuery{Limit: ptr(1)}
	refuses(k, "messages by a cursor of another store", cursor(other, other.messagePages(id, q)), k.messagePages(id, q))
}

func tamperedCursors(k *kit) {
	id := k.talk(30, 10)
	read := k.messagePages(id, selvage.MessageQuery{Limit: ptr(3), Visibility: selvage.ShowAll})
	good := string(cursor(k, read))
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range len(good) {
		at := max(0, strings.IndexByte(alphabet, good[i]))
		for bit := 1; bit < len(alphabet); bit *= 2 { // each bit of it, if it is what it looks like
			changed := good[:i] + string(alphabet[at^bit]) + good[i+1:]
			refuses(k, "messages by the cursor "+good+" changed to "+changed, selvage.Cursor(changed), read)
		}
	}
	for _, bad := range []string{"x", "0", "1", "10", " ", "{}", "null", "%00", "../..", good + "AAAA", good[:len(good)/2], strings.Repeat("A", 30), strings.Repeat("A", 10000), "\xff"} {
		refuses(k, "messages by a made-up cursor", selvage.Cursor(bad), read)
		refuses(k, "changes by a made-up cursor", selvage.Cursor(bad), k.changePages(id, selvage.ChangeQuery{}))
		refuses(k, "threads by a made-up cursor", selvage.Cursor(bad), k.threadPages(selvage.ThreadQuery{}))
		refuses(k, "runs by a made-up cursor", selvage.Cursor(bad), k.runPages(selvage.RunQuery{}))
	}
}

func limitMayChange(k *kit) {
	id := k.talk(20, 10)
	q := selvage.MessageQuery{Visibility: selvage.ShowAll}
	got := walk(k, func(c selvage.Cursor) ([]selvage.Message, selvage.Cursor, error) {
		q.Cursor, q.Limit = c, ptr(3)
		if c != "" {
			q.Limit = ptr(7)
		}
		page, err := k.store.Messages(k.Context(), id, q)
		return page.Items, page.Next, err
	})
	k.equal("seqs by pages of 3, then 7", seqs(got), between(1, 20))
}

func spelledOutIsTheSame(k *kit) {
	id := k.talk(20, 10)
	c := cursor(k, k.messagePages(id, selvage.MessageQuery{Limit: ptr(2)}))
	page := k.messages(id, selvage.MessageQuery{Order: selvage.Ascending, Visibility: selvage.ShowExternal, Limit: ptr(2), Cursor: c})
	k.equal("seqs of the second page", seqs(page.Items), []int64{5, 7})
	c = cursor(k, k.runPagesOfThree())
	if _, err := k.store.Runs(k.Context(), selvage.RunQuery{Order: selvage.Descending, Cursor: c}); err != nil {
		k.Errorf("runs, newest first, by a cursor of runs in no order asked for, failed: %v; they are the same", err)
	}
	c = cursor(k, k.threadPages(selvage.ThreadQuery{Limit: ptr(1)}))
	if _, err := k.store.Threads(k.Context(), selvage.ThreadQuery{Order: selvage.ByCreated, Metadata: map[string]string{}, Cursor: c}); err != nil {
		k.Errorf("threads by creation, by a cursor of threads in no order asked for, failed: %v; they are the same", err)
	}
}

// runPagesOfThree makes three runs and reads all runs one by one.
func (k *kit) runPagesOfThree() func(selvage.Cursor) ([]selvage.Run, selvage.Cursor, error) {
	id := k.create(says("hello"))
	for range 3 {
		k.bring(id, newRunID(), selvage.RunDone)
	}
	return k.runPages(selvage.RunQuery{Limit: ptr(1)})
}
