package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
)

// ghost is somebody of a process of this host that is certainly dead: its
// process id belongs to another one now. It reports false where this host
// cannot tell.
func ghost(name string) (selvage.Owner, bool) {
	o := process.Self(name)
	o.Started--
	return o, process.Dead(o)
}

func expiredIsFree(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	first := k.brief(l, id, elsewhere("a"))
	second := k.acquire(l, id, owner("b"))
	if second.Took == nil || *second.Took != first.Owner || second.Epoch <= first.Epoch {
		k.Errorf("the lease taken over is %s; want it to name %+v, and an epoch above %d", encode(k, second), first.Owner, first.Epoch)
	}
	k.busy(l, elsewhere("a"), second)
}

func deadOwnerIsSucceeded(k *kit) {
	l := k.leaser()
	dead, known := ghost("dead")
	if !known {
		// Nobody can be known to be dead here, so this host has no such case.
		dead = elsewhere("dead")
	}
	id := k.create(says("hello"))
	first := k.acquire(l, id, dead)
	if !known {
		k.busy(l, owner("b"), first)
		return
	}
	second := k.acquire(l, id, owner("b"))
	if second.Took == nil || *second.Took != dead || second.Epoch <= first.Epoch {
		k.Errorf("the lease of a dead owner was taken over as %s; want it to name %+v, and an epoch above %d", encode(k, second), dead, first.Epoch)
	}
	k.busy(l, dead, second)
	for name, alive := range map[string]selvage.Owner{"another host": elsewhere("c"), "a living process": owner("d")} {
		id := k.create(says("hello"))
		k.Logf("the owner is of %s", name)
		k.busy(l, owner("e"), k.acquire(l, id, alive))
	}
}

func renewExtends(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	lease := k.brief(l, id, elsewhere("a")) // has run out, and nobody took it
	renewed, err := l.Renew(k.Context(), lease, minute)
	if err != nil {
		k.Fatalf("renew a lease that has run out and nobody took failed: %v", err)
	}
	if renewed.Epoch != lease.Epoch || renewed.Token != lease.Token || renewed.Owner != lease.Owner || renewed.ThreadID != id {
		k.Errorf("lease %s was renewed as %s; want the same with a later end", encode(k, lease), encode(k, renewed))
	}
	if left := time.Until(renewed.Until); left > minute || left < minute/2 {
		k.Errorf("a lease renewed for %v ends in %v", minute, left)
	}
	k.isStored("the end of a renewed lease", renewed.Until)
	k.busy(l, owner("b"), renewed)
	if again, err := l.Renew(k.Context(), lease, minute); err != nil || again.Epoch != lease.Epoch {
		k.Errorf("renewing by the lease as it was first answers %+v, %v; want it renewed", again, err)
	}
}

func renewAfterTakeOver(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	lost := k.brief(l, id, elsewhere("a"))
	taken := k.acquire(l, id, owner("b"))
	_, err := l.Renew(k.Context(), lost, minute)
	k.class("renew a lease that was taken over", err, selvage.ErrFenced)
	var fenced *selvage.FencedError
	if !errors.As(err, &fenced) {
		k.Fatalf("renew failed with %v, a %T; want a *FencedError", err, err)
	}
	if fenced.Thread != id || fenced.Held != lost.Epoch || fenced.Actual != taken.Epoch {
		k.Errorf("renew failed with %+v; want thread %q, held %d, actual %d", *fenced, id, lost.Epoch, taken.Epoch)
	}
	forged := taken
	forged.Token = "guessed"
	_, err = l.Renew(k.Context(), forged, minute)
	k.class("renew with a token that is not the lease's", err, selvage.ErrFenced)
	never := selvage.Lease{ThreadID: newID(), Epoch: 1, Token: "never given"}
	_, err = l.Renew(k.Context(), never, minute)
	k.class("renew a lease that was never given", err, selvage.ErrFenced)
	k.busy(l, owner("c"), taken)
}

func releaseOfALostLease(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	lost := k.brief(l, id, elsewhere("a"))
	taken := k.acquire(l, id, owner("b"))
	never := selvage.Lease{ThreadID: newID(), Epoch: 1, Token: "never given"}
	for _, lease := range []selvage.Lease{lost, never} {
		if err := l.Release(k.Context(), lease); err != nil {
			k.Errorf("release of a lease that is not held failed: %v; want no error", err)
		}
	}
	k.busy(l, owner("c"), taken)
}

func oneLeaseWinner(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	const n = 16
	epochs := make(map[int64]bool)
	for round := range 5 {
		var wg sync.WaitGroup
		leases, errs := make([]selvage.Lease, n), make([]error, n)
		for i := range n {
			wg.Go(func() { leases[i], errs[i] = l.Acquire(k.Context(), id, owner(fmt.Sprint(i)), minute) })
		}
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err != nil:
				k.class("acquire", err, selvage.ErrBusy)
			case winner >= 0:
				k.Fatalf("round %d: owners %d and %d both got the lease", round, winner, i)
			default:
				winner = i
			}
		}
		if winner < 0 {
			k.Fatalf("round %d: none of %d owners got the lease", round, n)
		}
		if epochs[leases[winner].Epoch] {
			k.Errorf("round %d: epoch %d was given before", round, leases[winner].Epoch)
		}
		epochs[leases[winner].Epoch] = true
		if err := l.Release(k.Context(), leases[winner]); err != nil {
			k.Fatalf("release failed: %v", err)
		}
	}
}
