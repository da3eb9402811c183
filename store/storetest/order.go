package storetest

import (
	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func orderPromises() []promise {
	const rule = "CONTRACT 1: the order of checks is change-set id, tombstone, fence, precondition, shape, run rules, patches"
	return []promise{
		{"IDBeforeTheFence", rule + ": a replay gets its receipt even with a lost lease.", idBeforeTheFence},
		{"OtherContentBeforeThePrecondition", rule + ".", otherContentBeforeThePrecondition},
		{"TombstoneBeforeTheFence", rule + ".", tombstoneBeforeTheFence},
		{"FenceBeforeThePrecondition", rule + ".", fenceBeforeThePrecondition},
		{"PreconditionBeforeShape", rule + ".", preconditionBeforeShape},
		{"ShapeBeforeRuns", rule + ".", shapeBeforeRuns},
		{"RunsBeforePatches", rule + ".", runsBeforePatches},
	}
}

// wrong breaks every rule from the fence on.
func wrong() selvage.ChangeSet {
	return selvage.ChangeSet{
		ID:       "set-" + selvage.NewID(),
		Fence:    &selvage.Fence{Epoch: 99},
		Messages: []selvage.Message{{Role: "nobody"}},
		Runs:     []selvage.RunUpdate{done("run-" + selvage.NewID())},
		Patches:  []selvage.StatePatch{{Ops: state.Patch{state.Increment("/missing", state.Int(1))}}},
	}
}

func idBeforeTheFence(k *kit) {
	set := says("hello")
	set.ID = "set-" + selvage.NewID()
	id := newID()
	first := k.append(id, set, selvage.New())
	set.Fence = &selvage.Fence{Epoch: 99}
	k.replay(id, set, selvage.Exact(99), first)
}

func otherContentBeforeThePrecondition(k *kit) {
	set := says("hello")
	set.ID = "set-" + selvage.NewID()
	id := k.create(set)
	other := wrong()
	other.ID = set.ID
	k.refuse(id, other, selvage.Exact(99), selvage.ErrAlreadyExists)
}

func tombstoneBeforeTheFence(k *kit) {
	id := k.create(says("hello"))
	k.delete(id, selvage.DeleteReject)
	k.refuse(id, wrong(), selvage.Exact(1), selvage.ErrGone)
	k.refuse(id, wrong(), selvage.New(), selvage.ErrAlreadyExists)
	k.refuse(id, wrong(), selvage.Recreate(), selvage.ErrFenced)
}

func fenceBeforeThePrecondition(k *kit) {
	id := k.create(says("hello"))
	for _, pre := range []selvage.Precondition{selvage.Any(), selvage.Exact(99), selvage.New(), selvage.Recreate()} {
		k.refuse(id, wrong(), pre, selvage.ErrFenced)
	}
	k.refuse(newID(), wrong(), selvage.Any(), selvage.ErrFenced)
}

func preconditionBeforeShape(k *kit) {
	id := k.create(says("hello"))
	set := wrong()
	set.Fence = nil
	k.refuse(id, set, selvage.Exact(99), selvage.ErrConflict)
	k.refuse(id, set, selvage.New(), selvage.ErrAlreadyExists)
	k.refuse(newID(), set, selvage.Any(), selvage.ErrNotFound)
	k.refuse(newID(), set, selvage.Exact(1), selvage.ErrNotFound)
}

func shapeBeforeRuns(k *kit) {
	id := k.create(says("hello"))
	set := wrong()
	set.Fence = nil
	k.refuseField(id, set, selvage.Any(), "messages[0].role")
	k.refuseField(id, set, selvage.Exact(1), "messages[0].role")
	k.refuseField(newID(), set, selvage.New(), "messages[0].role")
}

func runsBeforePatches(k *kit) {
	id := k.create(says("hello"))
	set := wrong()
	set.Fence, set.Messages = nil, nil
	k.refuseField(id, set, selvage.Any(), "runs")
	set.Runs = nil
	k.refuseField(id, set, selvage.Any(), "patches[0]")
}
