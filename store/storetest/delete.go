package storetest

import (
	"slices"

	"github.com/selvagehq/selvage"
)

func deletePromises() []promise {
	return []promise{
		{"NothingIsLeftToRead", "CONTRACT 13: every dependent row goes with the thread; a deleted thread reads as not_found.", nothingIsLeftToRead},
		{"DeletingTwiceIsNotFound", "CONTRACT 13: deleting what never was, or was deleted, is not_found.", deletingTwice},
		{"RejectRefusesChildren", "ARCHITECTURE 3: reject refuses a thread with a child and changes nothing.", rejectRefusesChildren},
		{"DetachMakesRoots", "CONTRACT 13: detach appends thread_updated to each child; grandchildren stay where they are.", detachMakesRoots},
		{"CascadeTakesTheSubtree", "ARCHITECTURE 3: cascade deletes every descendant, and nothing else.", cascadeTakesTheSubtree},
		{"UnknownStrategyIsInvalid", "ARCHITECTURE 3: the strategies are reject, detach and cascade.", unknownStrategy},
		{"TombstoneClosesTheChain", "CONTRACT 13: delete appends a final deleted change to the log; nobody can append after it.", tombstoneClosesTheChain},
		{"RunsGoToo", "CONTRACT 13: the runs of a deleted thread go with it.", runsGoToo},
		{"LeaseIsRevoked", "CONTRACT 13: who held the lease of a deleted thread cannot write to what comes after.", leaseIsRevoked},
		{"ManyChildren", "ARCHITECTURE 3: delete is one transaction over any number of children.", manyChildren},
	}
}

func nothingIsLeftToRead(k *kit) {
	k = k.alone()
	id := newID()
	k.history(id)
	k.append(id, runSet(status(newRunID(), selvage.RunRunning)), selvage.Any())
	other := k.create(says("stays"))
	k.delete(id, selvage.DeleteReject)
	k.unreadable(id, selvage.ErrNotFound)
	k.selects(selvage.ThreadQuery{}, other)
	k.selects(selvage.ThreadQuery{Text: string(id)})
	k.equal("runs of the store", runIDs(k.runs(selvage.RunQuery{})), []selvage.RunID{})
}

func deletingTwice(k *kit) {
	id := k.create(says("hello"))
	k.delete(id, selvage.DeleteReject)
	for _, strategy := range []selvage.DeleteStrategy{selvage.DeleteReject, selvage.DeleteDetach, selvage.DeleteCascade} {
		k.class("delete of a deleted thread", k.store.Delete(k.Context(), id, strategy), selvage.ErrNotFound)
		k.class("delete of a thread that never was", k.store.Delete(k.Context(), newID(), strategy), selvage.ErrNotFound)
	}
	r := k.append(id, says("again"), selvage.Recreate())
	if r.Version != 3 {
		k.Errorf("recreated at version %d; want 3: the deletes that found nothing left nothing", r.Version)
	}
	k.delete(id, selvage.DeleteReject)
	k.unreadable(id, selvage.ErrNotFound)
}

func rejectRefusesChildren(k *kit) {
	root := k.create(says("root"))
	child := k.create(under(root))
	before := k.picture(root) + k.picture(child)
	k.class("delete (reject) of a parent", k.store.Delete(k.Context(), root, selvage.DeleteReject), selvage.ErrInvalid)
	if after := k.picture(root) + k.picture(child); after != before {
		k.Errorf("a refused delete left its mark: %s", difference(after, before))
	}
	k.delete(child, selvage.DeleteReject)
	k.delete(root, selvage.DeleteReject) // a deleted child does not count
}

func detachMakesRoots(k *kit) {
	root := k.create(says("root"))
	one, two := k.create(under(root)), k.create(under(root), says("more"))
	grand := k.create(under(one))
	before := k.picture(grand)
	run := newRunID()
	k.append(two, runSet(status(run, selvage.RunRunning)), selvage.Any())
	k.delete(root, selvage.DeleteDetach)
	k.unreadable(root, selvage.ErrNotFound)
	for id, version := range map[selvage.ThreadID]selvage.Version{one: 2, two: 4} {
		h := k.load(id)
		if h.Thread.ParentID != "" || h.Thread.Version != version {
			k.Errorf("a detached child has parent %q at version %d; want none at version %d", h.Thread.ParentID, h.Thread.Version, version)
		}
		c := k.change(id, version)
		if c.Reason != selvage.ReasonThreadUpdated || c.ID == "" {
			k.Errorf("the last change of a detached child is %q because of %q; want one because of %q", c.ID, c.Reason, selvage.ReasonThreadUpdated)
		}
		k.verify(k.log(id))
	}
	if h := k.load(two); h.OpenRun == nil || h.OpenRun.ID != run {
		k.Errorf("a detached child has the open run %v; want its own, %q", h.OpenRun, run)
	}
	if after := k.picture(grand); after != before {
		k.Errorf("detaching changed a grandchild: %s", difference(after, before))
	}
}

