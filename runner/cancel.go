package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
)

// CancelStatus is what became of a request to cancel a run.
type CancelStatus string

// The statuses.
const (
	CancelDone      CancelStatus = "cancelled" // the run is done
	CancelRequested CancelStatus = "requested" // it ends where it is led, within seconds
	CancelRepeated  CancelStatus = "repeated"  // it was requested before, and nothing was changed
)

// Cancelled is the answer to a request to cancel a run.
type Cancelled struct {
	Status   CancelStatus
	ThreadID selvage.ThreadID
	RunID    selvage.RunID
	// Owner is who leads the run and has to end it; nil if it is done.
	Owner *selvage.Owner
}

// cancelLease is how long ending a run that nobody leads may take.
const cancelLease = 30 * time.Second

// Cancel ends an open run as cancelled, in any process and without model or
// tools. A run that waits, or whose process is dead, is done when Cancel
// returns. One that is led ends where it is: at its next checkpoint, or within
// seconds if a model or a tool is at work. Cancelling a run again, or one that
// was cancelled, changes nothing. The error is a [DoneError] if the run ended
// in another way, and matches [selvage.ErrNotFound] if there is none.
func Cancel(ctx context.Context, store selvage.Store, id selvage.RunID, reason string) (Cancelled, error) {
	reason = strings.ToValidUTF8(reason, "\uFFFD")
	if len(reason) > maxRequestBytes {
		return Cancelled{}, fmt.Errorf("a reason of %d bytes exceeds %d: %w", len(reason), maxRequestBytes, selvage.ErrTooLarge)
	}
	o, err := find(ctx, store, id)
	if err != nil {
		return Cancelled{}, err
	}
	answer := Cancelled{Status: CancelDone, ThreadID: o.thread, RunID: id}
	owner, err := o.cancel(ctx, reason, &answer)
	var done *DoneError
	switch {
	case errors.As(err, &done) && done.Outcome.Kind == selvage.OutcomeCancelled && answer.Status == CancelDone:
		answer.Status = CancelRepeated
	case err != nil:
		return Cancelled{}, fmt.Errorf("cancel run %s: %w", id, err)
	}
	if answer.Owner = owner; owner == nil {
		aftermath(ctx, store, id, o.log)
	}
	return answer, nil
}

// cancel ends a run if nobody leads it, and else asks whoever does.
func (o *outsider) cancel(ctx context.Context, reason string, answer *Cancelled) (*selvage.Owner, error) {
	if o.info.Status.Open() {
		release, owner, err := o.claim(ctx)
		if err != nil {
			return nil, err
		}
		if owner != nil {
			return owner, o.requestCancel(ctx, reason, answer)
		}
		defer release()
	}
	return nil, o.amend(ctx, func(ctx context.Context) (*selvage.ChangeSet, error) {
		return o.closing(ctx, &CancelledError{Reason: reason})
	})
}

// claim takes the lease of the thread, unless somebody holds it, who is then
// returned. Without leases it takes it that nobody does.
func (o *outsider) claim(ctx context.Context) (release func(), owner *selvage.Owner, err error) {
	leaser, ok := selvage.As[selvage.Leaser](o.store)
	if !ok {
		return func() {}, nil, nil
	}
	lease, err := leaser.Acquire(ctx, o.thread, process.Self("selvage"), cancelLease)
	var busy *selvage.BusyError
	switch {
	case errors.As(err, &busy):
		return nil, &busy.Owner, nil
	case err != nil:
		return nil, nil, err
	}
	o.fence = lease.Fence()
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), DefaultGrace)
		defer cancel()
		_ = leaser.Release(ctx, lease) // it runs out by itself
	}, nil, nil
}

// requestCancel asks the process that leads a run to end it.
func (o *outsider) requestCancel(ctx context.Context, reason string, answer *Cancelled) error {
	return o.amend(ctx, func(context.Context) (*selvage.ChangeSet, error) {
		if _, before := o.base.Get(cancelAt); before {
			answer.Status = CancelRepeated
			return nil, nil
		}
		answer.Status = CancelRequested
		patches, err := request(cancelAt, cancelRequest{Reason: reason, At: time.Now().UTC().Truncate(selvage.TimePrecision)})
		return &selvage.ChangeSet{Patches: patches}, err
	})
}

// closing is the change that ends a run that nobody leads: its open calls are
// answered, a note says so to the next run, and what an answer has used that it
// was in the middle of is booked.
func (o *outsider) closing(ctx context.Context, why *CancelledError) (*selvage.ChangeSet, error) {
	head, err := o.fetch(ctx)
	if err != nil {
		return nil, err
	}
	if head.OpenRun == nil || head.OpenRun.ID != o.id {
		return nil, over(&o.info)
	}
	o.step = head.OpenRun.Steps
	o.closeCalls(why)
	o.say(cancelNote(o.step))
	outcome := why.outcome()
	end := selvage.RunUpdate{ID: o.id, Status: selvage.RunDone, Outcome: &outcome}
	o.totalsOf(ctx, head.OpenRun, &end)
	return &selvage.ChangeSet{Messages: o.pending.messages, Calls: o.pending.calls, Runs: []selvage.RunUpdate{end}}, nil
}

// cancelNote tells the next run that this one was cancelled.
func cancelNote(step int) selvage.Message {
	return selvage.Message{Role: selvage.RoleSystem, Visibility: selvage.VisibleInternal, Step: step,
		Content: selvage.Text("[The run was cancelled here, before it was complete.]")}
}
