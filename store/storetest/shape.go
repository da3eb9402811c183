package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func shapePromises() []promise {
	return []promise{
		{"BadMessagesAreRefused", "ARCHITECTURE 3: the shape of a message is validated at append; a fault is invalid, names its field, and writes nothing.", badMessagesAreRefused},
		{"GoodMessagesAreKept", "ARCHITECTURE 3: what has the shape of a message is kept as it is.", goodMessagesAreKept},
		{"BadSetsAreRefused", "ARCHITECTURE 3: a set never carries a snapshot and the patches it already contains; events have a kind; titles and metadata have bounds.", badSetsAreRefused},
		{"BoundsAreInclusive", "limits: what is exactly at a bound is accepted.", boundsAreInclusive},
		{"WhatIsNotOfferedIsSaid", "ARCHITECTURE 3: a store that lacks something answers unsupported; nothing is silently a no-op.", whatIsNotOfferedIsSaid},
	}
}

func badMessagesAreRefused(k *kit) {
	user := func(parts ...selvage.Part) selvage.Message {
		return selvage.Message{Role: selvage.RoleUser, Content: parts}
	}
	calls := func(calls ...selvage.ToolCall) selvage.Message {
		return selvage.Message{Role: selvage.RoleAssistant, ToolCalls: calls}
	}
	many := make(map[string]json.RawMessage)
	for i := range selvage.MaxMetadataKeys + 1 {
		many[fmt.Sprint(i)] = json.RawMessage("1")
	}
	tests := []struct {
		fault   string
		field   string
		message selvage.Message
	}{
		{"no role", "role", selvage.Message{}},
		{"an unknown role", "role", selvage.Message{Role: "developer"}},
		{"a role in capitals", "role", selvage.Message{Role: "User"}},
		{"an unknown visibility", "visibility", selvage.Message{Role: selvage.RoleUser, Visibility: "hidden"}},
		{"a negative step", "step", selvage.Message{Role: selvage.RoleAssistant, Step: -1}},
		{"a tool message without its call", "tool_call_id", selvage.Message{Role: selvage.RoleTool}},
		{"a user message that answers a call", "tool_call_id", selvage.Message{Role: selvage.RoleUser, ToolCallID: "c"}},
		{"an assistant message that answers a call", "tool_call_id", selvage.Message{Role: selvage.RoleAssistant, ToolCallID: "c"}},
		{"a user message with calls", "tool_calls", selvage.Message{Role: selvage.RoleUser, ToolCalls: []selvage.ToolCall{{ID: "c", Name: "n"}}}},
		{"a tool message with calls", "tool_calls", selvage.Message{Role: selvage.RoleTool, ToolCallID: "c", ToolCalls: []selvage.ToolCall{{ID: "c", Name: "n"}}}},
		{"a call without id", "tool_calls[0]", calls(selvage.ToolCall{Name: "n"})},
		{"a call without name", "tool_calls[1]", calls(selvage.ToolCall{ID: "a", Name: "n"}, selvage.ToolCall{ID: "b"})},
		{"two calls of one id", "tool_calls[2]", calls(selvage.ToolCall{ID: "a", Name: "n"}, selvage.ToolCall{ID: "b", Name: "n"}, selvage.ToolCall{ID: "a", Name: "m"})},
		{"a part of no kind", "content[0]", user(selvage.Part{Text: "hello"})},
		{"a part of an unknown kind", "content[1]", user(selvage.Part{Type: selvage.PartText}, selvage.Part{Type: "video"})},
		{"an image of nothing", "content[0]", user(selvage.Part{Type: selvage.PartImage})},
		{"a file in two places", "content[0]", user(selvage.Part{Type: selvage.PartFile, Data: []byte("x"), Blob: "00"})},
		{"data without a value", "content[0]", user(selvage.Part{Type: selvage.PartData})},
		{"text that is not UTF-8", "content[0]", user(selvage.Part{Type: selvage.PartText, Text: "a\xff"})},
		{"too many metadata keys", "metadata", selvage.Message{Role: selvage.RoleUser, Metadata: many}},
	}
	id := k.create(says("hello"))
	for _, tt := range tests {
		k.Logf("a message with %s", tt.fault)
		set := selvage.ChangeSet{Messages: []selvage.Message{say("fine", "fine"), tt.message}}
		k.refuseField(id, set, selvage.Any(), "messages[1]."+tt.field)
	}
	for _, text := range []string{"{", "", "1 2", "nan"} {
		k.Logf("metadata that is no JSON: %q", text)
		m := say("", "hello")
		m.Metadata = map[string]json.RawMessage{"k": json.RawMessage(text)}
		k.refuse(id, selvage.ChangeSet{Messages: []selvage.Message{m}}, selvage.Any(), selvage.ErrInvalid)
	}
}

func goodMessagesAreKept(k *kit) {
	messages := append(richMessages(),
		selvage.Message{ID: "empty", Role: selvage.RoleUser},
		selvage.Message{ID: "only calls", Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: "c", Name: "n"}}},
		selvage.Message{ID: "an answer to nothing here", Role: selvage.RoleTool, ToolCallID: "elsewhere"},
		selvage.Message{ID: "internal", Role: selvage.RoleSystem, Visibility: selvage.VisibleInternal},
	)
	id := k.create(selvage.ChangeSet{Messages: messages})
	at := k.load(id).Thread.CreatedAt
	for i := range messages {
		messages[i].Seq, messages[i].CreatedAt = int64(i+1), at
	}
	k.equal("messages", k.load(id).Messages, messages)
}