func cascadeTakesTheSubtree(k *kit) {
	above := k.create(says("above"))
	root := k.create(under(above))
	sibling := k.create(under(above))
	line, doomed := root, []selvage.ThreadID{root}
	for range 6 { // depth
		line = k.create(under(line), says("more"))
		doomed = append(doomed, line, k.create(under(line)), k.create(under(doomed[0])))
	}
	before := k.picture(above) + k.picture(sibling)
	k.delete(root, selvage.DeleteCascade)
	for _, id := range doomed {
		k.unreadable(id, selvage.ErrNotFound)
		k.refuse(id, says("late"), selvage.Any(), selvage.ErrGone)
	}
	if after := k.picture(above) + k.picture(sibling); after != before {
		k.Errorf("a cascade changed what is not below: %s", difference(after, before))
	}
	again := doomed[3]
	r := k.append(again, says("again"), selvage.Recreate())
	log := k.log(again)
	k.verify(log)
	if k.parent(again) != "" || log[0].Reason != selvage.ReasonDeleted || r.Version != log[0].Version+1 {
		k.Errorf("a thread recreated after a cascade has the log %s; want its tombstone first, and no parent", encode(k, log))
	}
}

func unknownStrategy(k *kit) {
	id := k.create(says("hello"))
	for _, strategy := range []selvage.DeleteStrategy{"", "all", "CASCADE"} {
		k.class("delete with an unknown strategy", k.store.Delete(k.Context(), id, strategy), selvage.ErrInvalid)
	}
	k.load(id)
}

func tombstoneClosesTheChain(k *kit) {
	id := k.create(says("one"), says("two"))
	last := k.load(id)
	k.delete(id, selvage.DeleteReject)
	for _, pre := range []selvage.Precondition{selvage.Any(), selvage.Exact(2), selvage.Exact(3)} {
		k.refuse(id, says("late"), pre, selvage.ErrGone)
	}
	k.append(id, selvage.ChangeSet{}, selvage.Recreate())
	tomb := k.change(id, 3)
	if tomb.Reason != selvage.ReasonDeleted || tomb.Prev != last.Hash || tomb.Added != 0 || len(tomb.Messages) > 0 || tomb.FirstSeq != last.NextSeq {
		k.Errorf("the tombstone is %s; want a deleted change without content that follows hash %s, next seq %d", encode(k, tomb), last.Hash, last.NextSeq)
	}
	if err := tomb.Verify(last.Hash); err != nil {
		k.Errorf("the tombstone does not verify: %v", err)
	}
	if events, err := tomb.Events(); err != nil || len(events) != 1 || events[0].Kind != selvage.EventThread {
		k.Errorf("the tombstone makes the events %s, error %v; want one about the thread", encode(k, events), err)
	}
}

func runsGoToo(k *kit) {
	root := k.create(says("root"))
	child := k.create(under(root))
	open, ended := newRunID(), newRunID()
	k.bring(root, ended, selvage.RunDone)
	k.bring(child, open, selvage.RunWaiting)
	k.delete(root, selvage.DeleteCascade)
	for _, r := range k.runs(selvage.RunQuery{}) {
		if slices.Contains([]selvage.RunID{open, ended}, r.ID) {
			k.Errorf("run %q is still listed; want it gone with its thread", r.ID)
		}
	}
}

func leaseIsRevoked(k *kit) {
	leaser := k.leaser()
	id := k.create(says("hello"))
	l := k.acquire(leaser, id, owner("a"))
	k.delete(id, selvage.DeleteReject)
	_, err := leaser.Acquire(k.Context(), id, owner("b"), minute)
	k.class("acquire the lease of a deleted thread", err, selvage.ErrGone)
	_, err = leaser.Renew(k.Context(), l, minute)
	k.class("renew the lease of a deleted thread", err, selvage.ErrFenced)

	zombie := says("late")
	zombie.Fence = l.Fence()
	k.refuse(id, zombie, selvage.Recreate(), selvage.ErrFenced)
	k.append(id, says("again"), selvage.Recreate())
	k.refuse(id, zombie, selvage.Any(), selvage.ErrFenced)
	if h := k.load(id); h.Lease != nil {
		k.Errorf("the recreated thread has the lease %s of its former life; want none", encode(k, h.Lease))
	}
	next := k.acquire(leaser, id, owner("b"))
	if next.Epoch <= l.Epoch || next.Took != nil {
		k.Errorf("the first lease of the recreated thread is %s; want an epoch above %d, and nobody's taken", encode(k, next), l.Epoch)
	}
	if err := leaser.Release(k.Context(), l); err != nil {
		k.Errorf("release of a revoked lease failed: %v; want no error", err)
	}
	if h := k.load(id); h.Lease == nil {
		k.Error("releasing a revoked lease released the one that followed")
	}
}

func manyChildren(k *kit) {
	const n = 60
	for _, strategy := range []selvage.DeleteStrategy{selvage.DeleteDetach, selvage.DeleteCascade} {
		root := k.create(says("root"))
		var children []selvage.ThreadID
		for range n {
			children = append(children, k.create(under(root)))
		}
		k.delete(root, strategy)
		k.selects(selvage.ThreadQuery{Parent: selvage.ChildrenOf(root)})
		for _, id := range children {
			_, err := k.store.Load(k.Context(), id, selvage.LoadOptions{})
			if strategy == selvage.DeleteDetach && err != nil {
				k.Errorf("load of a detached child failed: %v", err)
			}
			if strategy == selvage.DeleteCascade {
				k.class("load of a child that went too", err, selvage.ErrNotFound)
			}
		}
	}
}
