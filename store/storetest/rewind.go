package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func rewindPromises(cfg Config) []promise {
	const rule = "CONTRACT 11: a rewind restores messages and state"
	all := []promise{
		{"RestoresMessagesAndState", rule + ", and is a version like any other.", rewindRestores},
		{"EveryVersionStaysReadable", "ARCHITECTURE 1: any version can be read: also those that a rewind hid, and those before and after it.", rewindKeepsVersions},
		{"RewindOfARewind", rule + ", also those that another rewind hid, and those as of a rewind.", rewindOfARewind},
		{"SeqsAreNeverReused", "CONTRACT 11: seq is dense in the log; the visible list may have gaps after a rewind.", rewindReusesNoSeq},
		{"IDsAreFreeAgain", "CONTRACT 5: deduplication is against the visible messages: the id of a hidden one may be used again.", rewindFreesIDs},
		{"FactsStay", "CONTRACT 11: runs, costs and calls are facts and stay.", rewindKeepsFacts},
		{"OpenRunRefuses", "CONTRACT 11: a rewind is refused while a run is open.", rewindNeedsNoOpenRun},
		{"TargetsAreChecked", "ChangeSet: the version to go back to is one that the thread has.", rewindTargets},
		{"ComesAlone", "ChangeSet: with a rewind come nothing but what the thread says about itself, and events.", rewindComesAlone},
		{"ThreadAndEventsComeAlong", "ChangeSet: what the thread says about itself, and events, may come with a rewind.", rewindWithThread},
		{"IsRepeatable", "CONTRACT 2: the same id and content answers the first receipt, also for a rewind.", rewindIsRepeatable},
		{"EventTellsOfIt", "ARCHITECTURE 3: events derive from a commit: that of the state says where a rewind went.", rewindEvent},
		{"PagesAcross", "ARCHITECTURE 3: a list that was begun goes on with what can then be seen, and one as of a version is as it was.", rewindPages},
		{"WindowAcross", "LoadOptions: the last messages are the last ones that can be seen.", rewindWindow},
		{"OneWinner", "CONTRACT 3: of a rewind and an append at one version one wins.", rewindRaces},
		{"FormerLifeIsGone", "ARCHITECTURE 1: what went with a former life answers gone: nobody goes back there.", rewindFormerLife},
		{"FarBack", rule + ", however far back.", rewindFarBack},
		{"OftenIsBounded", "MaxRewinds: beyond it a rewind is too large, and everything else goes on.", rewindOften},
	}
	for _, seed := range append([]uint64{11, 12, 13}, cfg.Seeds...) {
		all = append(all, promise{fmt.Sprintf("Seed%d", seed),
			fmt.Sprintf("ARCHITECTURE 1: every backend means the same thing: whatever is rewound in whatever order, each answer is the model's (seed %d).", seed),
			func(k *kit) {
				(&sequence{kit: k.alone(), random: rand.New(rand.NewPCG(seed, 1)), model: newModel(), rewinds: 60}).play(220)
			}})
	}
	return all
}

// back is a change set that goes back to a version.
func back(to selvage.Version) selvage.ChangeSet { return selvage.ChangeSet{Rewind: &to} }

// turn says a message with an id and counts it in the state.
func turn(id string) selvage.ChangeSet {
	set := patch(state.Set(state.At("last"), state.String(id)), state.Append(state.At("all"), state.String(id)))
	set.Messages = []selvage.Message{say(id, id)}
	return set
}

// at checks what a thread is at a version, 0 being the head: the ids of its
// messages, which its state counts up too.
func (k *kit) at(id selvage.ThreadID, v selvage.Version, want ...string) {
	k.Helper()
	doc := "{}"
	if len(want) > 0 {
		doc = fmt.Sprintf(`{"all":%s,"last":%q}`, encode(k, want), want[len(want)-1])
	}
	if got := k.state(id, v); got != doc {
		k.Errorf("the state at version %d is %s; want %s", v, got, doc)
	}
	q := selvage.MessageQuery{At: v, Visibility: selvage.ShowAll}
	k.equal(fmt.Sprintf("messages at version %d", v), ids(k.allMessages(id, q)), append([]string{}, want...))
	q.Order, q.Limit = selvage.Descending, ptr(2)
	reversed := []string{}
	for i := len(want) - 1; i >= 0; i-- {
		reversed = append(reversed, want[i])
	}
	k.equal(fmt.Sprintf("messages at version %d, newest first", v), ids(walk(k, k.messagePages(id, q))), reversed)
	if v != 0 {
		return
	}
	h := k.load(id)
	k.equal("messages of a load", ids(h.Messages), append([]string{}, want...))
	if h.State.String() != doc {
		k.Errorf("the state of a load is %s; want %s", h.State, doc)
	}
}

