package budget

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// The sources of the patches of a budget.
const (
	SourceReserve = "budget:reserve"
	SourceRaise   = "budget:raise"
	SourceSettle  = "budget:settle"
	SourceRelease = "budget:release"
)

// Book is the budget of one run. It holds no state of its own: any number of
// processes may have one of the same run, and use it at once.
type Book struct {
	Store  selvage.Store
	Thread selvage.ThreadID // of the run
	Run    selvage.RunID
	// Fence, if not nil, is that of whoever leads the run: what is changed
	// after another took its thread over matches [selvage.ErrFenced].
	Fence *selvage.Fence
}

// Sheet returns the budget as it stands. A run that spawned nothing has one
// without children; a run that is not there matches [selvage.ErrNotFound].
func (b Book) Sheet(ctx context.Context) (Sheet, error) {
	head, err := b.load(ctx)
	if err != nil {
		return Sheet{}, err
	}
	run := head.OpenRun
	if run == nil || run.ID != b.Run {
		if run, err = find(ctx, b.Store, b.Run); err != nil {
			return Sheet{}, err
		}
	}
	_, sheet, err := b.sheet(&head, run)
	return sheet, err
}

func (b Book) sheet(head *selvage.Head, run *selvage.Run) (record, Sheet, error) {
	r, err := read(head.State, b.Run)
	if r.ThreadID != "" && r.ThreadID != b.Thread {
		r = record{} // a fork copied it
	}
	return r, Sheet{Max: BoundsOf(run.Bounds()), Own: Own(run), Children: r.Children}, err
}

// Reserve puts aside what a child may spend, before it begins, and counts it as
// spawned. Asking for more than is left is a [RefusedError]. Of what it does
// not ask for it is given what is left, if the parent is bounded in it, and
// never beyond atMost; if that is nothing it is refused too. The same child
// reserves once: repeated, it is told what it was given. A parent that is not
// open matches [selvage.ErrInvalid].
func (b Book) Reserve(ctx context.Context, child selvage.ChildRun, ask, atMost Bounds) (entry Entry, err error) {
	err = b.change(ctx, SourceReserve, func(head *selvage.Head) (state.Patch, error) {
		run := head.OpenRun
		if run == nil || run.ID != b.Run {
			return nil, &selvage.InvalidError{Field: "run", Reason: fmt.Sprintf("run %q of thread %q is not open, so nothing can be reserved from its budget", b.Run, b.Thread)}
		}
		r, sheet, err := b.sheet(head, run)
		if err != nil {
			return nil, err
		}
		var known bool
		if entry, known = r.Children[child.RunID]; known && entry.Status != Released {
			return nil, nil
		}
		if limit := run.Bounds().Spawns; limit != nil && sheet.Spawns() >= *limit {
			return nil, &RefusedError{Run: b.Run, Code: selvage.LimitSpawns, Current: selvage.Count(int64(sheet.Spawns())), Max: selvage.Count(int64(*limit))}
		}
		given, err := sheet.grant(b.Run, ask, atMost, Amount{})
		if err != nil {
			return nil, err
		}
		entry = Entry{ThreadID: child.ThreadID, Status: Active, Reserved: given}
		if r.Children == nil {
			r = record{ThreadID: b.Thread, Children: map[selvage.RunID]Entry{child.RunID: entry}}
			if run.Spec != nil {
				r.Parent = run.Spec.Budget
			}
			return set(book(b.Run), r)
		}
		return b.put(child.RunID, entry)
	})
	return entry, err
}

// Raise changes what an open child may spend, where to is not nil. It is
// refused like [Book.Reserve].
func (b Book) Raise(ctx context.Context, child selvage.RunID, to Bounds) (entry Entry, err error) {
	err = b.change(ctx, SourceRaise, func(head *selvage.Head) (state.Patch, error) {
		run := head.OpenRun
		if run == nil || run.ID != b.Run {
			return nil, &selvage.InvalidError{Field: "run", Reason: fmt.Sprintf("run %q of thread %q is not open, so nothing can be reserved from its budget", b.Run, b.Thread)}
		}
		r, sheet, err := b.sheet(head, run)
		if err != nil {
			return nil, err
		}
		var known bool
		if entry, known = r.Children[child]; !known || entry.Status != Active {
			return nil, fmt.Errorf("run %q holds no reservation of the budget of run %q: %w", child, b.Run, selvage.ErrNotFound)
		}
		ask := entry.Reserved
		if to.Spend != nil {
			ask.Spend = to.Spend
		}
		if to.Tokens != nil {
			ask.Tokens = to.Tokens
		}
		given, err := sheet.grant(b.Run, ask, Bounds{}, entry.Reserved.amount())
		if err != nil {
			return nil, err
		}
		if given.amount() == entry.Reserved.amount() {
			return nil, nil
		}
		entry.Reserved = given
		return b.put(child, entry)
	})
	return entry, err
}

