package storetest

import (
	"fmt"
	"sync"

	"github.com/selvagehq/selvage"
)

func hierarchyPromises() []promise {
	return []promise{
		{"ParentMustExist", "ARCHITECTURE 3: a thread's parent is a thread that exists; a change that says otherwise is invalid.", parentMustExist},
		{"NoCycles", "CONTRACT 14: no thread is its own ancestor.", noCycles},
		{"ParentCanChange", "ThreadUpdate: a parent can be set, changed and cleared; each is a version.", parentCanChange},
		{"NoCyclesUnderConcurrency", "CONTRACT 14: parent changes are serialised, so that two of them cannot close a circle.", noCyclesUnderConcurrency},
	}
}

func under(parent selvage.ThreadID) selvage.ChangeSet {
	return update(selvage.ThreadUpdate{ParentID: &parent})
}

func (k *kit) parent(id selvage.ThreadID) selvage.ThreadID {
	k.Helper()
	return k.load(id).Thread.ParentID
}

func parentMustExist(k *kit) {
	id := k.create(says("hello"))
	k.refuseField(id, under(newID()), selvage.Any(), "thread.parent_id")
	k.refuseField(newID(), under(newID()), selvage.New(), "thread.parent_id")

	deleted := k.create(says("hello"))
	k.delete(deleted, selvage.DeleteReject)
	k.refuseField(id, under(deleted), selvage.Any(), "thread.parent_id")

	if leaser, ok := selvage.As[selvage.Leaser](k.store); ok {
		leased := newID() // has a lease, and does not exist
		k.acquire(leaser, leased, owner("a"))
		k.refuseField(id, under(leased), selvage.Any(), "thread.parent_id")
	}
	k.append(deleted, says("again"), selvage.Recreate())
	k.append(id, under(deleted), selvage.Any())
}

func noCycles(k *kit) {
	id := k.create(says("root"))
	k.refuseField(id, under(id), selvage.Any(), "thread.parent_id")
	self := newID()
	k.refuseField(self, under(self), selvage.New(), "thread.parent_id")
	line := []selvage.ThreadID{id}
	for range 5 {
		line = append(line, k.create(under(line[len(line)-1])))
	}
	for i, descendant := range line[1:] {
		k.Logf("the root under its descendant of generation %d", i+1)
		k.refuseField(id, under(descendant), selvage.Any(), "thread.parent_id")
	}
	k.append(line[3], under(id), selvage.Any()) // closer to the root: no cycle
	k.append(line[1], under(line[5]), selvage.Any())
	k.refuseField(line[4], under(line[1]), selvage.Any(), "thread.parent_id")
}

func parentCanChange(k *kit) {
	one, two := k.create(says("one")), k.create(says("two"))
	id := k.create(under(one))
	if got := k.parent(id); got != one {
		k.Errorf("the parent is %q; want %q", got, one)
	}
	k.append(id, update(selvage.ThreadUpdate{Title: ptr("title")}), selvage.Any())
	if got := k.parent(id); got != one {
		k.Errorf("after an update of the title the parent is %q; want %q", got, one)
	}
	k.append(id, under(two), selvage.Any())
	if got := k.parent(id); got != two {
		k.Errorf("the changed parent is %q; want %q", got, two)
	}
	k.append(id, under(two), selvage.Any()) // the same once more
	if r := k.append(id, under(""), selvage.Any()); r.Version != 5 || k.parent(id) != "" {
		k.Errorf("clearing the parent answers version %d and leaves parent %q; want version 5 and none", r.Version, k.parent(id))
	}
	root := k.create(under(""))
	if got := k.parent(root); got != "" {
		k.Errorf("a thread created with an empty parent has parent %q; want none", got)
	}
}

func noCyclesUnderConcurrency(k *kit) {
	for range 10 {
		const n = 4
		ids := make([]selvage.ThreadID, n)
		for i := range ids {
			ids[i] = k.create(says("hello"))
		}
		var wg sync.WaitGroup
		errs := make([]error, n)
		for i := range ids {
			wg.Go(func() { _, errs[i] = k.store.Append(k.Context(), ids[i], under(ids[(i+1)%n]), selvage.Any()) })
		}
		wg.Wait()
		refused := 0
		for i, err := range errs {
			if err != nil {
				refused++
				k.class(fmt.Sprintf("parent change %d", i), err, selvage.ErrInvalid)
			}
		}
		if refused != 1 {
			k.Errorf("of %d parent changes that would close a circle %d were refused; want exactly 1", n, refused)
		}
		for _, id := range ids {
			at, steps := id, 0
			for ; at != "" && steps <= n; steps++ {
				at = k.parent(at)
			}
			if at != "" {
				k.Fatalf("thread %q is its own ancestor", id)
			}
		}
	}
}
