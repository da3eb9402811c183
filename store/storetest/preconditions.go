package storetest

import (
	"errors"

	"github.com/selvagehq/selvage"
)

func preconditionPromises() []promise {
	return []promise{
		{"NewNeedsAbsence", "CONTRACT 3: New is Exact(0) on an absent thread, already_exists otherwise, also on a tombstone.", newNeedsAbsence},
		{"ExactZeroIsNew", "CONTRACT 3: New is Exact(0) on an absent thread.", exactZeroIsNew},
		{"MissingThreadIsNotFound", "CONTRACT 3: Any or Exact(n>0) on a missing thread: not_found.", missingThreadIsNotFound},
		{"ExactNeedsThatVersion", "CONTRACT 3: Exact(v) appends at v alone; ConflictError names what was expected and what is.", exactNeedsThatVersion},
		{"ZeroValueIsAny", "CONTRACT 3: the zero precondition is Any and appends at whatever version there is.", zeroValueIsAny},
		{"TombstoneIsGone", "ARCHITECTURE 3: appending to a deleted thread fails, recreating it is explicit.", tombstoneIsGone},
		{"RecreateNeedsATombstone", "CONTRACT 3: Recreate continues a tombstone, and nothing else.", recreateNeedsATombstone},
		{"RecreateContinues", "CONTRACT 3: Recreate continues a tombstone's version and hash; ARCHITECTURE 3: seq is never reused.", recreateContinues},
		{"RecreateBeginsEmpty", "CONTRACT 13: every dependent row went with the thread, so a recreated one begins empty.", recreateBeginsEmpty},
	}
}

func (k *kit) delete(id selvage.ThreadID, strategy selvage.DeleteStrategy) {
	k.Helper()
	if err := k.store.Delete(k.Context(), id, strategy); err != nil {
		k.Fatalf("delete (%s) failed: %v", strategy, err)
	}
}

func newNeedsAbsence(k *kit) {
	id := k.create(says("hello"))
	k.refuse(id, says("again"), selvage.New(), selvage.ErrAlreadyExists)
	k.delete(id, selvage.DeleteReject)
	k.refuse(id, says("again"), selvage.New(), selvage.ErrAlreadyExists)
}

func exactZeroIsNew(k *kit) {
	id := newID()
	if r := k.append(id, says("hello"), selvage.Exact(0)); r.Version != 1 {
		k.Errorf("Exact(0) on an absent thread answers version %d; want 1", r.Version)
	}
	k.refuse(id, says("again"), selvage.Exact(0), selvage.ErrAlreadyExists)
}

func missingThreadIsNotFound(k *kit) {
	for _, pre := range []selvage.Precondition{selvage.Any(), selvage.Exact(1), selvage.Exact(7)} {
		id := newID()
		k.refuse(id, says("hello"), pre, selvage.ErrNotFound)
		k.append(id, says("hello"), selvage.New())
	}
}

func exactNeedsThatVersion(k *kit) {
	id := k.create(says("one"), says("two"), says("three"))
	for _, v := range []selvage.Version{1, 2, 4, 99, -1} {
		err := k.refuse(id, says("late"), selvage.Exact(v), selvage.ErrConflict)
		var conflict *selvage.ConflictError
		if !errors.As(err, &conflict) {
			k.Fatalf("Exact(%d) on a thread at 3 failed with %v, a %T; want a *ConflictError, from which the caller learns the version", v, err, err)
		}
		if conflict.Thread != id || conflict.Expected != v || conflict.Actual != 3 {
			k.Errorf("Exact(%d) on a thread at 3 failed with %+v; want that thread, expected %d, actual 3", v, *conflict, v)
		}
	}
	if r := k.append(id, says("four"), selvage.Exact(3)); r.Version != 4 {
		k.Errorf("Exact(3) on a thread at 3 answers version %d; want 4", r.Version)
	}
}

func zeroValueIsAny(k *kit) {
	id := k.create(says("one"))
	for v := selvage.Version(2); v < 5; v++ {
		if r := k.append(id, says("more"), selvage.Precondition{}); r.Version != v {
			k.Errorf("the zero precondition at version %d answers version %d; want %d", v-1, r.Version, v)
		}
	}
}