func ids(messages []selvage.Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = m.ID
	}
	return out
}

func rewindRestores(k *kit) {
	id := k.create(turn("a"), turn("b"), turn("c"))
	r := k.append(id, back(1), selvage.Exact(3))
	if r.Version != 4 || r.Added != 0 || r.FirstSeq != 4 || r.Events != 1 {
		k.Errorf("the rewind answers %s; want version 4, no message, next seq 4, one event", encode(k, r))
	}
	k.at(id, 0, "a")
	if c := k.change(id, 4); c.Reason != selvage.ReasonRewound {
		k.Errorf("a rewind without a reason is logged as %q; want %q", c.Reason, selvage.ReasonRewound)
	}
	k.append(id, turn("d"), selvage.Exact(4))
	k.at(id, 0, "a", "d")
	k.append(id, back(5), selvage.Any()) // where it is
	k.at(id, 0, "a", "d")
	k.verify(k.log(id))
}

func rewindKeepsVersions(k *kit) {
	id := k.create(turn("a"), turn("b"), selvage.ChangeSet{}, turn("c"), back(2), turn("d"), back(1), selvage.ChangeSet{}, turn("e"))
	for v, want := range [][]string{{"a", "e"}, {"a"}, {"a", "b"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b"}, {"a", "b", "d"}, {"a"}, {"a"}, {"a", "e"}} {
		k.at(id, selvage.Version(v), want...)
	}
}

func rewindOfARewind(k *kit) {
	id := k.create(turn("a"), turn("b"), turn("c"), back(1), turn("d"))
	k.append(id, back(3), selvage.Any()) // what the first rewind hid
	k.at(id, 0, "a", "b", "c")
	k.append(id, turn("e"), selvage.Any())
	k.append(id, back(4), selvage.Any()) // the rewind itself
	k.at(id, 0, "a")
	k.append(id, back(7), selvage.Any()) // across all of them
	k.at(id, 0, "a", "b", "c", "e")
	k.append(id, back(5), selvage.Any())
	k.append(id, turn("f"), selvage.Any())
	k.at(id, 0, "a", "d", "f")
	for v, want := range [][]string{4: {"a"}, 5: {"a", "d"}, 6: {"a", "b", "c"}, 7: {"a", "b", "c", "e"}, 8: {"a"}, 9: {"a", "b", "c", "e"}, 10: {"a", "d"}} {
		if v >= 4 {
			k.at(id, selvage.Version(v), want...)
		}
	}
}

func rewindReusesNoSeq(k *kit) {
	id := k.create(says("1", "2"), says("3"), back(1), says("4"), back(2), says("5", "6"), back(5))
	k.equal("seqs at the head", seqs(k.load(id).Messages), []int64{1, 2, 3})
	r := k.append(id, says("7"), selvage.Any())
	if r.FirstSeq != 7 {
		k.Errorf("the next message has seq %d; want 7: no seq is used twice", r.FirstSeq)
	}
	k.equal("seqs after another message", seqs(k.load(id).Messages), []int64{1, 2, 3, 7})
	next := int64(1)
	for _, c := range k.log(id) {
		if c.FirstSeq != next {
			k.Errorf("version %d begins at seq %d; want %d: seqs are dense in the log", c.Version, c.FirstSeq, next)
		}
		next = c.LastSeq() + 1
	}
	if h := k.load(id); h.NextSeq != 8 {
		k.Errorf("the next seq is %d; want 8", h.NextSeq)
	}
}

func rewindFreesIDs(k *kit) {
	id := k.create(turn("a"), turn("b"), back(1))
	r := k.append(id, turn("b"), selvage.Any()) // version 4
	if r.Added != 1 {
		k.Errorf("a message with the id of a hidden one was dropped (%s); want it added", encode(k, r))
	}
	if r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", "again"), say("b", "again")}}, selvage.Any()); r.Added != 0 {
		k.Errorf("of two messages with ids that can be seen %d were added; want none", r.Added)
	}
	k.append(id, back(2), selvage.Any()) // the first b is there again, the second is not
	if got := k.load(id).Messages; len(got) != 2 || got[1].Seq != 2 {
		k.Errorf("back at version 2 the messages are %s; want a and the first b", encode(k, got))
	}
	if r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("b", "third")}}, selvage.Any()); r.Added != 0 {
		k.Errorf("a message with an id that can be seen again was added; want it dropped")
	}
	k.append(id, back(1), selvage.Any())
	given := k.append(id, says("without id"), selvage.Any())
	derived := selvage.MessageID(given.ChangeID, 0, given.At)
	k.append(id, back(1), selvage.Any())
	if r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say(derived, "taken over"), say("b", "fourth")}}, selvage.Any()); r.Added != 2 {
		k.Errorf("of two messages with ids that nothing visible bears %d were added; want both", r.Added)
	}
	many := selvage.ChangeSet{}
	for i := range 100 {
		many.Messages = append(many.Messages, say(fmt.Sprint("many-", i), "x"))
	}
	at := k.append(id, many, selvage.Any()).Version
	k.append(id, back(at-1), selvage.Any())
	if r := k.append(id, many, selvage.Any()); r.Added != len(many.Messages) {
		k.Errorf("of %d messages that were hidden %d could be added again; want all", len(many.Messages), r.Added)
	}
}

