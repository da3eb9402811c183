package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
)

func leasePromises() []promise {
	return []promise{
		{"EveryStoreIsALeaser", "ARCHITECTURE 3: Leaser comes first among the capabilities, and every store is one.", everyStoreIsALeaser},
		{"AcquireRaisesTheEpoch", "CONTRACT 10: a new holder raises the epoch.", acquireRaisesTheEpoch},
		{"HeldIsBusy", "Leaser.Acquire: a lease that somebody holds is a BusyError, which names who and until when.", heldIsBusy},
		{"ReleasedIsFree", "Leaser: a released lease is taken at once, and nobody's was ended.", releasedIsFree},
		{"ExpiredIsFree", "Leaser: a lease that has run out is taken over, and the new one says whose it ended.", expiredIsFree},
		{"DeadOwnerIsSucceededAtOnce", "ARCHITECTURE 3: an owner on this host whose process is dead is succeeded at once, any other after the lease.", deadOwnerIsSucceeded},
		{"RenewExtends", "Leaser.Renew: it extends the lease, also if it has run out and nobody took it; the epoch stays.", renewExtends},
		{"RenewAfterATakeOver", "Leaser.Renew: the error matches fenced if somebody took the lease.", renewAfterTakeOver},
		{"ReleaseOfALostLease", "Leaser.Release: releasing what is no longer held is no error, and takes nothing from who holds it now.", releaseOfALostLease},
		{"LeasesAreNoVersions", "CONTRACT 10: claims and renewals are not versions.", leasesAreNoVersions},
		{"AbsentThreadStaysAbsent", "CONTRACT 10: the lease of a thread that does not exist is invisible to every read.", absentThreadStaysAbsent},
		{"HeadShowsTheHolder", "Head: it shows the lease somebody holds now, without its token; whom it succeeded is for its holder to know.", headShowsTheHolder},
		{"OneWinner", "CONTRACT 10: of many who want a lease one gets it, and no epoch is given twice.", oneLeaseWinner},
		{"BadInput", "Leaser: what is no thread id, and a time to live that is none, is invalid.", badLeaseInput},
	}
}

const minute = time.Minute

// owner is somebody of this process.
func owner(name string) selvage.Owner { return process.Self(name) }

// elsewhere is somebody of a host that cannot be asked.
func elsewhere(name string) selvage.Owner {
	return selvage.Owner{Name: name, Host: "another host", PID: 1, Started: 1, Token: selvage.NewID()}
}

func (k *kit) leaser() selvage.Leaser {
	k.Helper()
	l, ok := selvage.As[selvage.Leaser](k.store)
	if !ok {
		k.Fatalf("a %T offers no Leaser through selvage.As; every store is one", k.store)
	}
	return l
}

func (k *kit) acquire(l selvage.Leaser, id selvage.ThreadID, o selvage.Owner) selvage.Lease {
	k.Helper()
	lease, err := l.Acquire(k.Context(), id, o, minute)
	if err != nil {
		k.Fatalf("acquire the lease for %q failed: %v", o.Name, err)
	}
	if lease.ThreadID != id || lease.Owner != o || lease.Token == "" {
		k.Errorf("%q acquired the lease %s; want its thread, its owner and a token", o.Name, encode(k, lease))
	}
	k.isStored("the end of a lease", lease.Until)
	return lease
}

// brief acquires a lease that ends almost at once, and waits until it has.
func (k *kit) brief(l selvage.Leaser, id selvage.ThreadID, o selvage.Owner) selvage.Lease {
	k.Helper()
	lease, err := l.Acquire(k.Context(), id, o, selvage.TimePrecision)
	if err != nil {
		k.Fatalf("acquire a brief lease for %q failed: %v", o.Name, err)
	}
	k.waitUntil(lease.Until)
	return lease
}

// waitUntil waits for a moment of the store's clock, which is this process's.
func (k *kit) waitUntil(at time.Time) {
	k.Helper()
	const tick = 2 * selvage.TimePrecision // the moment itself is over, too
	select {
	case <-time.After(time.Until(at) + tick):
	case <-k.Context().Done():
		k.Fatalf("gave up waiting for %v", at)
	}
}

// busy checks that somebody cannot have the lease, because of who holds it.
func (k *kit) busy(l selvage.Leaser, o selvage.Owner, held selvage.Lease) {
	k.Helper()
	_, err := l.Acquire(k.Context(), held.ThreadID, o, minute)
	k.class("acquire a lease that "+held.Owner.Name+" holds", err, selvage.ErrBusy)
	var busy *selvage.BusyError
	if !errors.As(err, &busy) {
		k.Fatalf("acquire failed with %v, a %T; want a *BusyError, which says whom to wait for", err, err)
	}
	if busy.Thread != held.ThreadID || busy.Owner != held.Owner || !busy.Until.Equal(held.Until) {
		k.Errorf("acquire failed with %+v; want thread %q, owner %+v, until %v", *busy, held.ThreadID, held.Owner, held.Until)
	}
}

// tick lets the store's clock move on, so that two times differ.
func (k *kit) tick() {
	k.Helper()
	k.waitUntil(time.Now())
}

func everyStoreIsALeaser(k *kit) {
	l := k.leaser()
	k.acquire(l, k.create(says("hello")), owner("a"))
}

