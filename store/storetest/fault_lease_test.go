package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
)

type acquireFunc = func(context.Context, selvage.ThreadID, selvage.Owner, time.Duration) (selvage.Lease, error)

// leases remembers the lease of each thread, token and all.
type leases struct {
	mu   sync.Mutex
	held map[selvage.ThreadID]selvage.Lease
}

func (l *leases) swap(id selvage.ThreadID, lease selvage.Lease) (before selvage.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[selvage.ThreadID]selvage.Lease)
	}
	before = l.held[id]
	if lease.Token != "" {
		l.held[id] = lease
	}
	return before
}

func onAcquire(wrap func(f *faulty, next acquireFunc) acquireFunc) func(*faulty) {
	return func(f *faulty) { f.acquire = wrap(f, f.acquire) }
}

// onLease plants a fault in what Acquire answers.
func onLease(change func(*selvage.Lease)) func(*faulty) {
	return onAcquire(func(_ *faulty, next acquireFunc) acquireFunc {
		return func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
			l, err := next(ctx, id, o, ttl)
			if err == nil {
				change(&l)
			}
			return l, err
		}
	})
}

func leaseFaults() []fault {
	return []fault{
		{"gives the lease to anybody", onAcquire(toAnybody), []string{"Lease/HeldIsBusy", "Lease/OneWinner", "Lease/DeadOwnerIsSucceededAtOnce", "Lease/ReleasedIsFree", "Sequences/Seed1"}},
		{"does not raise the epoch", onLease(func(l *selvage.Lease) { l.Epoch = 1 }), []string{"Lease/AcquireRaisesTheEpoch", "Lease/ExpiredIsFree", "Fence/ZombieIsRefused"}},
		{"never lets a lease run out", onAcquire(neverOut), []string{"Lease/ExpiredIsFree", "Lease/RenewAfterATakeOver", "Fence/ZombieIsRefused"}},
		{"waits for the dead", onAcquire(waitForTheDead), []string{"Lease/DeadOwnerIsSucceededAtOnce"}},
		{"does not say whose lease it ended", onLease(func(l *selvage.Lease) { l.Took = nil }), []string{"Lease/ExpiredIsFree", "Lease/DeadOwnerIsSucceededAtOnce"}},
		{"says that a released lease was ended", onLease(func(l *selvage.Lease) { l.Took = &selvage.Owner{Name: "somebody"} }), []string{"Lease/ReleasedIsFree", "Delete/LeaseIsRevoked"}},
		{"keeps times finer than others", onLease(func(l *selvage.Lease) { l.Until = l.Until.Add(time.Microsecond) }), []string{"Lease/EveryStoreIsALeaser"}},
		{"shows tokens", showTokens, []string{"Lease/HeadShowsTheHolder"}},
		{"lets anybody release", anybodyReleases, []string{"Lease/ReleaseOfALostLease", "Lease/ReleasedIsFree"}},
		{"fails to release what is lost", func(f *faulty) {
			f.release = func(ctx context.Context, l selvage.Lease) error {
				if _, err := f.sound.Renew(ctx, l, time.Minute); err != nil {
					return err
				}
				return f.sound.Release(ctx, l)
			}
		}, []string{"Lease/ReleaseOfALostLease", "Lease/ReleasedIsFree"}},
		{"makes leases versions", leaseVersions, []string{"Lease/LeasesAreNoVersions"}},
		{"creates what it leases", createLeased, []string{"Lease/AbsentThreadStaysAbsent", "Hierarchy/ParentMustExist"}},
		{"renews what was taken over", renewAnything, []string{"Lease/RenewAfterATakeOver", "Delete/LeaseIsRevoked"}},
		{"does not renew what has run out", func(f *faulty) {
			f.renew = func(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
				if time.Now().After(l.Until) {
					return selvage.Lease{}, &selvage.FencedError{Thread: l.ThreadID, Held: l.Epoch, Actual: l.Epoch}
				}
				return f.sound.Renew(ctx, l, ttl)
			}
		}, []string{"Lease/RenewExtends"}},
		{"raises the epoch to renew", func(f *faulty) {
			f.renew = func(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
				if err := f.sound.Release(ctx, l); err != nil {
					return selvage.Lease{}, err
				}
				return f.sound.Acquire(ctx, l.ThreadID, l.Owner, ttl)
			}
		}, []string{"Lease/RenewExtends", "Fence/RenewalKeepsTheFence", "Lease/RenewAfterATakeOver"}},
		{"leases for ever", func(f *faulty) {
			f.acquire = func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
				return f.sound.Acquire(ctx, id, o, max(ttl, time.Hour))
			}
		}, []string{"Lease/BadInput", "Lease/AcquireRaisesTheEpoch"}},
		{"lets only the holder write", onlyTheHolder, []string{"Fence/OthersMayWrite"}},
		{"fences replays", fenceReplays, []string{"Fence/ZombieLearnsItsReceipt", "Order/IDBeforeTheFence", "Idempotency/ContentIsWhatWasSubmitted"}},
		{"shares its leases", sharedLeases, []string{"Aliasing/LeasesAreCopied"}},
	}
}

