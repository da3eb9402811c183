package storetest

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// reopenPromises hold for stores that outlive a Close.
func reopenPromises() []promise {
	const rule = "ARCHITECTURE 1: an acknowledged commit survives the end of the process"
	return []promise{
		{"EverythingIsThere", rule + ", with every field.", everythingIsThere},
		{"TheChainGoesOn", rule + ", and the chain goes on from it.", theChainGoesOn},
		{"ReplaysAreKnown", "CONTRACT 2: a lost acknowledgement can be retried after a restart: the same id answers the first receipt.", replaysAreKnown},
		{"RulesAreKept", "CONTRACT 5, 8, 18: what is known of messages, runs and calls does not depend on the process.", rulesAreKept},
		{"EveryVersionIsThere", "ARCHITECTURE 1: any version can be read, after a restart too.", everyVersionIsThere},
		{"TombstonesStay", "CONTRACT 13: a tombstone outlives the process.", tombstonesStay},
		{"LeasesStay", "CONTRACT 10: lease and epoch are in the head: a restart frees nothing and repeats no epoch.", leasesStay},
		{"CursorsStay", "SURFACE 1: lists go on by --cursor in another process.", cursorsStay},
		{"AcknowledgedIsWritten", rule + ": what was acknowledged when the store closed is there, and nothing that was not.", acknowledgedIsWritten},
	}
}

// restart closes the kit's store and opens what it held again.
func (k *kit) restart() *kit {
	k.Helper()
	return k.on(k.reopen(k.store))
}

// world makes threads of every kind and returns their ids.
func (k *kit) world() []selvage.ThreadID {
	k.Helper()
	rich := newID()
	k.history(rich)
	open := k.create(says("hello"), runSet(richRun(newRunID())), callSet(call("c", selvage.CallStarted)))
	child := k.create(under(rich), patch(state.Set("/n", state.Int(1))))
	reborn := k.create(says("former"), says("life"))
	k.delete(reborn, selvage.DeleteReject)
	k.append(reborn, says("again"), selvage.Recreate())
	return []selvage.ThreadID{rich, open, child, reborn}
}

// view is everything that can be read of threads and lists.
func (k *kit) view(ids []selvage.ThreadID) string {
	k.Helper()
	pictures := make(map[selvage.ThreadID]string)
	for _, id := range ids {
		pictures[id] = k.picture(id)
	}
	return encode(k, struct {
		Pictures          map[selvage.ThreadID]string
		Created, Children []selvage.Thread
		Runs              []selvage.Run
	}{pictures, k.threads(selvage.ThreadQuery{}), k.threads(selvage.ThreadQuery{Parent: selvage.ChildrenOf(ids[0])}), k.runs(selvage.RunQuery{})})
}

func everythingIsThere(k *kit) {
	k = k.alone()
	ids := k.world()
	before := k.view(ids)
	for range 2 {
		k = k.restart()
		if after := k.view(ids); after != before {
			k.Fatalf("a restart changed what can be read: %s", difference(after, before))
		}
	}
}

func theChainGoesOn(k *kit) {
	k = k.alone()
	id := k.create(says("one"))
	for i := range 3 {
		last := k.load(id)
		k = k.restart()
		r := k.append(id, says("more"), selvage.Exact(last.Thread.Version))
		if c := k.change(id, r.Version); c.Prev != last.Hash || c.FirstSeq != last.NextSeq {
			k.Errorf("restart %d: the next change follows hash %s with first seq %d; want %s and %d", i, c.Prev, c.FirstSeq, last.Hash, last.NextSeq)
		}
		k.refuse(id, says("late"), selvage.Exact(last.Thread.Version), selvage.ErrConflict)
	}
	k.verify(k.log(id))
}

func replaysAreKnown(k *kit) {
	k = k.alone()
	id := newID()
	sets := k.history(id)
	var receipts []selvage.Receipt
	for _, set := range sets {
		receipts = append(receipts, k.append(id, set, selvage.Any()))
	}
	k = k.restart()
	for i, set := range sets {
		k.replay(id, set, selvage.Exact(99), receipts[i])
		other := set
		other.Events = append(slices.Clone(set.Events), selvage.EventDraft{Kind: "more"})
		k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
	}
}

func rulesAreKept(k *kit) {
	k = k.alone()
	ended, open := newRunID(), newRunID()
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("a", "A")}}, callSet(call("c", selvage.CallSucceeded)))
	k.bring(id, ended, selvage.RunDone)
	k.bring(id, open, selvage.RunWaiting)
	other := k.create(says("hello"))
	k = k.restart()
	if r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", "A")}}, selvage.Any()); r.Added != 0 {
		k.Error("after a restart a message that is there was added again")
	}
	k.refuseField(id, callSet(call("c", selvage.CallStarted)), selvage.Any(), "calls")
	k.refuseField(id, runSet(status(ended, selvage.RunRunning)), selvage.Any(), "runs")
	k.refuseField(id, runSet(status(newRunID(), selvage.RunRunning)), selvage.Any(), "runs")
	k.refuseField(other, runSet(status(open, selvage.RunRunning)), selvage.Any(), "runs")
	k.append(id, runSet(status(open, selvage.RunRunning), status(open, selvage.RunDone)), selvage.Any())
}

