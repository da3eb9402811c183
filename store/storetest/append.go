package storetest

import (
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func appendPromises() []promise {
	return []promise{
		{"CreatesAtVersionOne", "ARCHITECTURE 3: version 0 means \"does not exist yet\", and each append adds one.", createsAtVersionOne},
		{"AddsOneVersion", "ARCHITECTURE 3: each append adds exactly one version.", addsOneVersion},
		{"EmptySetMakesAVersion", "CONTRACT 3: an empty set still makes a version.", emptySetMakesAVersion},
		{"ReceiptTellsWhatWasMade", "ARCHITECTURE 3: the receipt names version, hash, first and last seq and the events of the change.", receiptTellsWhatWasMade},
		{"IDsAreGivenWhereNoneAre", "ARCHITECTURE 2: ids are UUIDv7 unless the caller gives one; they derive from the change set's, so that a retry finds them again.", idsAreGiven},
		{"ReasonHasADefault", "ARCHITECTURE 3: a set without a reason is a user_message if it has messages, else state_edited.", reasonHasADefault},
		{"EveryReasonIsKept", "CONTRACT 9: the reasons also are thread_updated, decision, dispatch; deleted is the store's own.", everyReasonIsKept},
		{"AllOrNothing", "ARCHITECTURE 1: messages, state, run record and thread change in one transaction, or none of them does.", allOrNothing},
		{"MessagesInheritTheRun", "ARCHITECTURE 3: a message without a run was produced by its change set's.", messagesInheritTheRun},
		{"SeqAndTimeAreTheStores", "ARCHITECTURE 3: seq is 1-based and dense and, like the time, the store's to assign.", seqAndTimeAreTheStores},
		{"ReadersSeeItAtOnce", "Store.Load: it observes every append that returned before it was called.", readersSeeItAtOnce},
		{"ThreadsAreIndependent", "ARCHITECTURE 3: version, seq and ids count within one thread.", threadsAreIndependent},
	}
}

func createsAtVersionOne(k *kit) {
	id := newID()
	if r := k.append(id, says("hello"), selvage.New()); r.Version != 1 || r.Replayed {
		k.Errorf("the first append answers version %d, replayed %v; want version 1, not replayed", r.Version, r.Replayed)
	}
	h := k.load(id)
	if h.Thread.ID != id || h.Thread.Version != 1 {
		k.Errorf("the new thread is %q at version %d; want %q at 1", h.Thread.ID, h.Thread.Version, id)
	}
	k.isStored("created_at", h.Thread.CreatedAt)
	if !h.Thread.UpdatedAt.Equal(h.Thread.CreatedAt) {
		k.Errorf("a new thread was updated at %v; want when it was created, %v", h.Thread.UpdatedAt, h.Thread.CreatedAt)
	}
	k.equal("state of a thread that never had a patch", h.State, state.Document{})
}

func addsOneVersion(k *kit) {
	id := k.create(says("one"))
	for v := selvage.Version(2); v <= 20; v++ {
		pre := selvage.Exact(v - 1)
		if v%2 == 0 {
			pre = selvage.Any()
		}
		if r := k.append(id, says("more"), pre); r.Version != v {
			k.Fatalf("append number %d answers version %d; want %d: each append adds one", v, r.Version, v)
		}
		if h := k.load(id); h.Thread.Version != v {
			k.Fatalf("after append number %d the thread is at version %d; want %d", v, h.Thread.Version, v)
		}
	}
}

func emptySetMakesAVersion(k *kit) {
	id := k.create(says("one", "two"))
	before := k.load(id)
	r := k.append(id, selvage.ChangeSet{}, selvage.Exact(1))
	if r.Version != 2 || r.Added != 0 || r.FirstSeq != 3 || r.Events != 0 {
		k.Errorf("an empty set answers version %d, %d messages, first seq %d, %d events; want version 2, none, 3 (the next one), none",
			r.Version, r.Added, r.FirstSeq, r.Events)
	}
	after := k.load(id)
	if after.Hash == before.Hash {
		k.Errorf("an empty set left the hash at %s; want a change of its own in the chain", after.Hash)
	}
	k.equal("messages after an empty set", after.Messages, before.Messages)
	empty := newID()
	if r := k.append(empty, selvage.ChangeSet{}, selvage.New()); r.Version != 1 || r.FirstSeq != 1 {
		k.Errorf("an empty set creates a thread at version %d with first seq %d; want 1 and 1", r.Version, r.FirstSeq)
	}
}

func receiptTellsWhatWasMade(k *kit) {
	id := k.create(says("one", "two"))
	set := richSet()
	set.Messages = append(set.Messages, say("", "again"), say(set.Messages[0].ID, "a duplicate"))
	before := time.Now().Add(-time.Minute)
	r := k.append(id, set, selvage.Any())
	added := len(set.Messages) - 1
	if r.ChangeID != set.ID || r.Version != 2 || r.FirstSeq != 3 || r.Added != added || r.LastSeq() != int64(2+added) || r.Replayed {
		k.Errorf("receipt %+v of set %q; want version 2 and %d messages from seq 3", r, set.ID, added)
	}
	k.equal("dropped messages", r.Dropped, []int{len(set.Messages) - 1})
	k.isStored("the receipt's time", r.At)
	if r.At.Before(before) || r.At.After(time.Now().Add(time.Minute)) {
		k.Errorf("the receipt is of %v; want about now, %v: the library stamps the time", r.At, time.Now())
	}
	c := k.change(id, 2)
	if c.Hash != r.Hash || k.load(id).Hash != r.Hash {
		k.Errorf("the receipt's hash is %s, the change's %s, the head's %s; want them equal", r.Hash, c.Hash, k.load(id).Hash)
	}
	events, err := c.Events()
	if err != nil {
		k.Fatalf("events of the change: %v", err)
	}
	if len(events) != r.Events {
		k.Errorf("the receipt counts %d events, the change makes %d", r.Events, len(events))
	}
}

func idsAreGiven(k *kit) {
	id := k.create()
	first := k.append(id, says("a", "b"), selvage.New())
	second := k.append(id, says("a", "b"), selvage.Any())
	if first.ChangeID == "" || first.ChangeID == second.ChangeID {
		k.Errorf("two sets without an id became %q and %q; want each to get one of its own", first.ChangeID, second.ChangeID)
	}
	if second.Version != 2 {
		k.Errorf("a second set without an id answers version %d; want 2: without an id it is no retry", second.Version)
	}
	for i, r := range []selvage.Receipt{first, second} {
		if c := k.change(id, r.Version); c.ID != r.ChangeID {
			k.Errorf("the log knows change %d as %q, its receipt as %q", r.Version, c.ID, r.ChangeID)
		}
		for j := range 2 {
			want := selvage.MessageID(r.ChangeID, j, r.At)
			if got := k.load(id).Messages[2*i+j].ID; got != want {
				k.Errorf("message %d of version %d has the id %q; want %q, which derives from the change set's", j, r.Version, got, want)
			}
		}
	}
}

func reasonHasADefault(k *kit) {
	id := k.create(says("hello"), patch(state.Set("/a", state.Int(1))), selvage.ChangeSet{})
	for v, want := range map[selvage.Version]selvage.Reason{1: selvage.ReasonUserMessage, 2: selvage.ReasonStateEdited, 3: selvage.ReasonStateEdited} {
		if got := k.change(id, v).Reason; got != want {
			k.Errorf("the reason of version %d is %q; want %q", v, got, want)
		}
	}
}

func everyReasonIsKept(k *kit) {
	id := k.create(says("hello"))
	for _, reason := range []selvage.Reason{selvage.ReasonUserMessage, selvage.ReasonAssistantTurn, selvage.ReasonToolResults,
		selvage.ReasonRunFinished, selvage.ReasonStateEdited, selvage.ReasonSessionEnded, selvage.ReasonThreadUpdated,
		selvage.ReasonDecision, selvage.ReasonDispatch} {
		r := k.append(id, selvage.ChangeSet{Reason: reason}, selvage.Any())
		if got := k.change(id, r.Version).Reason; got != reason {
			k.Errorf("a change made because of %q is logged as %q", reason, got)
		}
	}
	for _, reason := range []selvage.Reason{selvage.ReasonDeleted, "because"} {
		k.refuseField(id, selvage.ChangeSet{Reason: reason}, selvage.Any(), "reason")
	}
}

func allOrNothing(k *kit) {
	id := k.create(says("hello"), patch(state.Set("/n", state.Int(1))))
	whole := richSet()
	whole.Snapshot, whole.Patches = nil, []selvage.StatePatch{{Ops: state.Patch{state.Increment("/n", state.Int(1))}}}
	faults := map[string]func(*selvage.ChangeSet){
		"the last message has no role":    func(s *selvage.ChangeSet) { s.Messages = append(s.Messages, selvage.Message{}) },
		"the run would end without start": func(s *selvage.ChangeSet) { s.Runs = append(s.Runs, done("run-"+selvage.NewID())) },
		"the last patch does not apply": func(s *selvage.ChangeSet) {
			s.Patches = append(s.Patches, selvage.StatePatch{Ops: state.Patch{state.Increment("/missing", state.Int(1))}})
		},
		"the parent does not exist": func(s *selvage.ChangeSet) { s.Thread.ParentID = ptr(newID()) },
		"a call has no status":      func(s *selvage.ChangeSet) { s.Calls = append(s.Calls, selvage.CallUpdate{CallID: "c"}) },
	}
	for name, break_ := range faults {
		set := whole
		set.ID = "set-" + selvage.NewID()
		thread := *whole.Thread
		set.Thread = &thread
		break_(&set)
		k.Logf("a set in which %s", name)
		k.refuse(id, set, selvage.Any(), selvage.ErrInvalid)
	}
	if r := k.append(id, whole, selvage.Any()); r.Version != 3 {
		k.Errorf("the set without a fault answers version %d; want 3", r.Version)
	}
}

func messagesInheritTheRun(k *kit) {
	set := says("mine", "another's")
	set.RunID = selvage.RunID("run-" + selvage.NewID())
	set.Messages[1].RunID = "another"
	id := k.create(set)
	h := k.load(id)
	if got := h.Messages[0].RunID; got != set.RunID {
		k.Errorf("a message without a run in a set of run %q is of run %q; want the set's", set.RunID, got)
	}
	if got := h.Messages[1].RunID; got != "another" {
		k.Errorf("a message of run \"another\" in a set of run %q is of run %q; want its own", set.RunID, got)
	}
}

func seqAndTimeAreTheStores(k *kit) {
	set := says("one", "two", "three")
	for i := range set.Messages {
		set.Messages[i].Seq, set.Messages[i].CreatedAt = int64(100-i), time.Unix(1, 0)
	}
	id := newID()
	first := k.append(id, set, selvage.New())
	k.tick()
	second := k.append(id, says("four"), selvage.Any())
	at := []time.Time{first.At, first.At, first.At, second.At}
	for i, m := range k.load(id).Messages {
		if m.Seq != int64(i+1) {
			k.Errorf("message %d has seq %d; want %d: seq is dense and from 1, whatever the caller wrote there", i, m.Seq, i+1)
		}
		k.isStored("a message's created_at", m.CreatedAt)
		if !m.CreatedAt.Equal(at[i]) {
			k.Errorf("message %d was created at %v; want %v, when its change was appended", i, m.CreatedAt, at[i])
		}
	}
}

func readersSeeItAtOnce(k *kit) {
	id := newID()
	pre := selvage.New()
	for i := range 10 {
		set := says("hello")
		set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Set("/n", state.Int(int64(i)))}}}
		r := k.append(id, set, pre)
		pre = selvage.Exact(r.Version)
		h := k.load(id)
		if h.Thread.Version != r.Version || h.Hash != r.Hash || h.NextSeq != r.LastSeq()+1 {
			k.Fatalf("after version %d a load answers version %d, hash %s, next seq %d; want %d, %s, %d",
				r.Version, h.Thread.Version, h.Hash, h.NextSeq, r.Version, r.Hash, r.LastSeq()+1)
		}
		if got, want := k.state(id, 0), encode(k, map[string]int{"n": i}); got != want || h.State.String() != want {
			k.Fatalf("after version %d the state is %s, and %s in a load; want %s", r.Version, got, h.State, want)
		}
		if got := k.messages(id, selvage.MessageQuery{After: int64(i)}); len(got.Items) != 1 {
			k.Fatalf("after version %d there are %d messages after seq %d; want 1", r.Version, len(got.Items), i)
		}
		if c := k.change(id, r.Version); c.Hash != r.Hash {
			k.Fatalf("the log has hash %s for version %d; want %s", c.Hash, r.Version, r.Hash)
		}
	}
}

func threadsAreIndependent(k *kit) {
	set := says("hello")
	set.ID, set.Messages[0].ID = "set-"+selvage.NewID(), "message-"+selvage.NewID()
	one, two := newID(), newID()
	a, b := k.append(one, set, selvage.New()), k.append(two, set, selvage.New())
	if b.Replayed || b.Version != 1 || b.Added != 1 || b.FirstSeq != 1 {
		k.Errorf("a set appended to a second thread answers %+v; want version 1 with its message: ids are unique within a thread", b)
	}
	if a.Hash == b.Hash {
		k.Error("the same set has the same hash on two threads; want another one, because its salt is another")
	}
}
