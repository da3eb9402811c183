package storetest

import (
	"encoding/json"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func idempotencyPromises() []promise {
	return []promise{
		{"SameSetAnswersFirstReceipt", "CONTRACT 2: same id and content: the first receipt, Replayed, and nothing is written.", sameSetAnswersFirstReceipt},
		{"ReceiptsOutlastLaterAppends", "CONTRACT 2: receipts stay complete, because positions and ids derive from (version, index).", receiptsOutlastLaterAppends},
		{"OtherContentIsRefused", "CONTRACT 2: same id, other content: already_exists.", otherContentIsRefused},
		{"ContentIsWhatWasSubmitted", "CONTRACT 2: the digest covers the set as submitted, without assigned ids, seq, time and precondition.", contentIsWhatWasSubmitted},
		{"DuplicatesAreContent", "CONTRACT 2: the digest covers the set before deduplication.", duplicatesAreContent},
		{"ReplayComesBeforeRules", "CONTRACT 1: the change-set id is checked first, so a replay is not judged again.", replayComesBeforeRules},
		{"ReplayWithStaleVersion", "CONTRACT 1: a replay gets its receipt even with a stale version.", replayWithStaleVersion},
		{"AppliedOnce", "CONTRACT 2: a commit whose acknowledgement was lost has one effect, however often it is sent.", appliedOnce},
		{"IDIsUniquePerThread", "CONTRACT 2: the id is unique per thread.", idIsUniquePerThread},
		{"IDCountsOnlyOnceWritten", "CONTRACT 2: only a set that was written takes its id.", idCountsOnlyOnceWritten},
		{"SetOfTheLogReplays", "CONTRACT 2, 6: a set decoded from the log is the set that was submitted.", setOfTheLogReplays},
	}
}

// replay appends a set again, which must answer the receipt of the first time
// and write nothing.
func (k *kit) replay(id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition, first selvage.Receipt) {
	k.Helper()
	before := k.picture(id)
	again := k.append(id, set, pre)
	if !again.Replayed {
		k.Errorf("the same set again with precondition %s made version %d; want a replay of version %d", pre, again.Version, first.Version)
	}
	first.Replayed = true
	k.equal("receipt of the replay", again, first)
	if after := k.picture(id); after != before {
		k.Errorf("a replay left its mark: %s", difference(after, before))
	}
}

func sameSetAnswersFirstReceipt(k *kit) {
	id := newID()
	set := richSet()
	set.Messages = append(set.Messages, say("", "without id"))
	first := k.append(id, set, selvage.New())
	if first.Replayed {
		k.Error("the first append says that it is a replay")
	}
	for _, pre := range []selvage.Precondition{selvage.New(), selvage.Any(), selvage.Exact(1), selvage.Exact(7), selvage.Recreate()} {
		k.replay(id, set, pre, first)
	}
}

func receiptsOutlastLaterAppends(k *kit) {
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("known", "first")}})
	type sent struct {
		set     selvage.ChangeSet
		receipt selvage.Receipt
	}
	var all []sent
	for i := range 30 {
		set := selvage.ChangeSet{ID: "set-" + selvage.NewID(), Events: []selvage.EventDraft{{Kind: "note"}},
			Messages: []selvage.Message{say("", "a"), say("known", "again"), say("", "b")}}
		if i%3 == 0 {
			set.Messages = nil
		}
		all = append(all, sent{set, k.append(id, set, selvage.Any())})
	}
	for _, s := range all {
		k.replay(id, s.set, selvage.Any(), s.receipt)
	}
}

