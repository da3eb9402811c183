package storetest

import (
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func loadPromises() []promise {
	return []promise{
		{"UnknownThreadIsNotFound", "CONTRACT 13: reading what never was: not_found.", unknownThreadIsNotFound},
		{"OneConsistentPoint", "ARCHITECTURE 3: Load answers one consistent point: thread, state, last messages, open run.", oneConsistentPoint},
		{"WindowOfMessages", "LoadOptions: nil means the last 200 messages, 0 none, and there is no maximum; oldest first, internal ones included.", windowOfMessages},
		{"TimesOfAThread", "ARCHITECTURE 2: times are UTC with millisecond precision; a thread has those of its creation and its last change.", timesOfAThread},
	}
}

// unreadable checks that every read of a thread fails with the class.
func (k *kit) unreadable(id selvage.ThreadID, class error) {
	k.Helper()
	_, err := k.store.Load(k.Context(), id, selvage.LoadOptions{})
	k.class("load", err, class)
	_, err = k.store.State(k.Context(), id, 0)
	k.class("state", err, class)
	_, err = k.store.State(k.Context(), id, 1)
	k.class("state at version 1", err, class)
	_, err = k.store.Messages(k.Context(), id, selvage.MessageQuery{})
	k.class("messages", err, class)
	_, err = k.store.Messages(k.Context(), id, selvage.MessageQuery{At: 1})
	k.class("messages at version 1", err, class)
	_, err = k.store.Changes(k.Context(), id, selvage.ChangeQuery{})
	k.class("changes", err, class)
	if runs := k.runs(selvage.RunQuery{ThreadID: id}); len(runs) > 0 {
		k.Errorf("a thread that cannot be read has runs: %s", encode(k, runs))
	}
}

func unknownThreadIsNotFound(k *kit) {
	id := newID()
	k.unreadable(id, selvage.ErrNotFound)
	err := k.store.Delete(k.Context(), id, selvage.DeleteCascade)
	k.class("delete", err, selvage.ErrNotFound)
	k.append(id, says("hello"), selvage.New()) // reading made nothing
}

func oneConsistentPoint(k *kit) {
	run := newRunID()
	first := says("one", "two")
	first.Runs = []selvage.RunUpdate{running(run)}
	first.Patches = patch(state.Set("/n", state.Int(1))).Patches
	id := k.create(first, selvage.ChangeSet{Calls: []selvage.CallUpdate{call("c", selvage.CallStarted)}}, says("three"))
	h := k.load(id)
	c := k.change(id, 3)
	if h.Thread.Version != 3 || h.Hash != c.Hash || h.NextSeq != 4 || !h.Thread.UpdatedAt.Equal(c.At) {
		k.Errorf("the head is at version %d, hash %s, next seq %d, updated %v; want 3, %s, 4, %v", h.Thread.Version, h.Hash, h.NextSeq, h.Thread.UpdatedAt, c.Hash, c.At)
	}
	k.equal("state", h.State, map[string]int{"n": 1})
	k.equal("messages", texts(h.Messages), []string{"one", "two", "three"})
	if h.OpenRun == nil || h.OpenRun.ID != run || len(h.OpenCalls) != 1 || h.Lease != nil {
		k.Errorf("the head is %s; want run %q open, one open call, no lease", encode(k, h), run)
	}
}

func windowOfMessages(k *kit) {
	id := newID()
	pre := selvage.New()
	const n = selvage.DefaultWindow + 30
	for i := range n {
		m := say("", fmt.Sprint(i+1))
		if i%3 == 0 {
			m.Visibility = selvage.VisibleInternal
		}
		k.append(id, selvage.ChangeSet{Messages: []selvage.Message{m}}, pre)
		pre = selvage.Any()
	}
	for _, tt := range []struct {
		asked *int
		want  int
	}{{nil, selvage.DefaultWindow}, {ptr(0), 0}, {ptr(1), 1}, {ptr(7), 7}, {ptr(selvage.MaxPage + 10), selvage.MaxPage + 10}, {ptr(n), n}, {ptr(1 << 30), n}} {
		asked := "no number"
		if tt.asked != nil {
			asked = fmt.Sprint(*tt.asked)
		}
		h, err := k.store.Load(k.Context(), id, selvage.LoadOptions{Messages: tt.asked})
		if err != nil {
			k.Fatalf("load with %s of messages failed: %v", asked, err)
		}
		if len(h.Messages) != tt.want || h.NextSeq != n+1 {
			k.Fatalf("load with %s of messages answers %d of %d, next seq %d; want %d", asked, len(h.Messages), n, h.NextSeq, tt.want)
		}
		for i, m := range h.Messages {
			if want := n - tt.want + i + 1; m.Seq != int64(want) || m.Text() != fmt.Sprint(want) {
				k.Fatalf("load with %s of messages has seq %d (%q) in place %d; want seq %d: the last ones, oldest first, internal ones too", asked, m.Seq, m.Text(), i, want)
			}
		}
	}
	_, err := k.store.Load(k.Context(), id, selvage.LoadOptions{Messages: ptr(-1)})
	k.class("load with -1 messages", err, selvage.ErrInvalid)
	if h := k.load(k.create(selvage.ChangeSet{})); len(h.Messages) != 0 || h.NextSeq != 1 {
		k.Errorf("a thread without messages has %d, next seq %d; want none, 1", len(h.Messages), h.NextSeq)
	}
}

func timesOfAThread(k *kit) {
	id := newID()
	first := k.append(id, says("one"), selvage.New())
	for range 3 {
		k.tick()
		r := k.append(id, selvage.ChangeSet{}, selvage.Any())
		t := k.load(id).Thread
		k.isStored("created_at", t.CreatedAt)
		k.isStored("updated_at", t.UpdatedAt)
		if !t.CreatedAt.Equal(first.At) || !t.UpdatedAt.Equal(r.At) {
			k.Errorf("the thread was created at %v and updated at %v; want %v and %v, the times of its first and last change", t.CreatedAt, t.UpdatedAt, first.At, r.At)
		}
	}
}