func rewindKeepsFacts(k *kit) {
	id := k.create(says("hello"))
	begun := richSet()
	k.append(id, begun, selvage.Any())
	run := selvage.RunID(begun.Runs[0].ID)
	k.append(id, runSet(done(string(run))), selvage.Any())
	k.append(id, selvage.ChangeSet{Calls: []selvage.CallUpdate{{CallID: "call-x", Name: "send", Effect: selvage.EffectOnce, Status: selvage.CallStarted}}}, selvage.Any())
	before := k.load(id)
	k.append(id, back(1), selvage.Any())
	after := k.load(id)
	k.equal("open calls after a rewind", after.OpenCalls, before.OpenCalls)
	after.Thread.Version, after.Thread.UpdatedAt = before.Thread.Version, before.Thread.UpdatedAt
	k.equal("what the thread says about itself after a rewind", after.Thread, before.Thread)
	runs := k.runs(selvage.RunQuery{ThreadID: id})
	if len(runs) != 1 || runs[0].Status != selvage.RunDone {
		k.Errorf("after a rewind to before it began the run is %s; want it listed as it ended", encode(k, runs))
	}
	k.refuse(id, runSet(status(run, selvage.RunRunning)), selvage.Any(), selvage.ErrInvalid)
	k.append(id, selvage.ChangeSet{Calls: []selvage.CallUpdate{{CallID: "call-x", Status: selvage.CallSucceeded}}}, selvage.Any())
}

func rewindNeedsNoOpenRun(k *kit) {
	id := k.create(says("hello"), says("again"))
	for _, s := range []selvage.RunStatus{selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting} {
		k.append(id, runSet(status(selvage.RunID("run-of-"+id), s)), selvage.Any())
		k.refuseField(id, back(1), selvage.Any(), "rewind")
	}
	k.append(id, runSet(done("run-of-"+string(id))), selvage.Any())
	k.append(id, back(1), selvage.Any())
}

func rewindTargets(k *kit) {
	id := k.create(says("1"), says("2"))
	for _, v := range []selvage.Version{0, -1} {
		k.refuseField(id, back(v), selvage.Any(), "rewind")
	}
	for _, v := range []selvage.Version{3, 4, 1 << 40} {
		k.refuse(id, back(v), selvage.Any(), selvage.ErrNotFound)
	}
	k.refuseField(newID(), back(1), selvage.New(), "rewind")
	k.refuse(newID(), back(1), selvage.Any(), selvage.ErrNotFound)
	k.refuse(id, back(1), selvage.Exact(1), selvage.ErrConflict)
	k.refuseField(id, selvage.ChangeSet{Reason: selvage.ReasonRewound}, selvage.Any(), "reason")
}

