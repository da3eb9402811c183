package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
)

// liar is a store that serves something else than it holds.
type liar struct {
	selvage.Store
	changes  func([]selvage.Change) ([]selvage.Change, error)
	messages func([]selvage.Message) []selvage.Message
	head     func(*selvage.Head)
}

func (l *liar) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	page, err := l.Store.Changes(ctx, id, q)
	if l.changes != nil && err == nil {
		page.Items, err = l.changes(page.Items)
	}
	return page, err
}

func (l *liar) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	page, err := l.Store.Messages(ctx, id, q)
	if l.messages != nil {
		page.Items = l.messages(page.Items)
	}
	return page, err
}

func (l *liar) Load(ctx context.Context, id selvage.ThreadID, o selvage.LoadOptions) (selvage.Head, error) {
	head, err := l.Store.Load(ctx, id, o)
	if l.head != nil {
		l.head(&head)
	}
	return head, err
}

// woven returns a store with a thread of n changes, two messages each and a
// counter in its state.
func woven(t *testing.T, n int) *liar {
	t.Helper()
	s := inmem.New(inmem.Options{})
	for i := range n {
		pre := selvage.Any()
		if i == 0 {
			pre = selvage.New()
		}
		_, err := s.Append(t.Context(), "t", selvage.ChangeSet{
			Messages: []selvage.Message{selvage.UserText(fmt.Sprintf("question %d", i)), {Role: selvage.RoleAssistant, Content: selvage.Text("answer")}},
			Patches:  []selvage.StatePatch{{Ops: state.Patch{state.Set(state.At("turn"), state.Int(int64(i)))}}},
		}, pre)
		if err != nil {
			t.Fatal(err)
		}
	}
	return &liar{Store: s}
}

func TestVerifyWhole(t *testing.T) {
	t.Parallel()
	const n = 2*selvage.MaxPage + 1 // pages of changes and of messages
	p, err := verifyThread(t.Context(), woven(t, n), "t")
	if err != nil {
		t.Fatal(err)
	}
	if p.version != n || p.changes != n || p.compared != 2*n {
		t.Errorf("proof of version %d, %d changes, %d messages; want %d, %d, %d", p.version, p.changes, p.compared, n, n, 2*n)
	}
}

// TestVerifyRecreated: the log of a thread that was made again begins with its
// tombstone.
func TestVerifyRecreated(t *testing.T) {
	t.Parallel()
	s := woven(t, 3)
	if err := s.Delete(t.Context(), "t", selvage.DeleteReject); err != nil {
		t.Fatal(err)
	}
	if _, err := verifyThread(t.Context(), s, "t"); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("verify a deleted thread = %v; want not found", err)
	}
	if _, err := s.Append(t.Context(), "t", selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("again")}}, selvage.Recreate()); err != nil {
		t.Fatal(err)
	}
	p, err := verifyThread(t.Context(), s, "t")
	if err != nil {
		t.Fatal(err)
	}
	if p.version != 5 || p.compared != 1 {
		t.Errorf("proof of version %d, %d messages; want 5, 1", p.version, p.compared)
	}
}

// TestVerifyDamage: whatever is served otherwise than it was appended is
// found, and the version named.
func TestVerifyDamage(t *testing.T) {
	t.Parallel()
	on := func(v selvage.Version, edit func(*selvage.Change)) func([]selvage.Change) ([]selvage.Change, error) {
		return func(items []selvage.Change) ([]selvage.Change, error) {
			for i := range items {
				if items[i].Version == v {
					edit(&items[i])
				}
			}
			return items, nil
		}
	}
	tests := []struct {
		name    string
		lie     liar
		version selvage.Version
		why     string
	}{
		{"a byte of a message", liar{changes: on(2, func(c *selvage.Change) {
			c.Messages = slices.Clone(c.Messages)
			c.Messages[0] = json.RawMessage(strings.Replace(string(c.Messages[0]), "question", "Question", 1))
		})}, 2, "content"},
		{"a byte of the rest", liar{changes: on(3, func(c *selvage.Change) {
			c.Rest = json.RawMessage(strings.Replace(string(c.Rest), "turn", "tern", 1))
		})}, 3, "content"},
		{"another reason", liar{changes: on(2, func(c *selvage.Change) { c.Reason = selvage.ReasonStateEdited })}, 2, "content"},
		{"another time", liar{changes: on(2, func(c *selvage.Change) { c.At = c.At.AddDate(1, 0, 0) })}, 2, "header"},
		{"another predecessor", liar{changes: on(2, func(c *selvage.Change) { c.Prev = selvage.Hash{1} })}, 2, "does not follow"},
		{"a version is missing", liar{changes: func(items []selvage.Change) ([]selvage.Change, error) {
			return slices.DeleteFunc(items, func(c selvage.Change) bool { return c.Version == 2 }), nil
		}}, 2, "missing"},
		{"the last version is missing", liar{changes: func(items []selvage.Change) ([]selvage.Change, error) {
			return slices.DeleteFunc(items, func(c selvage.Change) bool { return c.Version == 5 }), nil
		}}, 5, "log ends at 4"},
		{"the log cannot be read", liar{changes: func(items []selvage.Change) ([]selvage.Change, error) {
			if slices.ContainsFunc(items, func(c selvage.Change) bool { return c.Version == 4 }) {
				return nil, selvage.ErrCorrupt
			}
			return items, nil
		}}, 4, "corrupt"},
		{"a message is served otherwise", liar{messages: func(items []selvage.Message) []selvage.Message {
			items[2].Content = selvage.Text("something else")
			return items
		}}, 2, "message 3 is served otherwise"},
		{"a message is not served", liar{messages: func(items []selvage.Message) []selvage.Message { return items[:9] }}, 5, "message 10 is in the log"},
		{"a message too many", liar{messages: func(items []selvage.Message) []selvage.Message { return append(items, items[0]) }}, 5, "not in the log"},
		{"a head that is behind", liar{head: func(h *selvage.Head) { h.Thread.Version = 4 }}, 4, "another hash"},
		{"another head hash", liar{head: func(h *selvage.Head) { h.Hash[0]++ }}, 5, "another hash"},
		{"another state", liar{head: func(h *selvage.Head) { h.State = state.Document{} }}, 5, "another state"},
		{"another next seq", liar{head: func(h *selvage.Head) { h.NextSeq++ }}, 5, "counts to message 11"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lie := tt.lie
			lie.Store = woven(t, 5).Store
			_, err := verifyThread(t.Context(), &lie, "t")
			f := classify(err)
			if f.exit != exitCorrupt || f.details["version"] != tt.version {
				t.Fatalf("verify = %v (exit %d, version %v); want exit %d, version %d", err, f.exit, f.details["version"], exitCorrupt, tt.version)
			}
			if !strings.Contains(err.Error(), tt.why) {
				t.Errorf("verify = %v; want ...%s...", err, tt.why)
			}
		})
	}
}