func otherContentIsRefused(k *kit) {
	id := k.create(says("hello"))
	first := richSet()
	k.append(id, first, selvage.Any())
	other := func(change func(*selvage.ChangeSet)) selvage.ChangeSet {
		set := first
		set.Messages = append([]selvage.Message(nil), first.Messages...)
		set.Calls = append([]selvage.CallUpdate(nil), first.Calls...)
		set.Runs = append([]selvage.RunUpdate(nil), first.Runs...)
		set.Thread = ptr(*first.Thread)
		change(&set)
		return set
	}
	tests := map[string]func(*selvage.ChangeSet){
		"another text":       func(s *selvage.ChangeSet) { s.Messages[1].Content = selvage.Text("else") },
		"another message id": func(s *selvage.ChangeSet) { s.Messages[1].ID += "x" },
		"another order":      func(s *selvage.ChangeSet) { s.Messages[0], s.Messages[1] = s.Messages[1], s.Messages[0] },
		"another digit": func(s *selvage.ChangeSet) {
			s.Messages[1].Metadata = map[string]json.RawMessage{"a": json.RawMessage("9007199254740992")}
		},
		"one message less":        func(s *selvage.ChangeSet) { s.Messages = s.Messages[:3] },
		"one message more":        func(s *selvage.ChangeSet) { s.Messages = append(s.Messages, say("", "more")) },
		"no messages":             func(s *selvage.ChangeSet) { s.Messages = nil },
		"another reason":          func(s *selvage.ChangeSet) { s.Reason = selvage.ReasonToolResults },
		"another run":             func(s *selvage.ChangeSet) { s.RunID += "x" },
		"another parent run":      func(s *selvage.ChangeSet) { s.ParentRunID += "x" },
		"no snapshot":             func(s *selvage.ChangeSet) { s.Snapshot = nil },
		"an empty snapshot":       func(s *selvage.ChangeSet) { s.Snapshot = &state.Document{} },
		"patches":                 func(s *selvage.ChangeSet) { s.Snapshot, s.Patches = nil, patch(state.Set("/a", state.Int(1))).Patches },
		"another title":           func(s *selvage.ChangeSet) { s.Thread.Title = ptr("else") },
		"no thread update":        func(s *selvage.ChangeSet) { s.Thread = nil },
		"another call status":     func(s *selvage.ChangeSet) { s.Calls[0].Status = selvage.CallFailed },
		"no calls":                func(s *selvage.ChangeSet) { s.Calls = nil },
		"another run status":      func(s *selvage.ChangeSet) { s.Runs[0].Status = selvage.RunCreated },
		"no events":               func(s *selvage.ChangeSet) { s.Events = nil },
		"nothing at all but this": func(s *selvage.ChangeSet) { *s = selvage.ChangeSet{ID: s.ID} },
	}
	for name, change := range tests {
		for _, pre := range []selvage.Precondition{selvage.Any(), selvage.Exact(1)} {
			k.Logf("the same id with %s, precondition %s", name, pre)
			k.refuse(id, other(change), pre, selvage.ErrAlreadyExists)
		}
	}
}

func contentIsWhatWasSubmitted(k *kit) {
	id := newID()
	set := says("one", "two")
	set.ID = "set-" + selvage.NewID()
	first := k.append(id, set, selvage.New())

	stamped := set
	stamped.Messages = append([]selvage.Message(nil), set.Messages...)
	for i := range stamped.Messages {
		stamped.Messages[i].Seq, stamped.Messages[i].CreatedAt = int64(i+7), time.Unix(9, 0)
	}
	k.replay(id, stamped, selvage.Any(), first)

	spelled := set
	spelled.Reason = selvage.ReasonUserMessage // what an empty reason means here
	k.replay(id, spelled, selvage.Any(), first)

	fenced := set
	fenced.Fence = &selvage.Fence{Epoch: 99}
	k.replay(id, fenced, selvage.Any(), first)
}

func duplicatesAreContent(k *kit) {
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("a", "first")}})
	set := selvage.ChangeSet{ID: "set-" + selvage.NewID(), Messages: []selvage.Message{say("a", "again"), say("b", "new"), say("b", "twice")}}
	first := k.append(id, set, selvage.Any())
	k.replay(id, set, selvage.Any(), first)
	less := set
	less.Messages = []selvage.Message{say("b", "new")} // what was left of it
	k.refuse(id, less, selvage.Any(), selvage.ErrAlreadyExists)
}