func tombstoneIsGone(k *kit) {
	id := k.create(says("one"))
	k.delete(id, selvage.DeleteReject)
	for _, pre := range []selvage.Precondition{selvage.Any(), selvage.Exact(1), selvage.Exact(2), selvage.Exact(7)} {
		k.refuse(id, says("late"), pre, selvage.ErrGone)
	}
}

func recreateNeedsATombstone(k *kit) {
	k.refuse(newID(), says("hello"), selvage.Recreate(), selvage.ErrNotFound)
	id := k.create(says("one"))
	k.refuse(id, says("again"), selvage.Recreate(), selvage.ErrAlreadyExists)
	k.delete(id, selvage.DeleteReject)
	k.append(id, says("again"), selvage.Recreate())
	k.refuse(id, says("and again"), selvage.Recreate(), selvage.ErrAlreadyExists)
}

func recreateContinues(k *kit) {
	id := k.create(says("one", "two"), says("three"))
	last := k.load(id).Hash
	for life := range selvage.Version(3) {
		before := k.load(id)
		k.delete(id, selvage.DeleteReject)
		r := k.append(id, says("hello again"), selvage.Recreate())
		if want := before.Thread.Version + 2; r.Version != want {
			k.Errorf("life %d: recreated at version %d; want %d, one after the tombstone", life+2, r.Version, want)
		}
		if r.FirstSeq != before.NextSeq {
			k.Errorf("life %d: its first message has seq %d; want %d: seq is never reused", life+2, r.FirstSeq, before.NextSeq)
		}
		log := k.log(id)
		if len(log) != 2 || log[0].Reason != selvage.ReasonDeleted {
			k.Fatalf("life %d: the log holds %d changes, the first because of %q; want the tombstone and the new one", life+2, len(log), log[0].Reason)
		}
		if log[0].Prev != last {
			k.Errorf("life %d: the tombstone follows hash %s; want %s, the last of the former life", life+2, log[0].Prev, last)
		}
		k.verify(log)
		last = r.Hash
	}
}

func recreateBeginsEmpty(k *kit) {
	id := newID()
	run := selvage.RunID("run-" + selvage.NewID())
	former := richSet()
	former.Runs = []selvage.RunUpdate{running(run)}
	k.append(id, former, selvage.New())
	k.append(id, says("more"), selvage.Any())
	k.delete(id, selvage.DeleteReject)
	k.tick()
	again := selvage.ChangeSet{Messages: []selvage.Message{former.Messages[1]}} // its id is free again
	r := k.append(id, again, selvage.Recreate())
	if r.Added != 1 {
		k.Errorf("a message whose id was used in the former life: %d added; want 1, no visible message bears it", r.Added)
	}
	h := k.load(id)
	t := h.Thread
	if t.Title != "" || t.UserID != "" || t.ParentID != "" || len(t.Metadata) > 0 || !t.ExpiresAt.IsZero() ||
		t.ActiveRunID != "" || t.OpenRunID != "" || t.LatestRunID != "" || h.OpenRun != nil || len(h.OpenCalls) > 0 {
		k.Errorf("the recreated thread still has something of its former life: %s", encode(k, h))
	}
	if !t.CreatedAt.Equal(r.At) {
		k.Errorf("the recreated thread was created at %v; want %v, when it was recreated", t.CreatedAt, r.At)
	}
	k.equal("messages of the recreated thread", texts(h.Messages), []string{"look"})
	k.equal("runs of the recreated thread", k.runs(selvage.RunQuery{ThreadID: id}), nil)
	if got := k.state(id, 0); got != "{}" {
		k.Errorf("state of the recreated thread: got %s, want {}", got)
	}
	k.append(id, runSet(running(run)), selvage.Any()) // the former run is no more
	k.append(id, selvage.ChangeSet{Calls: []selvage.CallUpdate{{CallID: "call-1", Status: selvage.CallStarted}}}, selvage.Any())
}
