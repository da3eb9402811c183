package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/selvagehq/selvage"
)

func forkPromises() []promise {
	const rule = "CONTRACT 12: a fork is a thread that begins with what another one was at a version"
	return []promise{
		{"TakesOverWhatWas", "CONTRACT 12: version 1 is forked with origin id, version and hash; message ids and seqs are kept.", forkTakesOver},
		{"AtAnyVersion", rule + ": any version, and with it what could be seen then.", forkAtAnyVersion},
		{"MessagesAreKeptWhole", "Forker: messages keep their ids, seqs, runs, steps and times.", forkKeepsMessages},
		{"ThreadIsCopied", "Forker: title, user, metadata and parent are the origin's, as far as the request does not say otherwise.", forkCopiesThread},
		{"IsIndependent", "CONTRACT 12: origin and fork are independent afterwards.", forkIsIndependent},
		{"OutlivesItsOrigin", "CONTRACT 12: a fork is independent of its origin, also of its end.", forkOutlivesOrigin},
		{"FactsStayBehind", "Forker: runs, calls and leases stay with the origin.", forkLeavesFacts},
		{"InheritedIDsAreKnown", "CONTRACT 5: deduplication is against the visible messages, inherited ones included.", forkKnowsIDs},
		{"ForkOfAFork", rule + ", also of a fork.", forkOfAFork},
		{"AfterRewinds", rule + ": what was hidden then is not in it.", forkAfterRewinds},
		{"CanBeRewound", "CONTRACT 11, 12: a fork is a thread like any other: it can be rewound and read at any version.", forkCanBeRewound},
		{"OfMany", "Forker: more than fits one change set takes several versions of one transaction.", forkOfMany},
		{"OfMuch", "Forker: more bytes than fit one change set take several versions of one transaction.", forkOfMuch},
		{"IsRepeatable", "Forker: the same request answers the first receipt, also if the origin went on or is gone.", forkIsRepeatable},
		{"TargetIsNew", "Forker: a fork to a thread that exists or existed matches already_exists.", forkNeedsANewThread},
		{"OriginIsThere", "Forker: an origin that does not exist, or has not reached the version, matches not_found; a former life is gone.", forkNeedsAnOrigin},
		{"BadRequestsAreRefused", "ARCHITECTURE 3: input that breaks a rule is invalid, and changes nothing.", forkRefusesBadRequests},
		{"OnlyForksAreForked", "Forker: what a fork says about its origin is the store's to say.", onlyForksAreForked},
		{"ChainAndEvents", "ARCHITECTURE 1: history is evidence, also that of a fork: the chain holds, and events tell of all it took over.", forkChain},
		{"OneWinner", "Forker: of forks to one thread one wins.", forkRaces},
		{"WhileOthersWrite", "Forker: a fork is made of one point of its origin, whoever writes meanwhile.", forkWhileOthersWrite},
	}
}

func (k *kit) forker() selvage.Forker {
	k.Helper()
	f, ok := selvage.As[selvage.Forker](k.store)
	if !ok {
		k.Fatalf("the store does not offer Forker")
	}
	return f
}

// fork forks a thread at a version, which must succeed.
func (k *kit) fork(from selvage.ThreadID, at selvage.Version) selvage.ThreadID {
	k.Helper()
	to := newID()
	k.tick() // so that the times of what is copied are told from new ones
	k.forkAs(selvage.ForkRequest{From: from, At: at, To: to})
	return to
}

func (k *kit) forkAs(req selvage.ForkRequest) selvage.Receipt {
	k.Helper()
	r, err := k.forker().Fork(k.Context(), req)
	if err != nil {
		k.Fatalf("fork of version %d failed: %v", req.At, err)
	}
	if r.Replayed {
		k.Errorf("a fork that is new says that it was made before")
	}
	return r
}

// refuseFork forks, which must fail with an error of a class and leave no mark.
func (k *kit) refuseFork(req selvage.ForkRequest, class error) {
	k.Helper()
	before := k.picture(req.To)
	_, err := k.forker().Fork(k.Context(), req)
	k.class("fork", err, class)
	if after := k.picture(req.To); after != before {
		k.Errorf("the fork was refused (%v), yet it left its mark: %s", err, difference(after, before))
	}
}

func forkTakesOver(k *kit) {
	id := k.create(turn("a"), turn("b"), turn("c"))
	before := k.picture(id)
	fork := newID()
	r := k.forkAs(selvage.ForkRequest{ID: "fork-" + string(fork), From: id, To: fork})
	if r.Version != 1 || r.ChangeID != "fork-"+string(fork) || r.FirstSeq != 1 || r.Added != 3 {
		k.Errorf("the fork answers %s; want version 1 with three messages from seq 1, made by the id of the request", encode(k, r))
	}
	k.at(fork, 0, "a", "b", "c")
	k.at(fork, 1, "a", "b", "c")
	h := k.load(fork)
	want := &selvage.ForkOrigin{ID: id, Version: 3, Hash: k.load(id).Hash}
	k.equal("origin of the fork", h.Thread.ForkedFrom, want)
	if h.Hash != r.Hash || h.NextSeq != 4 {
		k.Errorf("the head of the fork has hash %s and next seq %d; want those of its receipt, %s and 4", h.Hash, h.NextSeq, r.Hash)
	}
	if c := k.change(fork, 1); c.Reason != selvage.ReasonForked || c.Hash != r.Hash || c.ID != r.ChangeID {
		k.Errorf("version 1 of the fork is %s; want it logged as forked", encode(k, c))
	}
	if after := k.picture(id); after != before {
		k.Errorf("the fork left its mark on the origin: %s", difference(after, before))
	}
}

