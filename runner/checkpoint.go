package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/selvagehq/selvage"
)

// How a checkpoint insists.
const (
	// checkpointTimeout bounds one checkpoint of a run that goes on.
	checkpointTimeout = 30 * time.Second
	// resends is how often one set is sent again while its outcome is unknown.
	resends     = 8
	firstResend = 20 * time.Millisecond
	lastResend  = 2 * time.Second
	// rebases is how often a set is sent again at a version that others made.
	rebases = 64
)

// checkpoint is a change besides the pending delta.
type checkpoint struct {
	reason selvage.Reason
	runs   []selvage.RunUpdate
	once   bool // do not send it again if its outcome is unknown
}

// checkpoint records the pending delta and tells its events. The delta stays
// pending unless the store confirms it. The error is a [StateError].
func (x *run) checkpoint(ctx context.Context, c checkpoint) error {
	err := x.record(ctx, c)
	x.flush()
	return err
}

// record is checkpoint with the events held back.
func (x *run) record(ctx context.Context, c checkpoint) error {
	x.markStop()
	if err := x.settle(ctx, c); err != nil {
		return &StateError{ThreadID: x.thread, RunID: x.id, Reason: c.reason, Err: err}
	}
	return nil
}

// settle sends the pending delta under one change-set id until the store says
// yes, or a reason to stop is found.
func (x *run) settle(ctx context.Context, c checkpoint) error {
	// A cancelled run must still know what it has recorded.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.patience)
	defer cancel()
	id := selvage.NewID()
	var err error
	for range rebases {
		set := selvage.ChangeSet{ID: id, RunID: x.id, ParentRunID: x.parent, Reason: c.reason, Runs: c.runs, Fence: x.fence,
			Messages: x.pending.messages, Patches: x.pending.patches, Calls: x.pending.calls}
		var receipt selvage.Receipt
		receipt, err = x.send(ctx, &set, selvage.Exact(x.version), c.once)
		switch {
		case err == nil:
			x.confirm(&set, &receipt)
			return nil
		case errors.Is(err, selvage.ErrConflict):
			if err := x.absorb(ctx); err != nil {
				return err
			}
		case unsettled(err):
			x.unsure = append(x.unsure, attempt{id, len(set.Messages), len(set.Patches), len(set.Calls)})
			return err
		default:
			return err
		}
	}
	return err
}

// send appends a set, again and again under the same id while the outcome is
// unknown.
func (l *ledger) send(ctx context.Context, set *selvage.ChangeSet, pre selvage.Precondition, once bool) (selvage.Receipt, error) {
	var wait *backoff.ExponentialBackOff
	for tries := 0; ; tries++ {
		receipt, err := l.store.Append(ctx, l.thread, *set, pre)
		if err == nil || !unsettled(err) || once || tries == resends {
			return receipt, err
		}
		l.log.WarnContext(ctx, "checkpoint sent again", "thread", l.thread, "change", set.ID, "err", err)
		if wait == nil {
			wait = &backoff.ExponentialBackOff{InitialInterval: firstResend, MaxInterval: lastResend, Multiplier: 2, RandomizationFactor: 0.5}
			wait.Reset()
		}
		if sleep(ctx, wait.NextBackOff()) != nil {
			return receipt, err
		}
	}
}

// unsettled reports whether an error leaves the outcome of an append open.
func unsettled(err error) bool {
	return errors.Is(err, selvage.ErrUnknownOutcome) || errors.Is(err, selvage.ErrUnavailable) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// confirm moves the recorded delta out of the pending one.
func (x *run) confirm(set *selvage.ChangeSet, receipt *selvage.Receipt) {
	added := numbered(set, receipt)
	x.version, x.base = receipt.Version, x.doc
	x.pending, x.unsure = delta{}, nil
	x.note(set, receipt.At)
	x.remember(added)
	x.held = append(x.held, committed(x.thread, x.step, set, added, receipt)...)
}

// numbered returns the messages that a set added, as the store keeps them.
func numbered(set *selvage.ChangeSet, receipt *selvage.Receipt) []selvage.Message {
	added := make([]selvage.Message, 0, receipt.Added)
	for i, m := range set.Messages {
		if slices.Contains(receipt.Dropped, i) {
			continue
		}
		if m.ID == "" {
			m.ID = selvage.MessageID(set.ID, i, receipt.At)
		}
		if m.RunID == "" {
			m.RunID = set.RunID
		}
		m.Seq, m.CreatedAt = receipt.FirstSeq+int64(len(added)), receipt.At
		added = append(added, m)
	}
	return added
}

// flush tells the events of what was recorded.
func (x *run) flush() {
	for _, e := range x.held {
		x.out.emit(e)
	}
	x.held = nil
}
