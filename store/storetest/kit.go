package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// kit is what a promise is tested with: a store, and verbs that fail the test
// with a full sentence.
type kit struct {
	testing.TB
	store  selvage.Store                           // shared with the other promises of the group
	fresh  func() selvage.Store                    // opens a store of the test's own
	reopen func(old selvage.Store) selvage.Store   // nil unless claimed
	share  func(first selvage.Store) selvage.Store // nil unless claimed
}

// on returns the kit working on another store.
func (k *kit) on(s selvage.Store) *kit {
	other := *k
	other.store = s
	return &other
}

// alone returns the kit working on a store that nobody else uses.
func (k *kit) alone() *kit { return k.on(k.fresh()) }

// newID returns an id that nobody else uses.
func newID() selvage.ThreadID { return selvage.ThreadID("t-" + selvage.NewID()) }

// say is a user's message with an id, or without one.
func say(id, text string) selvage.Message {
	return selvage.Message{ID: id, Role: selvage.RoleUser, Content: selvage.Text(text)}
}

// says is a change set of messages without ids.
func says(texts ...string) selvage.ChangeSet {
	var set selvage.ChangeSet
	for _, text := range texts {
		set.Messages = append(set.Messages, say("", text))
	}
	return set
}

// patch is a change set of one patch.
func patch(ops ...state.Op) selvage.ChangeSet {
	return selvage.ChangeSet{Patches: []selvage.StatePatch{{Ops: ops}}}
}

func ptr[T any](v T) *T { return &v }

// append appends, which must succeed.
func (k *kit) append(id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) selvage.Receipt {
	k.Helper()
	r, err := k.store.Append(k.Context(), id, set, pre)
	if err != nil {
		k.Fatalf("append with precondition %s failed: %v", pre, err)
	}
	return r
}

// create makes a new thread out of sets, one version each.
func (k *kit) create(sets ...selvage.ChangeSet) selvage.ThreadID {
	k.Helper()
	id, pre := newID(), selvage.New()
	for _, set := range sets {
		k.append(id, set, pre)
		pre = selvage.Any()
	}
	return id
}

// refuse appends, which must fail with an error of the class and leave no mark
// on the thread. It returns the error.
func (k *kit) refuse(id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition, class error) error {
	k.Helper()
	before := k.picture(id)
	r, err := k.store.Append(k.Context(), id, set, pre)
	if err == nil {
		k.Fatalf("append with precondition %s made version %d; want it refused as %q", pre, r.Version, class)
	}
	k.class("append", err, class)
	if after := k.picture(id); after != before {
		k.Errorf("append was refused (%v), yet it left its mark: %s", err, difference(after, before))
	}
	return err
}

// refuseField is refuse for an [selvage.InvalidError] about a certain field.
func (k *kit) refuseField(id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition, field string) {
	k.Helper()
	err := k.refuse(id, set, pre, selvage.ErrInvalid)
	var invalid *selvage.InvalidError
	if !errors.As(err, &invalid) {
		k.Fatalf("append failed with %v, a %T; want an *InvalidError, which names the field at fault", err, err)
	}
	if !strings.HasPrefix(invalid.Field, field) {
		k.Errorf("append was refused because of field %q (%v); want the fault found in %q", invalid.Field, err, field)
	}
}

// classes are all of them: an error has exactly one.
func classes() []error {
	return []error{selvage.ErrNotFound, selvage.ErrAlreadyExists, selvage.ErrConflict, selvage.ErrInvalid, selvage.ErrFenced,
		selvage.ErrUnknownOutcome, selvage.ErrCorrupt, selvage.ErrUnsupported, selvage.ErrTooLarge, selvage.ErrGone,
		selvage.ErrCursorExpired, selvage.ErrBusy, selvage.ErrClosed, selvage.ErrUnavailable}
}

// class checks that an error is there and matches want, and no other class.
func (k *kit) class(what string, err, want error) {
	k.Helper()
	if err == nil {
		k.Fatalf("%s succeeded; want an error matching %q", what, want)
	}
	if !errors.Is(err, want) {
		k.Fatalf("%s failed with %q (code %q); want an error matching %q", what, err, selvage.Code(err), want)
	}
	for _, c := range classes() {
		if c != want && errors.Is(err, c) {
			k.Errorf("%s failed with %q, which matches %q besides %q; an error matches exactly one class", what, err, c, want)
		}
	}
}

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

// picture is everything that can be read about a thread, as text to compare.
func (k *kit) picture(id selvage.ThreadID) string {
	k.Helper()
	h, err := k.store.Load(k.Context(), id, selvage.LoadOptions{Messages: ptr(1 << 20)})
	if err != nil {
		return fmt.Sprintf("unreadable: %s", selvage.Code(err))
	}
	return encode(k, struct {
		Head     selvage.Head
		Log      []selvage.Change
		Runs     []selvage.Run
		Messages []selvage.Message
	}{h, k.log(id), k.runs(selvage.RunQuery{ThreadID: id}), k.allMessages(id, selvage.MessageQuery{Visibility: selvage.ShowAll})})
}

// encode is json.Marshal without escaping, for comparing.
func encode(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatalf("encode %T: %v", v, err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// equal compares two values by their JSON.
func (k *kit) equal(what string, got, want any) {
	k.Helper()
	if g, w := encode(k, got), encode(k, want); g != w {
		k.Errorf("%s: %s", what, difference(g, w))
	}
}

// difference shows where two texts part.
func difference(got, want string) string {
	if len(got) <= 200 && len(want) <= 200 {
		return fmt.Sprintf("got %s, want %s", got, want)
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, min(i, len(s))-60):min(len(s), i+120)] }
	return fmt.Sprintf("they part at byte %d: got ...%s..., want ...%s...", i, cut(got), cut(want))
}

// texts are what messages say, in order.
func texts(messages []selvage.Message) []string {
	out := make([]string, len(messages))
	for i := range messages {
		out[i] = messages[i].Text()
	}
	return out
}

// isStored checks a time for the form of all stored times.
func (k *kit) isStored(what string, at time.Time) {
	k.Helper()
	if at.IsZero() || at.Location() != time.UTC || !at.Equal(at.Truncate(selvage.TimePrecision)) {
		k.Errorf("%s is %v; want a time in UTC with a precision of %v", what, at, selvage.TimePrecision)
	}
}