func forkAtAnyVersion(k *kit) {
	id := k.create(turn("a"), selvage.ChangeSet{}, turn("b"), turn("c"), says())
	for v, want := range [][]string{{"a", "b", "c"}, {"a"}, {"a"}, {"a", "b"}, {"a", "b", "c"}} {
		fork := k.fork(id, selvage.Version(v))
		k.at(fork, 0, want...)
		origin := k.load(fork).Thread.ForkedFrom
		if v == 0 {
			v = 5
		}
		if c := k.change(id, selvage.Version(v)); origin == nil || origin.Version != c.Version || origin.Hash != c.Hash {
			k.Errorf("a fork of version %d says that it comes from %s; want that version and its hash %s", v, encode(k, origin), c.Hash)
		}
		r := k.append(fork, turn("z"), selvage.Exact(1))
		if r.FirstSeq != int64(len(want)+1) {
			k.Errorf("the next message of a fork of %d has seq %d; want %d", len(want), r.FirstSeq, len(want)+1)
		}
		k.at(fork, 0, append(append([]string{}, want...), "z")...)
		k.at(fork, 1, want...)
	}
	empty := k.create(selvage.ChangeSet{})
	fork := k.fork(empty, 1)
	if h := k.load(fork); h.Thread.Version != 1 || h.NextSeq != 1 || len(h.Messages) != 0 || h.State.String() != "{}" {
		k.Errorf("a fork of an empty thread is %s; want it empty, at version 1", encode(k, h))
	}
}

func forkKeepsMessages(k *kit) {
	id := newID()
	set := selvage.ChangeSet{RunID: "run-of-" + selvage.RunID(id), Messages: richMessages()}
	set.Messages = append(set.Messages, say("", "without id"))
	set.Messages[0].Step = 3
	k.append(id, set, selvage.New())
	k.append(id, says("later"), selvage.Any())
	all := selvage.MessageQuery{Visibility: selvage.ShowAll}
	want := k.allMessages(id, all)
	fork := k.fork(id, 0)
	k.equal("messages of the fork", k.allMessages(fork, all), want)
	k.equal("messages of a load of the fork", k.load(fork).Messages, want)
	k.equal("messages of a fork of the fork", k.allMessages(k.fork(fork, 1), all), want)
	r := k.append(fork, says("new"), selvage.Any())
	last := k.load(fork).Messages[len(want)]
	if !last.CreatedAt.Equal(r.At) {
		k.Errorf("a message that was appended to a fork is of %s; want the time of its change, %s", last.CreatedAt, r.At)
	}
	q := selvage.MessageQuery{Visibility: selvage.ShowAll, RunID: set.RunID}
	k.equal("messages of the run in the fork", k.allMessages(fork, q), k.allMessages(id, q))
}

func forkCopiesThread(k *kit) {
	parent := k.create(says("parent"))
	id := k.create(says("hello"))
	k.append(id, update(selvage.ThreadUpdate{Title: ptr("title"), UserID: ptr("user"), ParentID: &parent,
		Metadata: map[string]json.RawMessage{"k": json.RawMessage(`"v"`), "n": json.RawMessage("9007199254740993")}}), selvage.Any())
	t := k.load(k.fork(id, 1)).Thread // as it is now, whatever the version
	if t.Title != "title" || t.UserID != "user" || t.ParentID != parent || string(t.Metadata["k"]) != `"v"` || string(t.Metadata["n"]) != "9007199254740993" {
		k.Errorf("the fork says %s; want title, user, metadata and parent of the origin", encode(k, t))
	}
	fork := newID()
	k.forkAs(selvage.ForkRequest{From: id, To: fork, Thread: &selvage.ThreadUpdate{Title: ptr("mine"), ParentID: ptr(selvage.ThreadID("")),
		Metadata: map[string]json.RawMessage{"k": json.RawMessage("null"), "x": json.RawMessage("1")}}})
	t = k.load(fork).Thread
	if t.Title != "mine" || t.UserID != "user" || t.ParentID != "" || len(t.Metadata) != 2 || string(t.Metadata["x"]) != "1" {
		k.Errorf("the fork says %s; want the title, parent and metadata that it was asked to, and the user of the origin", encode(k, t))
	}
	if got := k.threads(selvage.ThreadQuery{Parent: selvage.ChildrenOf(parent)}); len(got) != 2 {
		k.Errorf("the parent has %d children; want the origin and the fork that was not asked to be elsewhere", len(got))
	}
}

