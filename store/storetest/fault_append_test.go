package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/selvagehq/selvage"
)

type appendFunc = func(context.Context, selvage.ThreadID, selvage.ChangeSet, selvage.Precondition) (selvage.Receipt, error)

// onAppend plants a fault in Append; it is given the sound one.
func onAppend(wrap func(next appendFunc) appendFunc) func(*faulty) {
	return func(f *faulty) { f.append = wrap(f.append) }
}

// insteadOf appends something else when an append was refused as of a class.
func insteadOf(class error, retry func(*selvage.ChangeSet, *selvage.Precondition) bool) func(*faulty) {
	return onAppend(func(next appendFunc) appendFunc {
		return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
			r, err := next(ctx, id, set, pre)
			if errors.Is(err, class) && retry(&set, &pre) {
				return next(ctx, id, set, pre)
			}
			return r, err
		}
	})
}

func appendFaults() []fault {
	toAny := func(_ *selvage.ChangeSet, pre *selvage.Precondition) bool { *pre = selvage.Any(); return true }
	return []fault{
		{"ignores the version", insteadOf(selvage.ErrConflict, toAny),
			[]string{"Preconditions/ExactNeedsThatVersion", "Concurrency/OneWinnerPerVersion", "Order/PreconditionBeforeShape", "Sequences/Seed1"}},
		{"ignores the fence", onAppend(withoutFence),
			[]string{"Fence/ZombieIsRefused", "Fence/OtherEpochsAreRefused", "Order/FenceBeforeThePrecondition", "Delete/LeaseIsRevoked", "Sequences/Seed1"}},
		{"keeps duplicates", onAppend(keepDuplicates),
			[]string{"Dedupe/KnownMessageIsDropped", "Dedupe/TwiceInOneSet", "Concurrency/DedupeUnderConcurrency"}},
		{"knows only the last messages", func(f *faulty) { f.append = knowsTheLast(f) }, []string{"Dedupe/FarBack"}},
		{"forgets change-set ids", onAppend(forgetIDs),
			[]string{"Idempotency/SameSetAnswersFirstReceipt", "Idempotency/AppliedOnce", "Concurrency/NineHundredCopies", "Close/CancelledAppendIsResolved"}},
		{"does not compare the content of a replay", onAppend(anyContent), []string{"Idempotency/OtherContentIsRefused", "Idempotency/DuplicatesAreContent"}},
		{"checks the version before the id", func(f *faulty) { f.append = versionFirst(f) },
			[]string{"Idempotency/ReplayWithStaleVersion", "Idempotency/SameSetAnswersFirstReceipt"}},
		{"checks for the id before it locks", onAppend(checkThenAct), []string{"Concurrency/NineHundredCopies"}},
		{"answers a replay with the head", func(f *faulty) { f.append = replayHead(f) }, []string{"Idempotency/ReceiptsOutlastLaterAppends"}},
		{"recreates by New", insteadOf(selvage.ErrAlreadyExists, func(_ *selvage.ChangeSet, pre *selvage.Precondition) bool {
			*pre = selvage.Recreate()
			return true
		}), []string{"Preconditions/NewNeedsAbsence", "Order/TombstoneBeforeTheFence"}},
		{"recreates by Any", insteadOf(selvage.ErrGone, func(_ *selvage.ChangeSet, pre *selvage.Precondition) bool {
			*pre = selvage.Recreate()
			return true
		}), []string{"Preconditions/TombstoneIsGone", "Delete/TombstoneClosesTheChain", "Concurrency/AppendOrDelete", "Delete/CascadeTakesTheSubtree"}},
		{"creates by Any", insteadOf(selvage.ErrNotFound, func(_ *selvage.ChangeSet, pre *selvage.Precondition) bool {
			*pre = selvage.New()
			return true
		}), []string{"Preconditions/MissingThreadIsNotFound", "Preconditions/RecreateNeedsATombstone", "Lease/AbsentThreadStaysAbsent"}},
		{"does not retry Any", func(f *faulty) { f.append = anyOnce(f) }, []string{"Concurrency/AnyNeverLoses"}},
		{"acknowledges before it writes", onAppend(acknowledgeFirst), []string{"Concurrency/AnyNeverLoses", "Append/AddsOneVersion"}},
		{"leaves a mark when it refuses", insteadOf(selvage.ErrInvalid, func(set *selvage.ChangeSet, _ *selvage.Precondition) bool {
			*set = selvage.ChangeSet{Messages: set.Messages[:min(1, len(set.Messages))]}
			return true
		}), []string{"Append/AllOrNothing", "State/WhatDoesNotApplyIsRefused", "Shape/BadMessagesAreRefused"}},
		{"skips empty sets", func(f *faulty) { f.append = skipEmpty(f) }, []string{"Append/EmptySetMakesAVersion", "Chain/EveryChangeVerifies"}},
		{"stamps its local time", onAppend(localTime), []string{"Append/ReceiptTellsWhatWasMade"}},
		{"tells a conflict without its versions", onAppend(plainConflict), []string{"Preconditions/ExactNeedsThatVersion", "Concurrency/OneWinnerPerVersion"}},
		{"gives errors two classes", onAppend(twoClasses), []string{"Preconditions/ExactNeedsThatVersion"}},
		{"shares its receipts", onAppend(sharedReceipts), []string{"Aliasing/ReceiptsAreCopied"}},
		{"serialises no parents", func(f *faulty) { f.append = racyParents(f) }, []string{"Hierarchy/NoCyclesUnderConcurrency"}},
		{"silently drops what it does not offer", insteadOf(selvage.ErrUnsupported, func(set *selvage.ChangeSet, _ *selvage.Precondition) bool {
			set.Rewind, set.Outbox, set.Dispatches = nil, nil, nil
			return true
		}), []string{"Shape/WhatIsNotOfferedIsSaid"}},
	}
}