func replayComesBeforeRules(k *kit) {
	id := k.create(says("hello"), patch(state.Set("/queue", must(state.ParseValue([]byte(`["job"]`))))))
	run := "run-" + selvage.NewID()
	k.append(id, runSet(running(selvage.RunID(run))), selvage.Any())
	end := selvage.ChangeSet{ID: "set-" + selvage.NewID(), Runs: []selvage.RunUpdate{done(run)},
		Calls:   []selvage.CallUpdate{{CallID: "c", Status: selvage.CallSucceeded}},
		Patches: []selvage.StatePatch{{Ops: state.Patch{state.Increment("/missing", state.Int(1))}}}}
	k.refuse(id, end, selvage.Any(), selvage.ErrInvalid)
	end.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Insert("/queue/1", state.Int(1)), state.Delete("/queue")}}}
	first := k.append(id, end, selvage.Any())
	// The run is done, the call is terminal and the queue is gone: judged
	// again, none of it would be allowed.
	k.replay(id, end, selvage.Any(), first)
}

func replayWithStaleVersion(k *kit) {
	id := k.create(says("one"))
	set := says("two")
	set.ID = "set-" + selvage.NewID()
	first := k.append(id, set, selvage.Exact(1))
	k.append(id, says("three"), selvage.Exact(2))
	k.replay(id, set, selvage.Exact(1), first)
	k.replay(id, set, selvage.New(), first)
	k.replay(id, set, selvage.Exact(99), first)
}

func appliedOnce(k *kit) {
	id := k.create(patch(state.Set("/n", state.Int(0)), state.Set("/list", must(state.ParseValue([]byte(`[]`))))))
	set := patch(state.Increment("/n", state.Int(5)), state.Append("/list", state.String("x")))
	set.ID, set.Messages = "set-"+selvage.NewID(), []selvage.Message{say("", "without id")}
	for range 5 {
		k.append(id, set, selvage.Any())
	}
	if got, want := k.state(id, 0), `{"list":["x"],"n":5}`; got != want {
		k.Errorf("after the same set five times the state is %s; want %s", got, want)
	}
	if h := k.load(id); h.Thread.Version != 2 || len(h.Messages) != 1 {
		k.Errorf("after the same set five times there are version %d and %d messages; want 2 and 1", h.Thread.Version, len(h.Messages))
	}
}

func idIsUniquePerThread(k *kit) {
	set := says("hello")
	set.ID = "set-" + selvage.NewID()
	other := says("something else")
	other.ID = set.ID
	k.create(set)
	if r := k.append(newID(), other, selvage.New()); r.Replayed || r.Version != 1 {
		k.Errorf("another thread's set of the same id answers %+v; want version 1, not replayed", r)
	}
}

func idCountsOnlyOnceWritten(k *kit) {
	id := k.create(says("one"))
	set := says("two")
	set.ID = "set-" + selvage.NewID()
	k.refuse(id, set, selvage.Exact(7), selvage.ErrConflict)
	bad := set
	bad.Messages = []selvage.Message{{Role: "nobody"}}
	k.refuse(id, bad, selvage.Any(), selvage.ErrInvalid)
	if r := k.append(id, set, selvage.Exact(1)); r.Replayed || r.Version != 2 {
		k.Errorf("a set that was refused before answers %+v; want version 2, not replayed", r)
	}
}

func setOfTheLogReplays(k *kit) {
	id := newID()
	first := k.append(id, richSet(), selvage.New())
	c := k.change(id, 1)
	set, err := c.Set()
	if err != nil {
		k.Fatalf("decode the set of version 1: %v", err)
	}
	k.replay(id, set, selvage.Any(), first)
}

// must is for conversions of constants.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
