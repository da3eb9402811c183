package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func forkCanBeRewound(k *kit) {
	id := k.create(turn("a"), turn("b"), back(1), turn("c"))
	fork := k.fork(id, 0) // two versions, because of the gap
	at := k.load(fork).Thread.Version
	k.append(fork, turn("d"), selvage.Any())
	k.append(fork, back(at), selvage.Any())
	k.at(fork, 0, "a", "c")
	k.append(fork, turn("e"), selvage.Any())
	k.append(fork, back(at+1), selvage.Any())
	k.at(fork, 0, "a", "c", "d")
	k.at(fork, at, "a", "c")
	k.at(fork, at+3, "a", "c", "e")
}

// forkOfMany copies more messages than fit one change set, some hidden.
func forkOfMany(k *kit) {
	id := newID()
	pre := selvage.New()
	for i := range 3 {
		var set selvage.ChangeSet
		for j := range selvage.MaxSetMessages - 100 {
			set.Messages = append(set.Messages, say(fmt.Sprintf("m-%d-%d", i, j), "x"))
		}
		set.Patches = patch(state.Set("/n", state.Int(int64(i)))).Patches
		k.append(id, set, pre)
		pre = selvage.Any()
	}
	k.append(id, back(2), selvage.Any())
	k.append(id, turn("last"), selvage.Any())
	fork := newID()
	r := k.forkAs(selvage.ForkRequest{From: id, To: fork})
	if r.Version != 3 {
		k.Errorf("a fork of 1801 messages with a gap is at version %d; want 3: 1000, 800, and the one after the gap", r.Version)
	}
	want, got := k.allMessages(id, selvage.MessageQuery{}), k.allMessages(fork, selvage.MessageQuery{})
	k.equal("messages of the fork", got, want)
	if k.state(fork, 0) != k.state(id, 0) || k.state(fork, 1) != k.state(id, 0) {
		k.Errorf("the state of the fork is %s, and %s at version 1; want that of the origin, %s", k.state(fork, 0), k.state(fork, 1), k.state(id, 0))
	}
	k.equal("messages at version 1", len(k.allMessages(fork, selvage.MessageQuery{At: 1})), selvage.MaxSetMessages)
	log := k.log(fork)
	k.verify(log)
	for _, c := range log {
		if c.Reason != selvage.ReasonForked {
			k.Errorf("version %d of the fork is logged as %q; want %q", c.Version, c.Reason, selvage.ReasonForked)
		}
	}
	if h := k.load(fork); h.Hash != r.Hash || len(h.Messages) != selvage.DefaultWindow || h.NextSeq != want[len(want)-1].Seq+1 {
		k.Errorf("a load of the fork shows hash %s, %d messages, next seq %d; want %s, %d, %d", h.Hash, len(h.Messages), h.NextSeq,
			r.Hash, selvage.DefaultWindow, want[len(want)-1].Seq+1)
	}
	known := selvage.ChangeSet{Messages: []selvage.Message{say("m-0-0", "x"), say("m-1-899", "x"), say("m-2-0", "x"), say("last", "x")}}
	k.equal("indexes of the messages that the fork knew", k.append(fork, known, selvage.Any()).Dropped, []int{0, 1, 3})
}

func forkOfMuch(k *kit) {
	big := strings.Repeat("x", selvage.MaxSetBytes-1000)
	id := k.create(says(big), says("small"), says(big))
	fork := newID()
	r := k.forkAs(selvage.ForkRequest{From: id, To: fork})
	if r.Version != 2 && r.Version != 3 {
		k.Errorf("a fork of two sets as large as can be is at version %d; want 2 or 3", r.Version)
	}
	got := k.load(fork).Messages
	if len(got) != 3 || got[0].Text() != big || got[1].Text() != "small" || got[2].Text() != big {
		k.Errorf("the fork has %d messages; want the three of its origin", len(got))
	}
	k.verify(k.log(fork))
}

