package storetest

import (
	"encoding/json"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// beyondFloat is an integer that a float64 cannot hold.
const beyondFloat = "9007199254740993"

// raw is JSON that changes under the hands of anybody who decodes it into Go
// values and encodes it again: digits, exponents, key order, escapes.
var rawTexts = [...]string{
	beyondFloat, "1.0", "-0", "1e400", "0.1000", `{"b":1,"a":` + beyondFloat + `}`, `"<&>"`, `"\u0041\u0000"`, `"é \u2028 🧵"`, `[]`, `{"":null}`,
}

// richSet uses every field that a set can have on every store; only a parent,
// which must exist, is left out.
func richSet() selvage.ChangeSet {
	run := selvage.RunID("run-" + selvage.NewID())
	doc, err := state.Parse([]byte(`{"n":` + beyondFloat + `,"list":[1,1.0,null],"~/ é":{"<&>":true}}`))
	if err != nil {
		panic(err) // the text above is constant
	}
	return selvage.ChangeSet{
		ID: "set-" + selvage.NewID(), RunID: run, ParentRunID: "run-above", Reason: selvage.ReasonAssistantTurn,
		Messages: richMessages(),
		Snapshot: &doc,
		Runs:     []selvage.RunUpdate{richRun(run)},
		Calls: []selvage.CallUpdate{{CallID: "call-1", Name: "pay", Effect: selvage.EffectOnce, Status: selvage.CallSuspended,
			IdempotencyKey: "key-1", Ticket: "ticket-1", Suspension: json.RawMessage(`{"id":"ticket-1","n":` + beyondFloat + `}`), Decision: json.RawMessage(`{"amount":` + beyondFloat + `}`)}},
		Events: []selvage.EventDraft{{Kind: "note", Payload: json.RawMessage(`{"n":` + beyondFloat + `}`)}, {Kind: "bare"}},
		Thread: &selvage.ThreadUpdate{Title: ptr("Größe <&> 🧵"), UserID: ptr("user-1"), ExpiresAt: ptr(time.UnixMilli(4102444800123).UTC()),
			Metadata: map[string]json.RawMessage{"n": json.RawMessage(beyondFloat), "s": json.RawMessage(`"<&>"`), "o": json.RawMessage(`{"b":1.0,"a":[]}`)}},
	}
}

// richMessages use every field and kind of content.
func richMessages() []selvage.Message {
	meta := make(map[string]json.RawMessage)
	for i, text := range rawTexts {
		meta[string(rune('a'+i))] = json.RawMessage(text)
	}
	prefix := "m-" + selvage.NewID()
	return []selvage.Message{
		{ID: prefix + "-1", Role: selvage.RoleSystem, Content: selvage.Text("be <brief> & kind \u2028 \x00 \"quoted\" \\ 🧵"), Visibility: selvage.VisibleInternal},
		{ID: prefix + "-2", Role: selvage.RoleUser, Metadata: meta, Content: selvage.Content{
			{Type: selvage.PartText, Text: "look"},
			{Type: selvage.PartImage, MediaType: "image/png", Name: "a.png", Data: []byte{0, 1, 2, 0xff}},
			{Type: selvage.PartFile, MediaType: "text/plain", Blob: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
			{Type: selvage.PartData, Value: json.RawMessage(`{"z":` + beyondFloat + `,"a":1.0}`)},
		}},
		{ID: prefix + "-3", Role: selvage.RoleAssistant, Step: 3, RunID: "run-own", Visibility: selvage.VisibleAll,
			Content: selvage.Content{{Type: selvage.PartReasoning, Text: "hm", Signature: "c2ln"}},
			ToolCalls: []selvage.ToolCall{
				{ID: "call-1", Name: "pay", Arguments: json.RawMessage(`{"to":"<b>","amount":` + beyondFloat + `,"rate":1.50}`)},
				{ID: "call-2", Name: "look_up"},
			}},
		{ID: prefix + "-4", Role: selvage.RoleTool, ToolCallID: "call-2", Content: selvage.Text("")},
	}
}

// richRun creates a run with everything that a run can have.
func richRun(id selvage.RunID) selvage.RunUpdate {
	return selvage.RunUpdate{
		ID: id, AgentID: "agent-1", ParentRunID: "run-above", Status: selvage.RunRunning,
		Spec: &selvage.RunSpec{Model: "sim/echo", System: "be <kind>", Policy: "default", Needs: []string{"shell"},
			Tools: []selvage.ToolUse{{Name: "pay", SchemaHash: "00ff", Effect: selvage.EffectOnce}},
			Limits: selvage.Limits{Turns: ptr(0), Tokens: ptr(int64(9007199254740993)), Spend: ptr(selvage.Money(1)),
				Spawns: ptr(2), Depth: ptr(3), Duration: ptr(time.Minute)},
			ToolCalls: selvage.ToolCallsParallel, Caps: []string{"tool.*"}, Fallbacks: []string{"sim/other"}, MaxOutputTokens: 7,
			Stop: &selvage.StopRules{Turns: ptr(1), Timeout: ptr(time.Hour), Tokens: ptr(int64(2)), Errors: ptr(3), Tools: []string{"end"},
				Contents: []string{"bye"}, Loop: 4},
			Context: &selvage.ContextRules{Messages: 1, Tokens: 2, Summarise: true, Model: "sim/short"},
			Budget:  &selvage.ChildRun{ThreadID: "above", RunID: "run-above"}},
		Limits: &selvage.Limits{Turns: ptr(9), Spend: ptr(selvage.Money(9007199254740993))},
		Usage:  &selvage.Usage{InputTokens: 9007199254740993, OutputTokens: 2, CachedTokens: 3, CacheWriteTokens: 5, ReasoningTokens: 4},
		Cost:   ptr(selvage.Money(9007199254740993)), Steps: ptr(7), Error: ptr("nothing yet"),
	}
}

// running creates a run, or moves it on.
func running(id selvage.RunID) selvage.RunUpdate {
	return selvage.RunUpdate{ID: id, Status: selvage.RunRunning}
}

// done ends a run.
func done(id string) selvage.RunUpdate {
	return selvage.RunUpdate{ID: selvage.RunID(id), Status: selvage.RunDone, Outcome: &selvage.Outcome{Kind: selvage.OutcomeCompleted}}
}

// runSet is a set of run updates.
func runSet(updates ...selvage.RunUpdate) selvage.ChangeSet { return selvage.ChangeSet{Runs: updates} }