func rewindComesAlone(k *kit) {
	id := k.create(turn("a"), turn("b"))
	for what, more := range map[string]func(*selvage.ChangeSet){
		"a message":  func(s *selvage.ChangeSet) { s.Messages = []selvage.Message{say("", "x")} },
		"a patch":    func(s *selvage.ChangeSet) { s.Patches = patch(state.Set("/x", state.Int(1))).Patches },
		"a snapshot": func(s *selvage.ChangeSet) { s.Snapshot = &state.Document{} },
		"a run": func(s *selvage.ChangeSet) {
			s.Runs = []selvage.RunUpdate{status("run-"+selvage.RunID(id), selvage.RunCreated)}
		},
		"a call": func(s *selvage.ChangeSet) {
			s.Calls = []selvage.CallUpdate{{CallID: "c", Name: "n", Status: selvage.CallStarted}}
		},
		"a delivery": func(s *selvage.ChangeSet) {
			s.Outbox = []selvage.OutboxEntry{{Lane: "mail", Target: "a", Payload: json.RawMessage("1")}}
		},
	} {
		set := back(1)
		more(&set)
		before := k.picture(id)
		_, err := k.store.Append(k.Context(), id, set, selvage.Any())
		if selvage.Code(err) != "invalid" && selvage.Code(err) != "unsupported" {
			k.Errorf("a rewind with %s answers %v; want it refused", what, err)
		}
		if after := k.picture(id); after != before {
			k.Errorf("a rewind with %s left its mark: %s", what, difference(after, before))
		}
	}
}

func rewindWithThread(k *kit) {
	id := k.create(turn("a"), turn("b"), update(selvage.ThreadUpdate{Title: ptr("late")}))
	set := back(1)
	set.Thread = &selvage.ThreadUpdate{UserID: ptr("somebody")}
	set.Events = []selvage.EventDraft{{Kind: "note", Payload: json.RawMessage(`"why"`)}}
	set.Reason, set.RunID = selvage.ReasonDecision, "the-run-that-asked"
	r := k.append(id, set, selvage.Any())
	if h := k.load(id); h.Thread.UserID != "somebody" || h.Thread.Title != "late" {
		k.Errorf("the thread says %s; want the user that came with the rewind, and the title, which a rewind leaves alone", encode(k, h.Thread))
	}
	k.at(id, 0, "a")
	if c := k.change(id, r.Version); c.Reason != selvage.ReasonDecision || c.RunID != set.RunID || r.Events != 3 {
		k.Errorf("the rewind is logged with reason %q, run %q and %d events; want those that it was given, and 3", c.Reason, c.RunID, r.Events)
	}
}

func rewindIsRepeatable(k *kit) {
	id := k.create(turn("a"), turn("b"))
	set := back(1)
	set.ID = "rewind-" + selvage.NewID()
	first := k.append(id, set, selvage.Exact(2))
	k.append(id, turn("c"), selvage.Any())
	k.replay(id, set, selvage.Exact(2), first)
	k.replay(id, set, selvage.Any(), first)
	k.at(id, 0, "a", "c")
	other := back(2)
	other.ID = set.ID
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
	k.append(id, runSet(status("run-"+selvage.RunID(id), selvage.RunRunning)), selvage.Any())
	k.replay(id, set, selvage.Any(), first) // also while a run is open
}

func rewindEvent(k *kit) {
	id := k.create(turn("a"), turn("b"))
	r := k.append(id, back(1), selvage.Any())
	c := k.change(id, r.Version)
	events, err := c.Events()
	if err != nil || len(events) != 1 || events[0].Kind != selvage.EventState || string(events[0].Payload) != `{"rewind":1}` {
		k.Errorf("the events of a rewind are %s, error %v; want one of the state that says to which version", encode(k, events), err)
	}
	if _, err := c.ApplyState(state.Document{}); err == nil {
		k.Errorf("a rewind applied to a document that is not the one it goes back to; want an error")
	}
}