func acquireRaisesTheEpoch(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	last := int64(0)
	tokens := make(map[string]bool)
	for range 5 {
		lease := k.acquire(l, id, owner("a"))
		if lease.Epoch <= last || tokens[lease.Token] {
			k.Errorf("the next lease is %s after epoch %d; want a higher epoch and a token never used", encode(k, lease), last)
		}
		last, tokens[lease.Token] = lease.Epoch, true
		if err := l.Release(k.Context(), lease); err != nil {
			k.Fatalf("release failed: %v", err)
		}
	}
	if left := time.Until(k.acquire(l, id, owner("a")).Until); left > minute || left < minute/2 {
		k.Errorf("a lease for %v ends in %v", minute, left)
	}
}

func heldIsBusy(k *kit) {
	l := k.leaser()
	for _, holder := range []selvage.Owner{owner("a"), elsewhere("b"), {Name: "nobody knows"}} {
		id := k.create(says("hello"))
		lease := k.acquire(l, id, holder)
		k.busy(l, owner("c"), lease)
		k.busy(l, holder, lease) // not even for itself: it has it
		k.busy(l, selvage.Owner{}, lease)
	}
}

func releasedIsFree(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	lease := k.acquire(l, id, elsewhere("a"))
	forged := lease
	forged.Token = "guessed"
	if err := l.Release(k.Context(), forged); err != nil {
		k.Errorf("release with another token failed: %v; want no error and no effect", err)
	}
	k.busy(l, owner("b"), lease)
	for range 2 {
		if err := l.Release(k.Context(), lease); err != nil {
			k.Fatalf("release failed: %v", err)
		}
	}
	if next := k.acquire(l, id, owner("b")); next.Took != nil {
		k.Errorf("a lease acquired after a release says that it ended the one of %+v; want nobody's", *next.Took)
	}
}

func leasesAreNoVersions(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	before := k.load(id)
	lease := k.acquire(l, id, owner("a"))
	lease, err := l.Renew(k.Context(), lease, minute)
	if err != nil {
		k.Fatalf("renew failed: %v", err)
	}
	held := k.load(id)
	held.Lease = nil
	k.equal("head under a lease, but for the lease", held, before)
	if err := l.Release(k.Context(), lease); err != nil {
		k.Fatalf("release failed: %v", err)
	}
	k.equal("head after a lease", k.load(id), before)
	if n := len(k.log(id)); n != 1 {
		k.Errorf("after a lease the log holds %d changes; want 1", n)
	}
	k.append(id, says("more"), selvage.Exact(1))
}

func absentThreadStaysAbsent(k *kit) {
	k = k.alone()
	l := k.leaser()
	id := newID()
	lease := k.acquire(l, id, owner("a"))
	k.unreadable(id, selvage.ErrNotFound)
	k.selects(selvage.ThreadQuery{})
	k.selects(selvage.ThreadQuery{Parent: selvage.Roots()})
	k.class("delete", k.store.Delete(k.Context(), id, selvage.DeleteCascade), selvage.ErrNotFound)
	k.refuse(id, says("hello"), selvage.Any(), selvage.ErrNotFound)
	k.refuse(id, says("hello"), selvage.Recreate(), selvage.ErrNotFound)
	k.busy(l, owner("b"), lease)

	set := says("hello")
	set.Fence = lease.Fence()
	if r := k.append(id, set, selvage.New()); r.Version != 1 || r.FirstSeq != 1 {
		k.Errorf("the first append to a leased thread answers version %d, first seq %d; want 1 and 1", r.Version, r.FirstSeq)
	}
	h := k.load(id)
	if h.Lease == nil || h.Lease.Epoch != lease.Epoch {
		k.Errorf("the new thread shows the lease %s; want the one of epoch %d, which was there before it", encode(k, h.Lease), lease.Epoch)
	}
	k.selects(selvage.ThreadQuery{}, id)
	k.verify(k.log(id))
}

func headShowsTheHolder(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	if h := k.load(id); h.Lease != nil {
		k.Errorf("a thread that was never leased shows the lease %s", encode(k, h.Lease))
	}
	k.brief(l, id, elsewhere("a"))
	if h := k.load(id); h.Lease != nil {
		k.Errorf("after its lease ran out the thread shows the lease %s; want none", encode(k, h.Lease))
	}
	lease := k.acquire(l, id, owner("b"))
	if lease.Took == nil {
		k.Error("the lease taken over does not say whose it ended")
	}
	shown := lease
	shown.Token, shown.Took = "", nil
	k.equal("lease of the head", k.load(id).Lease, shown)
	if err := l.Release(k.Context(), lease); err != nil {
		k.Fatalf("release failed: %v", err)
	}
	if h := k.load(id); h.Lease != nil {
		k.Errorf("after a release the thread shows the lease %s; want none", encode(k, h.Lease))
	}
}

func badLeaseInput(k *kit) {
	l := k.leaser()
	id := k.create(says("hello"))
	for _, ttl := range []time.Duration{0, -1, -time.Hour} {
		_, err := l.Acquire(k.Context(), id, owner("a"), ttl)
		k.class(fmt.Sprintf("acquire for %v", ttl), err, selvage.ErrInvalid)
	}
	lease := k.acquire(l, id, owner("a"))
	_, err := l.Renew(k.Context(), lease, 0)
	k.class("renew for no time", err, selvage.ErrInvalid)
	for name, bad := range badIDs() {
		_, err := l.Acquire(k.Context(), selvage.ThreadID(bad), owner("a"), minute)
		k.class("acquire with an id that has "+name, err, selvage.ErrInvalid)
	}
	_, err = l.Acquire(k.Context(), "", owner("a"), minute)
	k.class("acquire without an id", err, selvage.ErrInvalid)
}