func withoutFence(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		set.Fence = nil
		return next(ctx, id, set, pre)
	}
}

func keepDuplicates(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		set.Messages = slices.Clone(set.Messages)
		for i := range set.Messages {
			if set.Messages[i].ID != "" {
				set.Messages[i].ID = selvage.NewID()
			}
		}
		return next(ctx, id, set, pre)
	}
}

// knowsTheLast drops only what is a duplicate of one of the last messages.
func knowsTheLast(f *faulty) appendFunc {
	next := f.append
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		known := make(map[string]bool)
		if h, err := f.sound.Load(ctx, id, selvage.LoadOptions{}); err == nil {
			for _, m := range h.Messages {
				known[m.ID] = true
			}
		}
		set.Messages = slices.Clone(set.Messages)
		for i := range set.Messages {
			if !known[set.Messages[i].ID] {
				set.Messages[i].ID = ""
			}
		}
		return next(ctx, id, set, pre)
	}
}

func forgetIDs(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		given := set.ID
		set.ID = ""
		r, err := next(ctx, id, set, pre)
		if given != "" {
			r.ChangeID = given
		}
		return r, err
	}
}

// receipts are those of one thread by change-set id.
type receipts struct {
	mu    sync.Mutex
	known map[string]selvage.Receipt
}

func (r *receipts) get(id selvage.ThreadID, set string) (selvage.Receipt, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	receipt, known := r.known[string(id)+"/"+set]
	receipt.Replayed = true
	return receipt, known && set != ""
}

func (r *receipts) put(id selvage.ThreadID, set string, receipt selvage.Receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = make(map[string]selvage.Receipt)
	}
	r.known[string(id)+"/"+set] = receipt
}

func anyContent(next appendFunc) appendFunc {
	var seen receipts
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if r, known := seen.get(id, set.ID); known {
			return r, nil
		}
		r, err := next(ctx, id, set, pre)
		if err == nil {
			seen.put(id, set.ID, r)
		}
		return r, err
	}
}

func versionFirst(f *faulty) appendFunc {
	next := f.append
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if want, exact := pre.Version(); exact && want > 0 {
			if h, err := f.sound.Load(ctx, id, selvage.LoadOptions{}); err == nil && h.Thread.Version != want {
				return selvage.Receipt{}, &selvage.ConflictError{Thread: id, Expected: want, Actual: h.Thread.Version}
			}
		}
		return next(ctx, id, set, pre)
	}
}