// Settle books what a child has spent that ended, its own children included,
// and frees the rest of its reservation. What it spent beyond that is cut off
// and noted. Repeated, it changes nothing and returns what was booked. One that
// spent something although its reservation had been released is booked too. A
// child that reserved nothing here matches [selvage.ErrNotFound].
func (b Book) Settle(ctx context.Context, child selvage.RunID, actual Amount) (Entry, error) {
	return b.closeEntry(ctx, SourceSettle, child, func(e *Entry) bool {
		if e.Status == Settled || e.Status == Released && actual == (Amount{}) {
			return false
		}
		e.Status = Settled
		e.Spent, e.Over = e.Reserved.clamp(actual)
		return true
	})
}

// Release frees the reservation of a child that never began. It may reserve
// again. Otherwise it is [Book.Settle].
func (b Book) Release(ctx context.Context, child selvage.RunID) (Entry, error) {
	return b.closeEntry(ctx, SourceRelease, child, func(e *Entry) bool {
		held := e.Status == Active
		if held {
			e.Status = Released
		}
		return held
	})
}

// closeEntry ends a reservation, unless end reports that it had ended before.
func (b Book) closeEntry(ctx context.Context, source string, child selvage.RunID, end func(*Entry) bool) (entry Entry, err error) {
	err = b.change(ctx, source, func(head *selvage.Head) (state.Patch, error) {
		r, err := read(head.State, b.Run)
		if err != nil {
			return nil, err
		}
		var known bool
		if entry, known = r.Children[child]; !known {
			return nil, fmt.Errorf("run %q holds no reservation of the budget of run %q: %w", child, b.Run, selvage.ErrNotFound)
		}
		if !end(&entry) {
			return nil, nil
		}
		return b.put(child, entry)
	})
	return entry, err
}

func (b Book) put(child selvage.RunID, e Entry) (state.Patch, error) {
	return set(book(b.Run).Join("children", string(child)), e)
}

func set(at state.Pointer, v any) (state.Patch, error) {
	value, err := state.ValueOf(v)
	if err != nil {
		return nil, err
	}
	return state.Patch{state.Set(at, value)}, nil
}

// How a change insists while others change the thread, or the store does not
// say whether it did.
const (
	firstWait = time.Millisecond
	lastWait  = 250 * time.Millisecond
	resends   = 8
)

// change appends what decide makes of the thread, at the version that it was
// shown. It begins again if somebody else was faster, until ctx ends. No patch
// changes nothing.
func (b Book) change(ctx context.Context, source string, decide func(*selvage.Head) (state.Patch, error)) error {
	wait := &backoff.ExponentialBackOff{InitialInterval: firstWait, MaxInterval: lastWait, Multiplier: 1.5, RandomizationFactor: 0.9}
	wait.Reset()
	for {
		head, err := b.load(ctx)
		if err != nil {
			return err
		}
		patch, err := decide(&head)
		if err != nil || patch == nil {
			return err
		}
		change := selvage.ChangeSet{ID: selvage.NewID(), RunID: b.Run, Reason: selvage.ReasonStateEdited, Fence: b.Fence,
			Patches: []selvage.StatePatch{{Source: source, Ops: patch}}}
		err = b.send(ctx, &change, selvage.Exact(head.Thread.Version))
		if err == nil {
			return nil
		}
		if !errors.Is(err, selvage.ErrConflict) {
			return fmt.Errorf("%s for run %q: %w", source, b.Run, err)
		}
		if err := sleep(ctx, wait.NextBackOff()); err != nil {
			return err
		}
	}
}

// send appends a set, again under the same id while the outcome is unknown.
func (b Book) send(ctx context.Context, change *selvage.ChangeSet, at selvage.Precondition) error {
	wait := &backoff.ExponentialBackOff{InitialInterval: 20 * time.Millisecond, MaxInterval: time.Second, Multiplier: 2, RandomizationFactor: 0.5}
	wait.Reset()
	for tries := 0; ; tries++ {
		_, err := b.Store.Append(ctx, b.Thread, *change, at)
		if err == nil || tries == resends || ctx.Err() != nil || !errors.Is(err, selvage.ErrUnknownOutcome) && !errors.Is(err, selvage.ErrUnavailable) {
			return err
		}
		if sleep(ctx, wait.NextBackOff()) != nil {
			return err
		}
	}
}

func (b Book) load(ctx context.Context) (selvage.Head, error) {
	none := 0
	return b.Store.Load(ctx, b.Thread, selvage.LoadOptions{Messages: &none})
}

// find returns the record of a run, or an error matching [selvage.ErrNotFound].
func find(ctx context.Context, store selvage.Store, id selvage.RunID) (*selvage.Run, error) {
	one := 1
	page, err := store.Runs(ctx, selvage.RunQuery{ID: id, Limit: &one})
	if err != nil {
		return nil, err
	}
	if len(page.Items) == 0 {
		return nil, fmt.Errorf("run %q: %w", id, selvage.ErrNotFound)
	}
	return &page.Items[0], nil
}

// sleep returns after d, or with the reason that ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