func forkIsRepeatable(k *kit) {
	id := k.create(turn("a"), turn("b"), back(1), turn("c"))
	req := selvage.ForkRequest{ID: "fork-" + selvage.NewID(), From: id, To: newID(), Thread: &selvage.ThreadUpdate{Title: ptr("<fork>")}}
	first := k.forkAs(req)
	again := func(what string, req selvage.ForkRequest) {
		k.Helper()
		r, err := k.forker().Fork(k.Context(), req)
		if err != nil || !r.Replayed {
			k.Fatalf("the same fork %s answers %s, error %v; want it replayed", what, encode(k, r), err)
		}
		r.Replayed = false
		k.equal("the receipt of the same fork "+what, r, first)
	}
	again("at once", req)
	k.append(req.To, turn("d"), selvage.Any())
	k.append(id, turn("e"), selvage.Any())
	again("after both went on", req)
	at := req
	at.At = 4
	again("with the version it came to", at)
	k.delete(id, selvage.DeleteReject)
	again("after the origin has ended", req)
	for what, change := range map[string]func(*selvage.ForkRequest){
		"of another version": func(r *selvage.ForkRequest) { r.At = 2 },
		"of another thread":  func(r *selvage.ForkRequest) { r.From = newID() },
		"with another title": func(r *selvage.ForkRequest) { r.Thread = &selvage.ThreadUpdate{Title: ptr("other")} },
		"without a title":    func(r *selvage.ForkRequest) { r.Thread = nil },
	} {
		other := req
		change(&other)
		k.Logf("a fork %s under the same id", what)
		k.refuseFork(other, selvage.ErrAlreadyExists)
	}
	set := says("not a fork")
	set.ID = req.ID
	k.refuse(req.To, set, selvage.Any(), selvage.ErrAlreadyExists)
	k.at(req.To, 0, "a", "c", "d")
}

func forkNeedsANewThread(k *kit) {
	id, there, gone := k.create(turn("a")), k.create(turn("x")), k.create(turn("y"))
	k.delete(gone, selvage.DeleteReject)
	k.refuseFork(selvage.ForkRequest{From: id, To: there}, selvage.ErrAlreadyExists)
	k.refuseFork(selvage.ForkRequest{From: id, To: gone}, selvage.ErrAlreadyExists)
	k.refuseFork(selvage.ForkRequest{From: id, To: id}, selvage.ErrAlreadyExists)
	k.refuseFork(selvage.ForkRequest{ID: k.change(there, 1).ID, From: id, To: there}, selvage.ErrAlreadyExists)
	if leaser, ok := selvage.As[selvage.Leaser](k.store); ok {
		leased := newID() // has a lease, and does not exist
		l := k.acquire(leaser, leased, owner("a"))
		k.forkAs(selvage.ForkRequest{From: id, To: leased})
		set := turn("b")
		set.Fence = l.Fence()
		k.append(leased, set, selvage.Any())
		k.at(leased, 0, "a", "b")
	}
}

func forkNeedsAnOrigin(k *kit) {
	k.refuseFork(selvage.ForkRequest{From: newID(), To: newID()}, selvage.ErrNotFound)
	id := k.create(turn("a"), turn("b"))
	k.refuseFork(selvage.ForkRequest{From: id, At: 3, To: newID()}, selvage.ErrNotFound)
	k.delete(id, selvage.DeleteReject)
	k.refuseFork(selvage.ForkRequest{From: id, To: newID()}, selvage.ErrNotFound)
	k.append(id, turn("c"), selvage.Recreate())
	k.refuseFork(selvage.ForkRequest{From: id, At: 2, To: newID()}, selvage.ErrGone)
	k.refuseFork(selvage.ForkRequest{From: id, At: 3, To: newID()}, selvage.ErrGone)
	fork := k.fork(id, 4)
	k.at(fork, 0, "c")
	k.equal("seqs of a fork of a second life", seqs(k.load(fork).Messages), []int64{3})
	k.append(fork, turn("d"), selvage.Any())
	k.append(fork, back(1), selvage.Any())
	k.at(fork, 0, "c")
	k.at(fork, 2, "c", "d")
}

func forkRefusesBadRequests(k *kit) {
	id := k.create(turn("a"))
	for what, req := range map[string]selvage.ForkRequest{
		"no target":       {From: id},
		"no origin":       {To: newID()},
		"a bad target":    {From: id, To: "a/b"},
		"a bad id":        {ID: "..", From: id, To: newID()},
		"a bad version":   {From: id, At: -1, To: newID()},
		"a bad title":     {From: id, To: newID(), Thread: &selvage.ThreadUpdate{Title: ptr("a\xff")}},
		"a missing place": {From: id, To: newID(), Thread: &selvage.ThreadUpdate{ParentID: ptr(newID())}},
	} {
		_, err := k.forker().Fork(k.Context(), req)
		k.class("a fork with "+what, err, selvage.ErrInvalid)
	}
	own := newID()
	k.refuseFork(selvage.ForkRequest{From: id, To: own, Thread: &selvage.ThreadUpdate{ParentID: &own}}, selvage.ErrInvalid)
}