func checkThenAct(next appendFunc) appendFunc {
	var seen receipts
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, _ selvage.Precondition) (selvage.Receipt, error) {
		given := set.ID
		if r, known := seen.get(id, given); known {
			return r, nil
		}
		set.ID = ""
		r, err := next(ctx, id, set, selvage.Any())
		if err == nil {
			r.ChangeID = given
			seen.put(id, given, r)
		}
		return r, err
	}
}

func replayHead(f *faulty) appendFunc {
	next := f.append
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := next(ctx, id, set, pre)
		if err == nil && r.Replayed {
			if h, err := f.sound.Load(ctx, id, selvage.LoadOptions{}); err == nil {
				r.Version, r.Hash, r.At = h.Thread.Version, h.Hash, h.Thread.UpdatedAt
			}
		}
		return r, err
	}
}

func anyOnce(f *faulty) appendFunc {
	next := f.append
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if pre.IsAny() {
			if h, err := f.sound.Load(ctx, id, selvage.LoadOptions{}); err == nil {
				pre = selvage.Exact(h.Thread.Version)
				runtime.Gosched() // somebody else may come in between
			}
		}
		return next(ctx, id, set, pre)
	}
}

func acknowledgeFirst(next appendFunc) appendFunc {
	var n atomic.Int64
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if pre.IsAny() && n.Add(1)%7 == 0 {
			return selvage.Receipt{ChangeID: set.ID, Version: 99, FirstSeq: 99, Added: len(set.Messages), At: time.Now().UTC()}, nil
		}
		return next(ctx, id, set, pre)
	}
}

func skipEmpty(f *faulty) appendFunc {
	next := f.append
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		h, err := f.sound.Load(ctx, id, selvage.LoadOptions{})
		if err == nil && selvage.EventCount(&set, len(set.Messages)) == 0 {
			return selvage.Receipt{ChangeID: set.ID, Version: h.Thread.Version, Hash: h.Hash, FirstSeq: h.NextSeq}, nil
		}
		return next(ctx, id, set, pre)
	}
}

func localTime(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := next(ctx, id, set, pre)
		r.At = r.At.In(time.FixedZone("here", 3600)).Add(time.Microsecond)
		return r, err
	}
}

func plainConflict(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := next(ctx, id, set, pre)
		if errors.Is(err, selvage.ErrConflict) {
			err = selvage.ErrConflict
		}
		return r, err
	}
}

func twoClasses(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := next(ctx, id, set, pre)
		if err != nil {
			err = fmt.Errorf("%w: %w", selvage.ErrUnavailable, err)
		}
		return r, err
	}
}

func sharedReceipts(next appendFunc) appendFunc {
	var seen receipts
	return anyContentOf(&seen, next)
}

// anyContentOf answers the very receipt of the first time, slices and all.
func anyContentOf(seen *receipts, next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := next(ctx, id, set, pre)
		if first, known := seen.get(id, set.ID); known && err == nil && r.Replayed {
			return first, nil
		}
		if err == nil {
			seen.put(id, set.ID, r)
		}
		return r, err
	}
}

// racyParents checks for cycles before it writes, and not when it does.
func racyParents(f *faulty) appendFunc {
	next := f.append
	var mu sync.Mutex
	parents := make(map[selvage.ThreadID]selvage.ThreadID) // as readers see them
	f.load = func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
		h, err := f.sound.Load(ctx, id, opts)
		mu.Lock()
		defer mu.Unlock()
		if parent, known := parents[id]; known {
			h.Thread.ParentID = parent
		}
		return h, err
	}
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if set.Thread == nil || set.Thread.ParentID == nil {
			return next(ctx, id, set, pre)
		}
		parent := *set.Thread.ParentID
		set.Thread = &selvage.ThreadUpdate{}
		r, err := next(ctx, id, set, pre)
		mu.Lock()
		defer mu.Unlock()
		parents[id] = parent
		return r, err
	}
}
