package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func callPromises() []promise {
	return []promise{
		{"OpenCallsAreShown", "CONTRACT 8: tool calls have their own field; the head shows those that are in no terminal status, oldest first.", openCallsAreShown},
		{"TerminalCallsNeverReopen", "CONTRACT 8: the journal is kept after the call ends; terminal calls never reopen.", terminalCallsNeverReopen},
		{"EverythingOfACallIsKept", "CONTRACT 8: a call has name, effect, status, idempotency key, ticket and decision; an empty field leaves what is there.", everythingOfACallIsKept},
		{"RefusedSetLeavesTheJournal", "ARCHITECTURE 1: a set that is refused leaves no mark, on its calls neither.", refusedSetLeavesTheJournal},
		{"OneCommitABatch", "CONTRACT 8: the journal commit of a batch carries the assistant message and all its once calls.", oneCommitABatch},
		{"CallsCountPerThread", "ARCHITECTURE 3: the journal belongs to its thread.", callsCountPerThread},
	}
}

func call(id string, to selvage.CallStatus) selvage.CallUpdate {
	return selvage.CallUpdate{CallID: id, Name: "tool", Status: to}
}

func callSet(updates ...selvage.CallUpdate) selvage.ChangeSet {
	return selvage.ChangeSet{Calls: updates}
}

func (k *kit) openCalls(id selvage.ThreadID) []string {
	k.Helper()
	ids := []string{}
	for _, c := range k.load(id).OpenCalls {
		ids = append(ids, c.ID+" "+string(c.Status))
	}
	return ids
}

func openCallsAreShown(k *kit) {
	id := k.create(callSet(call("a", selvage.CallStarted), call("b", selvage.CallStarted)), callSet(call("c", selvage.CallStarted)), says("more"))
	k.equal("open calls", k.openCalls(id), []string{"a started", "b started", "c started"})
	k.append(id, callSet(call("a", selvage.CallSuspended)), selvage.Any())
	k.equal("open calls after one was suspended", k.openCalls(id), []string{"a suspended", "b started", "c started"})
	k.append(id, callSet(call("b", selvage.CallSucceeded)), selvage.Any())
	k.equal("open calls after one succeeded", k.openCalls(id), []string{"a suspended", "c started"})
	k.append(id, callSet(call("a", selvage.CallResuming), call("c", selvage.CallFailed), call("d", selvage.CallStarted), call("e", selvage.CallCancelled)), selvage.Any())
	k.equal("open calls after more", k.openCalls(id), []string{"a resuming", "d started"})
	k.append(id, callSet(call("a", selvage.CallSucceeded), call("d", selvage.CallCancelled)), selvage.Any())
	k.equal("open calls at the end", k.openCalls(id), []string{})
}

func terminalCallsNeverReopen(k *kit) {
	statuses := []selvage.CallStatus{selvage.CallStarted, selvage.CallSuspended, selvage.CallResuming, selvage.CallSucceeded, selvage.CallFailed, selvage.CallCancelled}
	for _, end := range statuses[3:] {
		id := k.create(callSet(call("c", selvage.CallStarted)), callSet(call("c", end)), says("long ago"))
		for _, to := range statuses {
			k.Logf("a call that %s becomes %s", end, to)
			k.refuseField(id, callSet(call("c", to)), selvage.Any(), "calls")
		}
		k.refuseField(id, callSet(call("d", end), call("d", selvage.CallStarted)), selvage.Any(), "calls")
	}
}

func everythingOfACallIsKept(k *kit) {
	run := newRunID()
	set := callSet(selvage.CallUpdate{CallID: "c", Name: "pay", Effect: selvage.EffectOnce, Status: selvage.CallStarted, IdempotencyKey: "key"})
	set.RunID = run
	id := newID()
	first := k.append(id, set, selvage.New())
	want := selvage.Call{ID: "c", ThreadID: id, RunID: run, Name: "pay", Effect: selvage.EffectOnce, Status: selvage.CallStarted, IdempotencyKey: "key", CreatedAt: first.At, UpdatedAt: first.At}
	k.equal("open calls", k.load(id).OpenCalls, []selvage.Call{want})

	k.tick()
	second := k.append(id, callSet(selvage.CallUpdate{CallID: "c", Status: selvage.CallSuspended, Ticket: "t"}), selvage.Any())
	want.Status, want.Ticket, want.UpdatedAt = selvage.CallSuspended, "t", second.At
	k.equal("open calls", k.load(id).OpenCalls, []selvage.Call{want})

	decision := json.RawMessage(`{"b":1.0,"a":` + beyondFloat + `,"c":"<&>"}`)
	third := k.append(id, callSet(selvage.CallUpdate{CallID: "c", Status: selvage.CallResuming, Decision: decision}), selvage.Any())
	want.Status, want.Decision, want.UpdatedAt = selvage.CallResuming, decision, third.At
	got := k.load(id).OpenCalls
	k.equal("open calls", got, []selvage.Call{want})
	if len(got) == 1 && string(got[0].Decision) != string(decision) {
		k.Errorf("the decision is %s; want its bytes, %s", got[0].Decision, decision)
	}
}

func refusedSetLeavesTheJournal(k *kit) {
	id := k.create(callSet(call("a", selvage.CallStarted), call("b", selvage.CallStarted), call("c", selvage.CallStarted)))
	for _, to := range []selvage.CallStatus{selvage.CallSuspended, selvage.CallSucceeded} {
		set := patch(state.Increment("/missing", state.Int(1)))
		set.Calls = []selvage.CallUpdate{call("a", to), call("b", to), call("d", selvage.CallStarted)}
		k.refuse(id, set, selvage.Any(), selvage.ErrInvalid)
		k.equal("open calls after a refused set", k.openCalls(id), []string{"a started", "b started", "c started"})
	}
}

func oneCommitABatch(k *kit) {
	const n = 20
	turn := selvage.Message{Role: selvage.RoleAssistant}
	set := selvage.ChangeSet{RunID: newRunID()}
	for i := range n {
		id := fmt.Sprintf("call-%d", i)
		turn.ToolCalls = append(turn.ToolCalls, selvage.ToolCall{ID: id, Name: "pay"})
		set.Calls = append(set.Calls, selvage.CallUpdate{CallID: id, Name: "pay", Effect: selvage.EffectOnce, Status: selvage.CallStarted})
	}
	set.Messages = []selvage.Message{turn}
	id := k.create(says("hello"))
	r := k.append(id, set, selvage.Any())
	if r.Version != 2 || r.Events != n+1 {
		k.Errorf("a batch of %d calls answers version %d and %d events; want 2 and %d", n, r.Version, r.Events, n+1)
	}
	h := k.load(id)
	if len(h.OpenCalls) != n {
		k.Fatalf("a batch of %d calls left %d open", n, len(h.OpenCalls))
	}
	for i, c := range h.OpenCalls {
		if want := fmt.Sprintf("call-%d", i); c.ID != want || c.RunID != set.RunID || c.ThreadID != id {
			k.Errorf("open call %d is %s; want %q of run %q", i, encode(k, c), want, set.RunID)
		}
	}
}

func callsCountPerThread(k *kit) {
	one, two := k.create(callSet(call("c", selvage.CallSucceeded))), k.create(says("hello"))
	k.append(two, callSet(call("c", selvage.CallStarted)), selvage.Any())
	k.equal("open calls of the first thread", k.openCalls(one), []string{})
	k.equal("open calls of the second thread", k.openCalls(two), []string{"c started"})
}