func onlyForksAreForked(k *kit) {
	id := k.create(turn("a"))
	k.refuseField(id, selvage.ChangeSet{Reason: selvage.ReasonForked}, selvage.Any(), "reason")
	k.refuseField(newID(), selvage.ChangeSet{Reason: selvage.ReasonForked}, selvage.New(), "reason")
	draft := &selvage.ForkDraft{Origin: selvage.ForkOrigin{ID: id, Version: 1}, Versions: 1}
	k.refuseField(newID(), selvage.ChangeSet{Fork: draft}, selvage.New(), "fork")
}

func forkChain(k *kit) {
	id := k.create(turn("a"), turn("b"))
	fork := k.fork(id, 0)
	k.append(fork, turn("c"), selvage.Any())
	log := k.log(fork)
	k.verify(log)
	if !log[0].Prev.IsZero() {
		k.Errorf("version 1 of a fork follows hash %s; want the zero hash", log[0].Prev)
	}
	events, err := log[0].Events()
	kinds := []selvage.EventKind{}
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	k.equal("kinds of the events of a fork", kinds, []selvage.EventKind{selvage.EventMessage, selvage.EventMessage, selvage.EventState, selvage.EventThread})
	if err != nil {
		k.Fatalf("the events of a fork cannot be told: %v", err)
	}
	var told struct {
		ForkedFrom *selvage.ForkOrigin `json:"forked_from"`
	}
	if err := json.Unmarshal(events[3].Payload, &told); err != nil || told.ForkedFrom == nil || told.ForkedFrom.ID != id {
		k.Errorf("the event of the thread says %s; want where it was forked from", events[3].Payload)
	}
}

func forkRaces(k *kit) {
	id, to := k.create(turn("a"), turn("b")), newID()
	errs := together(8, func(i int) error {
		_, err := k.forker().Fork(k.Context(), selvage.ForkRequest{From: id, At: selvage.Version(i%2 + 1), To: to})
		return err
	})
	k.winner("forking to one thread", errs, selvage.ErrAlreadyExists)
	if v := k.load(to).Thread.Version; v != 1 {
		k.Errorf("the fork is at version %d; want 1: one fork was made", v)
	}
	same := selvage.ForkRequest{ID: "fork-" + selvage.NewID(), From: id, To: newID()}
	receipts := make([]selvage.Receipt, 8)
	k.noErrors(together(len(receipts), func(i int) (err error) {
		receipts[i], err = k.forker().Fork(k.Context(), same)
		return err
	}))
	made := 0
	for _, r := range receipts {
		if !r.Replayed {
			made++
		}
		if r.Hash != receipts[0].Hash {
			k.Errorf("copies of one fork got the receipts %s and %s", encode(k, r), encode(k, receipts[0]))
		}
	}
	if made != 1 {
		k.Errorf("of %d copies of one fork %d say that they made it; want 1", len(receipts), made)
	}
}

func forkWhileOthersWrite(k *kit) {
	id := k.create(turn("start"))
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for n := range 10 {
				if _, err := k.store.Append(k.Context(), id, turn(fmt.Sprint(i, "-", n)), selvage.Any()); err != nil {
					k.Errorf("append failed: %v", err)
				}
			}
		})
	}
	forks := make([]selvage.ThreadID, 6)
	k.noErrors(together(len(forks), func(i int) error {
		forks[i] = newID()
		_, err := k.forker().Fork(k.Context(), selvage.ForkRequest{From: id, To: forks[i]})
		return err
	}))
	wg.Wait()
	for _, fork := range forks {
		origin := k.load(fork).Thread.ForkedFrom
		k.equal("messages of the fork", ids(k.load(fork).Messages), ids(k.allMessages(id, selvage.MessageQuery{At: origin.Version})))
		if got, want := k.state(fork, 0), k.state(id, origin.Version); got != want {
			k.Errorf("the fork of version %d has state %s; want %s", origin.Version, got, want)
		}
		if c := k.change(id, origin.Version); c.Hash != origin.Hash {
			k.Errorf("the fork says that version %d has hash %s; it has %s", origin.Version, origin.Hash, c.Hash)
		}
	}
}