func badSetsAreRefused(k *kit) {
	many := make(map[string]json.RawMessage)
	for i := range selvage.MaxMetadataKeys + 1 {
		many[fmt.Sprint(i)] = json.RawMessage("1")
	}
	tests := []struct {
		fault string
		field string
		set   selvage.ChangeSet
	}{
		{"a snapshot and patches", "snapshot", selvage.ChangeSet{Snapshot: &state.Document{}, Patches: patch(state.Set("/a", state.Int(1))).Patches}},
		{"an event without kind", "events[1]", selvage.ChangeSet{Events: []selvage.EventDraft{{Kind: "note"}, {}}}},
		{"a title that is too long", "thread.title", selvage.ChangeSet{Thread: &selvage.ThreadUpdate{Title: ptr(strings.Repeat("x", selvage.MaxTitleBytes+1))}}},
		{"a title that is not UTF-8", "thread.title", selvage.ChangeSet{Thread: &selvage.ThreadUpdate{Title: ptr("a\xff")}}},
		{"too many metadata keys", "thread.metadata", selvage.ChangeSet{Thread: &selvage.ThreadUpdate{Metadata: many}}},
		{"a run in no status", "runs[0].status", runSet(selvage.RunUpdate{ID: "r"})},
		{"a run in an unknown status", "runs[0].status", runSet(selvage.RunUpdate{ID: "r", Status: "paused"})},
		{"a done run without outcome", "runs[0].outcome", runSet(selvage.RunUpdate{ID: "r", Status: selvage.RunDone})},
		{"a running run with outcome", "runs[0].outcome", runSet(selvage.RunUpdate{ID: "r", Status: selvage.RunRunning, Outcome: &selvage.Outcome{Kind: selvage.OutcomeFailed}})},
		{"an unknown outcome", "runs[0].outcome", runSet(selvage.RunUpdate{ID: "r", Status: selvage.RunDone, Outcome: &selvage.Outcome{Kind: "lost"}})},
		{"a waiting run that waits for nothing", "runs[0].waiting", runSet(selvage.RunUpdate{ID: "r", Status: selvage.RunWaiting})},
		{"a running run that waits", "runs[0].waiting", runSet(selvage.RunUpdate{ID: "r", Status: selvage.RunRunning, Waiting: &selvage.Waiting{Reason: selvage.WaitBudget}})},
		{"a call in an unknown status", "calls", selvage.ChangeSet{Calls: []selvage.CallUpdate{{CallID: "c", Status: "new"}}}},
	}
	id := k.create(says("hello"))
	for _, tt := range tests {
		k.Logf("a set with %s", tt.fault)
		k.refuseField(id, tt.set, selvage.Any(), tt.field)
	}
}

func boundsAreInclusive(k *kit) {
	full := make(map[string]json.RawMessage)
	for i := range selvage.MaxMetadataKeys {
		full[fmt.Sprint(i)] = json.RawMessage("1")
	}
	m := say("", "hello")
	m.Metadata = full
	title := strings.Repeat("ä", selvage.MaxTitleBytes/2)
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{m}, Thread: &selvage.ThreadUpdate{Title: &title, Metadata: full}})
	h := k.load(id)
	if h.Thread.Title != title || len(h.Thread.Metadata) != selvage.MaxMetadataKeys || len(h.Messages[0].Metadata) != selvage.MaxMetadataKeys {
		k.Errorf("a title of %d bytes and metadata of %d keys became %d bytes and %d keys (%d of the message)",
			len(title), len(full), len(h.Thread.Title), len(h.Thread.Metadata), len(h.Messages[0].Metadata))
	}
	k.refuseField(id, selvage.ChangeSet{Thread: &selvage.ThreadUpdate{Metadata: map[string]json.RawMessage{"one more": json.RawMessage("1")}}}, selvage.Any(), "thread.metadata")
}

func whatIsNotOfferedIsSaid(k *kit) {
	id := k.create(patch(state.Set("/a", state.Int(1))), patch(state.Set("/a", state.Int(2))))
	try := func(what string, set selvage.ChangeSet, done func(selvage.Receipt) bool) {
		r, err := k.store.Append(k.Context(), id, set, selvage.Any())
		if err != nil {
			k.class("append with "+what, err, selvage.ErrUnsupported)
			return
		}
		if !done(r) {
			k.Errorf("append with %s succeeded and did nothing (%+v); want it done, or unsupported", what, r)
		}
	}
	try("an outbox entry", selvage.ChangeSet{Outbox: []selvage.OutboxEntry{{Lane: "mail", Target: "a", Payload: json.RawMessage("1")}}},
		func(r selvage.Receipt) bool { return len(r.OutboxIDs) == 1 })
	try("a dispatch", selvage.ChangeSet{Dispatches: []selvage.DispatchDraft{{}}},
		func(r selvage.Receipt) bool { return len(r.DispatchIDs) == 1 })
	try("a rewind", selvage.ChangeSet{Rewind: ptr(selvage.Version(1)), Reason: selvage.ReasonRewound},
		func(selvage.Receipt) bool { return k.state(id, 0) == `{"a":1}` })
	if _, err := k.store.Load(k.Context(), id, selvage.LoadOptions{}); errors.Is(err, selvage.ErrUnsupported) {
		k.Errorf("load is unsupported: %v; every store has it", err)
	}
}