func toAnybody(f *faulty, next acquireFunc) acquireFunc {
	var held leases
	return func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
		l, err := next(ctx, id, o, ttl)
		for tries := 0; errors.Is(err, selvage.ErrBusy) && tries < 100; tries++ {
			if err = f.sound.Release(ctx, held.swap(id, selvage.Lease{})); err == nil {
				l, err = next(ctx, id, o, ttl)
			}
		}
		held.swap(id, l)
		return l, err
	}
}

func neverOut(f *faulty, next acquireFunc) acquireFunc {
	return func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
		l, err := next(ctx, id, o, ttl)
		if err == nil && l.Took != nil {
			return selvage.Lease{}, &selvage.BusyError{Thread: id, Owner: *l.Took, Until: l.Until}
		}
		return l, err
	}
}

func waitForTheDead(f *faulty, next acquireFunc) acquireFunc {
	return func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
		asked := o
		o.Started = 0 // nobody can tell any more
		l, err := next(ctx, id, o, ttl)
		if err == nil {
			l.Owner = asked
		}
		return l, err
	}
}

func showTokens(f *faulty) {
	var held leases
	f.acquire = func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
		l, err := f.sound.Acquire(ctx, id, o, ttl)
		held.swap(id, l)
		return l, err
	}
	onHead(func(h *selvage.Head) {
		if h.Lease != nil {
			h.Lease.Token = held.swap(h.Thread.ID, selvage.Lease{}).Token
		}
	})(f)
}

func anybodyReleases(f *faulty) {
	var held leases
	f.acquire = func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
		l, err := f.sound.Acquire(ctx, id, o, ttl)
		held.swap(id, l)
		return l, err
	}
	f.release = func(ctx context.Context, l selvage.Lease) error {
		return f.sound.Release(ctx, held.swap(l.ThreadID, selvage.Lease{}))
	}
}

func leaseVersions(f *faulty) {
	f.acquire = func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
		l, err := f.sound.Acquire(ctx, id, o, ttl)
		if err == nil {
			_, err = f.sound.Append(ctx, id, selvage.ChangeSet{}, selvage.Any())
		}
		return l, err
	}
}

func createLeased(f *faulty) {
	f.acquire = func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
		l, err := f.sound.Acquire(ctx, id, o, ttl)
		if err == nil {
			_, _ = f.sound.Append(ctx, id, selvage.ChangeSet{}, selvage.New()) // it may exist
		}
		return l, err
	}
}

func renewAnything(f *faulty) {
	f.renew = func(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
		renewed, err := f.sound.Renew(ctx, l, ttl)
		if errors.Is(err, selvage.ErrFenced) {
			l.Until = time.Now().Add(ttl).UTC().Truncate(selvage.TimePrecision)
			return l, nil
		}
		return renewed, err
	}
}

func onlyTheHolder(f *faulty) {
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		h, err := f.sound.Load(ctx, id, selvage.LoadOptions{})
		if err == nil && h.Lease != nil && set.Fence == nil {
			return selvage.Receipt{}, &selvage.BusyError{Thread: id, Owner: h.Lease.Owner, Until: h.Lease.Until}
		}
		return f.sound.Append(ctx, id, set, pre)
	}
}

func fenceReplays(f *faulty) {
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := f.sound.Append(ctx, id, set, pre)
		if err == nil && r.Replayed && set.Fence != nil {
			return selvage.Receipt{}, &selvage.FencedError{Thread: id, Held: set.Fence.Epoch}
		}
		return r, err
	}
}

func sharedLeases(f *faulty) {
	var shown *selvage.Lease
	onHead(func(h *selvage.Head) {
		if shown == nil {
			shown = h.Lease
		}
		h.Lease = shown
	})(f)
}
