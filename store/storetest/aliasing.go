package storetest

import (
	"encoding/json"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func aliasingPromises() []promise {
	const rule = "Store: values passed in and out are never shared: neither side may change what the other holds"
	return []promise{
		{"WhatGoesInIsCopied", rule + ".", whatGoesInIsCopied},
		{"WhatGoesInIsLeftAlone", rule + ".", whatGoesInIsLeftAlone},
		{"WhatComesOutIsCopied", rule + ".", whatComesOutIsCopied},
		{"ReceiptsAreCopied", rule + ".", receiptsAreCopied},
		{"LeasesAreCopied", rule + ", leases included.", leasesAreCopied},
	}
}

// scribble changes everything in a message that may be changed: all but the
// bytes of raw JSON, which are read-only to both sides.
func scribble(m *selvage.Message) {
	for i := range m.Content {
		m.Content[i].Text, m.Content[i].Name, m.Content[i].Value = "scribble", "scribble", json.RawMessage(`"scribble"`)
		for j := range m.Content[i].Data {
			m.Content[i].Data[j] ^= 0xff
		}
	}
	for i := range m.ToolCalls {
		m.ToolCalls[i].Name, m.ToolCalls[i].Arguments = "scribble", json.RawMessage(`"scribble"`)
	}
	for key := range m.Metadata {
		m.Metadata[key] = json.RawMessage(`"scribble"`)
	}
	m.ID, m.Role, m.Seq = "scribble", "scribble", 99
}

func scribbleRun(r *selvage.Run) {
	if r.Spec != nil {
		scribbleSpec(r.Spec)
	}
	if r.Waiting != nil {
		r.Waiting.Tickets[0], r.Waiting.Message = "scribble", "scribble"
	}
	if r.Outcome != nil {
		r.Outcome.Code = "scribble"
	}
	if r.Limits != nil {
		*r.Limits.Turns = 99
	}
	r.ID, r.Status = "scribble", "scribble"
}

func scribbleSpec(s *selvage.RunSpec) {
	s.Model, s.Tools[0].Name, s.Needs[0] = "scribble", "scribble", "scribble"
	*s.Limits.Turns, *s.Limits.Spend, *s.Limits.Duration, *s.Limits.Tokens = 99, 99, 99, 99
	s.Caps[0], s.Fallbacks[0], s.Stop.Tools[0], *s.Stop.Turns, s.Context.Model, s.Budget.RunID = "scribble", "scribble", "scribble", 99, "scribble", "scribble"
}

func scribbleMetadata(m map[string]json.RawMessage) {
	for key := range m {
		m[key] = json.RawMessage(`"scribble"`)
	}
	m["scribble"] = json.RawMessage("1")
}

func whatGoesInIsCopied(k *kit) {
	set := richSet()
	set.Snapshot, set.Patches = nil, patch(state.Set("/a", value(`{"b":1}`))).Patches
	set.Runs = append(set.Runs, status(set.RunID, selvage.RunWaiting))
	set.Thread.ParentID = ptr(k.create(says("parent")))
	id := newID()
	r := k.append(id, set, selvage.New())
	before := k.picture(id)

	setID := set.ID
	for i := range set.Messages {
		scribble(&set.Messages[i])
	}
	scribbleSpec(set.Runs[0].Spec)
	*set.Runs[0].Usage, *set.Runs[0].Cost = selvage.Usage{}, 99
	*set.Runs[0].Limits.Turns = 99
	set.Runs[1].Waiting.Tickets[0] = "scribble"
	set.Calls[0].Name = "scribble"
	set.Events[0].Kind = "scribble"
	set.Patches[0].Ops[0] = state.Set("/scribble", state.Int(1))
	*set.Thread.Title, *set.Thread.ParentID, *set.Thread.ExpiresAt = "scribble", "scribble", time.Time{}
	scribbleMetadata(set.Thread.Metadata)
	if after := k.picture(id); after != before {
		k.Errorf("changing a set after it was appended changed the thread: %s", difference(after, before))
	}
	if c := k.change(id, 1); c.ID != setID || c.Hash != r.Hash {
		k.Errorf("changing a set after it was appended changed its header to %s", encode(k, c))
	}
	k.verify(k.log(id))
}

func whatGoesInIsLeftAlone(k *kit) {
	set := richSet()
	set.ID = ""
	set.Messages = append(set.Messages, say("", "without id"), say(set.Messages[0].ID, "a duplicate"))
	set.Runs = append(set.Runs, status(set.RunID, selvage.RunWaiting))
	before := encode(k, set)
	k.create(set)
	if after := encode(k, set); after != before {
		k.Errorf("an append changed the set it was given: %s", difference(after, before))
	}
	q := selvage.ThreadQuery{Metadata: map[string]string{"k": "v"}}
	k.threads(q)
	k.equal("metadata of a query", q.Metadata, map[string]string{"k": "v"})
}

func whatComesOutIsCopied(k *kit) {
	set := richSet()
	set.Messages = append(set.Messages, say(set.Messages[0].ID, "a duplicate"))
	set.Runs = append(set.Runs, status(set.RunID, selvage.RunWaiting))
	id := k.create(set)
	before := k.picture(id)
	check := func(what string) {
		k.Helper()
		if after := k.picture(id); after != before {
			k.Fatalf("changing what %s answered changed the thread: %s", what, difference(after, before))
		}
	}
	h := k.load(id)
	for i := range h.Messages {
		scribble(&h.Messages[i])
	}
	scribbleRun(h.OpenRun)
	h.OpenCalls[0].Name = "scribble"
	scribbleMetadata(h.Thread.Metadata)
	check("Load")

	messages := k.messages(id, selvage.MessageQuery{Visibility: selvage.ShowAll}).Items
	for i := range messages {
		scribble(&messages[i])
	}
	check("Messages")

	c := k.change(id, 1)
	c.Messages[0], c.Dropped[0] = json.RawMessage(`{}`), 99
	for i := range c.Salt {
		c.Salt[i] ^= 0xff
	}
	check("Changes")

	for _, r := range k.runs(selvage.RunQuery{ThreadID: id}) {
		scribbleRun(&r)
	}
	check("Runs")

	for _, t := range k.threads(selvage.ThreadQuery{Text: string(id)}) {
		scribbleMetadata(t.Metadata)
	}
	check("Threads")
}

func receiptsAreCopied(k *kit) {
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("a", "A")}})
	set := selvage.ChangeSet{ID: "set-" + selvage.NewID(), Messages: []selvage.Message{say("a", "A"), say("b", "B")}}
	first := k.append(id, set, selvage.Any())
	first.Dropped[0] = 99
	again := k.append(id, set, selvage.Any())
	k.equal("indexes of the dropped messages in a replay", again.Dropped, []int{0})
	again.Dropped[0] = 99
	k.equal("indexes of the dropped messages in the log", k.change(id, 2).Dropped, []int{0})
}

func leasesAreCopied(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	k.brief(l, id, elsewhere("a"))
	lease := k.acquire(l, id, elsewhere("b"))
	renewed, err := l.Renew(k.Context(), lease, minute)
	if err != nil {
		k.Fatalf("renew failed: %v", err)
	}
	shown := k.load(id).Lease
	if shown == nil {
		k.Fatal("the head shows no lease")
	}
	shown.Owner, shown.Epoch = selvage.Owner{Name: "scribble"}, 99
	lease.Took.Name = "scribble"
	if renewed.Took != nil {
		renewed.Took.Name = "scribble"
	}
	if got := k.load(id).Lease; got == nil || got.Owner.Name != "b" || got.Epoch != lease.Epoch {
		k.Errorf("changing a lease that was answered changed the thread's to %s", encode(k, got))
	}
}
