package storetest

import (
	"errors"

	"github.com/selvagehq/selvage"
)

func fencePromises() []promise {
	const rule = "ARCHITECTURE 1: a zombie worker cannot write: version and fence are checked in the transaction"
	return []promise{
		{"HolderWrites", "CONTRACT 7: a run owns its thread by its fence.", holderWrites},
		{"ZombieIsRefused", rule + ".", zombieIsRefused},
		{"OtherEpochsAreRefused", rule + ": only the current epoch passes.", otherEpochsAreRefused},
		{"OthersMayWrite", "CONTRACT 7: others may append while a run has the lease: a message, a steer, a title.", othersMayWrite},
		{"ZombieLearnsItsReceipt", "CONTRACT 1: a replay gets its receipt even with a lost lease.", zombieLearnsItsReceipt},
		{"RenewalKeepsTheFence", "CONTRACT 10: renewals are no new holders: the epoch, and so the fence, stays.", renewalKeepsTheFence},
	}
}

func fenced(epoch int64, text string) selvage.ChangeSet {
	set := says(text)
	set.Fence = &selvage.Fence{Epoch: epoch}
	return set
}

func holderWrites(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	lease := k.acquire(l, id, owner("a"))
	for v := selvage.Version(1); v < 4; v++ {
		if r := k.append(id, fenced(lease.Epoch, "mine"), selvage.Exact(v)); r.Version != v+1 {
			k.Errorf("the holder's append at version %d answers %d", v, r.Version)
		}
	}
	k.append(id, fenced(lease.Epoch, "mine"), selvage.Any())
}

func zombieIsRefused(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	zombie := k.brief(l, id, elsewhere("zombie"))
	k.append(id, fenced(zombie.Epoch, "nobody took it yet"), selvage.Any())
	next := k.acquire(l, id, owner("next"))
	for _, pre := range []selvage.Precondition{selvage.Any(), selvage.Exact(2), selvage.Exact(1)} {
		err := k.refuse(id, fenced(zombie.Epoch, "late"), pre, selvage.ErrFenced)
		var f *selvage.FencedError
		if !errors.As(err, &f) {
			k.Fatalf("the zombie's append failed with %v, a %T; want a *FencedError, which says at what epoch the thread is", err, err)
		}
		if f.Thread != id || f.Held != zombie.Epoch || f.Actual != next.Epoch {
			k.Errorf("the zombie's append failed with %+v; want thread %q, held %d, actual %d", *f, id, zombie.Epoch, next.Epoch)
		}
	}
	k.append(id, fenced(next.Epoch, "mine"), selvage.Exact(2))
	if err := l.Release(k.Context(), next); err != nil {
		k.Fatalf("release failed: %v", err)
	}
	k.refuse(id, fenced(zombie.Epoch, "still late"), selvage.Any(), selvage.ErrFenced)
}

func otherEpochsAreRefused(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	lease := k.acquire(l, id, owner("a"))
	for _, epoch := range []int64{lease.Epoch - 1, lease.Epoch + 1, 1 << 40, -1} {
		k.refuse(id, fenced(epoch, "late"), selvage.Any(), selvage.ErrFenced)
	}
	never := k.create(says("never leased"))
	k.refuse(never, fenced(1, "late"), selvage.Any(), selvage.ErrFenced)
	k.refuse(newID(), fenced(1, "late"), selvage.New(), selvage.ErrFenced)
}

func othersMayWrite(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	lease := k.acquire(l, id, owner("a"))
	k.append(id, says("a steer"), selvage.Any())
	k.append(id, update(selvage.ThreadUpdate{Title: ptr("title")}), selvage.Exact(2))
	k.refuse(id, fenced(lease.Epoch, "mine"), selvage.Exact(1), selvage.ErrConflict)
	k.append(id, fenced(lease.Epoch, "mine"), selvage.Exact(3))
}

func zombieLearnsItsReceipt(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	lease := k.brief(l, id, elsewhere("zombie"))
	set := fenced(lease.Epoch, "the last one before the pause")
	set.ID = "set-" + selvage.NewID()
	first := k.append(id, set, selvage.Exact(1))
	k.acquire(l, id, owner("next"))
	k.append(id, says("more"), selvage.Any())
	k.replay(id, set, selvage.Exact(1), first)
}

func renewalKeepsTheFence(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	lease := k.acquire(l, id, owner("a"))
	renewed, err := l.Renew(k.Context(), lease, minute)
	if err != nil {
		k.Fatalf("renew failed: %v", err)
	}
	k.append(id, fenced(lease.Epoch, "by the first lease"), selvage.Any())
	k.append(id, fenced(renewed.Epoch, "by the renewed one"), selvage.Any())
}