func everyVersionIsThere(k *kit) {
	k = k.alone()
	id := newID()
	pre := selvage.New()
	states := make(map[selvage.Version]string)
	for i := range 80 {
		set := patch(state.Set(state.At("k", fmt.Sprint(i%5)), state.Int(int64(i))))
		set.Messages = []selvage.Message{say("", fmt.Sprint(i))}
		r := k.append(id, set, pre)
		pre = selvage.Any()
		states[r.Version] = k.state(id, 0)
	}
	k = k.restart()
	for _, v := range slices.Sorted(maps.Keys(states)) {
		if got := k.state(id, v); got != states[v] {
			k.Fatalf("after a restart the state at version %d is %s; want %s", v, got, states[v])
		}
		if got := k.allMessages(id, selvage.MessageQuery{At: v}); len(got) != int(v) {
			k.Fatalf("after a restart there are %d messages at version %d; want %d", len(got), v, v)
		}
	}
}

func tombstonesStay(k *kit) {
	k = k.alone()
	id := k.create(says("one"), says("two"))
	last := k.load(id)
	k.delete(id, selvage.DeleteReject)
	k = k.restart()
	k.unreadable(id, selvage.ErrNotFound)
	k.refuse(id, says("late"), selvage.Any(), selvage.ErrGone)
	k.refuse(id, says("late"), selvage.New(), selvage.ErrAlreadyExists)
	r := k.append(id, says("again"), selvage.Recreate())
	log := k.log(id)
	k.verify(log)
	if r.Version != 4 || r.FirstSeq != last.NextSeq || log[0].Prev != last.Hash {
		k.Errorf("recreated after a restart at version %d with first seq %d; want 4 and %d, after the hash of the former life", r.Version, r.FirstSeq, last.NextSeq)
	}
}

func leasesStay(k *kit) {
	k = k.alone()
	id, absent := k.create(says("hello")), newID()
	held, early := k.acquire(k.leaser(), id, elsewhere("a")), k.acquire(k.leaser(), absent, elsewhere("a"))
	k = k.restart()
	l := k.leaser()
	k.busy(l, owner("b"), held)
	k.busy(l, owner("b"), early)
	k.append(id, fenced(held.Epoch, "the holder goes on"), selvage.Any())
	renewed, err := l.Renew(k.Context(), held, minute)
	if err != nil {
		k.Fatalf("renew after a restart failed: %v", err)
	}
	if err := l.Release(k.Context(), renewed); err != nil {
		k.Fatalf("release after a restart failed: %v", err)
	}
	k = k.restart()
	next := k.acquire(k.leaser(), id, owner("b"))
	if next.Epoch <= held.Epoch || next.Took != nil {
		k.Errorf("after another restart the next lease is %s; want an epoch above %d, and nobody's taken", encode(k, next), held.Epoch)
	}
	k.refuse(id, fenced(held.Epoch, "late"), selvage.Any(), selvage.ErrFenced)
}

func cursorsStay(k *kit) {
	k = k.alone()
	id := k.talk(20, 10)
	q := selvage.MessageQuery{Visibility: selvage.ShowAll, Limit: ptr(7)}
	first := k.messages(id, q)
	k = k.restart()
	q.Cursor = first.Next
	k.equal("seqs of the second page, read after a restart", seqs(k.messages(id, q).Items), between(8, 14))
}

func acknowledgedIsWritten(k *kit) {
	k = k.alone()
	id := k.create(says("hello"))
	const writers = 6
	got := make([][]selvage.Receipt, writers)
	ended := make(chan []error, 1)
	first := make(chan struct{}, writers)
	var over atomic.Bool
	defer over.Store(true) // whatever happens, the writers end
	go func() {
		ended <- together(writers, func(i int) error {
			return untilRefused(&over, func() (bool, error) {
				r, err := k.store.Append(k.Context(), id, says(fmt.Sprint(i)), selvage.Any())
				if err == nil {
					if got[i] = append(got[i], r); len(got[i]) == 1 {
						first <- struct{}{}
					}
				}
				return untilClosed(err)
			})
		})
	}()
	select {
	case <-first: // they are at it
	case errs := <-ended:
		k.noErrors(errs)
		k.Fatal("the writers ended before the store was closed")
	}
	next := k.restart()
	over.Store(true)
	k.noErrors(<-ended)
	next.everyVersionOnce(id, got, 2)
}