func forkIsIndependent(k *kit) {
	id := k.create(turn("a"), turn("b"))
	fork := k.fork(id, 0)
	k.append(fork, turn("c"), selvage.Any())
	k.append(id, turn("d"), selvage.Any())
	k.at(id, 0, "a", "b", "d")
	k.at(fork, 0, "a", "b", "c")
	k.append(id, back(1), selvage.Any())
	k.at(fork, 0, "a", "b", "c")
	k.append(fork, back(1), selvage.Any())
	k.at(id, 0, "a")
	k.at(fork, 0, "a", "b")
	k.delete(fork, selvage.DeleteReject)
	k.at(id, 0, "a")
}

func forkOutlivesOrigin(k *kit) {
	id := k.create(turn("a"), turn("b"))
	fork := k.fork(id, 0)
	before := k.picture(fork)
	k.delete(id, selvage.DeleteReject)
	if after := k.picture(fork); after != before {
		k.Errorf("the end of the origin left its mark on the fork: %s", difference(after, before))
	}
	k.append(fork, turn("c"), selvage.Any())
	k.at(fork, 0, "a", "b", "c")
	k.at(fork, 1, "a", "b")
	if origin := k.load(fork).Thread.ForkedFrom; origin == nil || origin.ID != id {
		k.Errorf("the fork comes from %s; want it to know its origin still", encode(k, origin))
	}
}

func forkLeavesFacts(k *kit) {
	id := k.create(richSet())
	fork := k.fork(id, 0)
	h := k.load(fork)
	if h.OpenRun != nil || len(h.OpenCalls) != 0 || h.Thread.LatestRunID != "" || h.Thread.OpenRunID != "" || h.Lease != nil {
		k.Errorf("the fork has %s; want no run, call or lease of its origin", encode(k, h))
	}
	if runs := k.runs(selvage.RunQuery{ThreadID: fork}); len(runs) != 0 {
		k.Errorf("the fork lists %d runs; want none", len(runs))
	}
	k.append(fork, runSet(status("run-of-"+selvage.RunID(fork), selvage.RunRunning)), selvage.Any())
	if k.load(id).OpenRun == nil {
		k.Errorf("the origin has lost its open run")
	}
}

func forkKnowsIDs(k *kit) {
	first := turn("a")
	first.ID = "set-" + selvage.NewID()
	id := k.create(first, turn("b"), turn("c"))
	derived := k.append(id, says("without id"), selvage.Any())
	fork := k.fork(id, 2)
	set := selvage.ChangeSet{Messages: []selvage.Message{say("a", "x"), say("b", "x"), say("c", "x")}}
	r := k.append(fork, set, selvage.Any())
	k.equal("indexes of the messages that the fork knew", r.Dropped, []int{0, 1})
	fork = k.fork(id, 0)
	set.Messages = []selvage.Message{say(selvage.MessageID(derived.ChangeID, 0, derived.At), "x"), say("d", "x")}
	k.equal("indexes of the messages that the other fork knew", k.append(fork, set, selvage.Any()).Dropped, []int{0})
	again := turn("a")
	again.ID = first.ID // ids of change sets are each thread's own
	if r := k.append(fork, again, selvage.Any()); r.Replayed {
		k.Errorf("a set with the id of one of the origin's was taken for a repetition")
	}
}

func forkOfAFork(k *kit) {
	id := k.create(turn("a"), turn("b"))
	fork := k.fork(id, 1)
	k.append(fork, turn("c"), selvage.Any())
	second := k.fork(fork, 0)
	k.append(second, turn("d"), selvage.Any())
	third := k.fork(second, 1)
	k.at(second, 0, "a", "c", "d")
	k.at(third, 0, "a", "c")
	if origin := k.load(third).Thread.ForkedFrom; origin == nil || origin.ID != second || origin.Version != 1 {
		k.Errorf("the fork of a fork comes from %s; want the fork it was made of", encode(k, origin))
	}
}

func forkAfterRewinds(k *kit) {
	id := k.create(turn("a"), turn("b"), turn("c"), back(1), turn("d"), back(3), turn("e"), back(5), turn("f"), turn("g"))
	for v, want := range [][]string{0: {"a", "d", "f", "g"}, 3: {"a", "b", "c"}, 4: {"a"}, 5: {"a", "d"}, 6: {"a", "b", "c"}, 7: {"a", "b", "c", "e"}, 8: {"a", "d"}} {
		if want == nil {
			continue
		}
		fork := k.fork(id, selvage.Version(v))
		k.at(fork, 0, want...)
		k.equal(fmt.Sprintf("seqs of a fork of version %d", v), seqs(k.load(fork).Messages), seqs(k.allMessages(id, selvage.MessageQuery{At: selvage.Version(v)})))
		k.verify(k.log(fork))
		k.append(fork, turn("b2"), selvage.Any())
		k.append(fork, turn("z"), selvage.Any())
		k.at(fork, 0, append(append([]string{}, want...), "b2", "z")...)
		k.append(fork, back(k.load(fork).Thread.Version-2), selvage.Any())
		k.at(fork, 0, want...)
	}
}
