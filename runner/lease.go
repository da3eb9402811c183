package runner

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/selvagehq/selvage"
)

// How often a queued run asks for the lease of its thread.
const (
	firstPoll = 10 * time.Millisecond
	lastPoll  = 250 * time.Millisecond
)

// acquire takes the lease of a thread. Each time it is found held, waits says
// whether to wait for whoever holds it.
func (r *Runner) acquire(ctx context.Context, at place, id selvage.ThreadID, waits func(*selvage.BusyError) bool) (selvage.Lease, error) {
	var poll *backoff.ExponentialBackOff
	unavailable := 0
	for {
		lease, err := at.leaser.Acquire(ctx, id, r.opts.Owner, r.opts.LeaseTTL)
		var busy *selvage.BusyError
		switch {
		case err == nil:
			return lease, nil
		case errors.As(err, &busy):
			if !waits(busy) {
				return selvage.Lease{}, err
			}
		case errors.Is(err, selvage.ErrUnavailable) && unavailable < resends:
			unavailable++
		default:
			return selvage.Lease{}, err
		}
		if poll == nil {
			poll = &backoff.ExponentialBackOff{InitialInterval: firstPoll, MaxInterval: lastPoll, Multiplier: 1.5, RandomizationFactor: 0.5}
			poll.Reset()
		}
		if sleep(ctx, poll.NextBackOff()) != nil {
			return selvage.Lease{}, errors.Join(context.Cause(ctx), err)
		}
	}
}

// brief bounds for how long anybody holds the thread of a run that waits.
const brief = 5 * time.Second

// yields returns what waits for whoever holds the thread of a run that is to be
// gone on with. Nobody leads a run that waits: its thread is held for a moment,
// to decide on it or to begin to go on. That is waited for also by a runner that
// rejects, or of a decision that lost against another nobody would take up the
// one that counts.
func (r *Runner) yields(ctx context.Context, id selvage.RunID, queued func(*selvage.BusyError)) func(*selvage.BusyError) bool {
	if r.opts.OnActive != Reject {
		return func(busy *selvage.BusyError) bool { queued(busy); return true }
	}
	until := time.Now().Add(brief)
	return func(*selvage.BusyError) bool {
		run, err := FindRun(ctx, r.home.store, id)
		return err == nil && run.Status != selvage.RunRunning && time.Now().Before(until)
	}
}

// tenure is the time in which a run holds the lease of its thread.
type tenure struct {
	leaser selvage.Leaser
	lease  selvage.Lease
	grace  time.Duration
	held   selvage.Lease // as it was renewed last; the pulse's
	pulse  *pulse        // of the renewals
}

// hold keeps a lease alive until the tenure ends, and calls lost if somebody
// else takes it.
func (r *Runner) hold(ctx context.Context, at place, lease selvage.Lease, lost context.CancelCauseFunc) *tenure {
	// The renewals outlive a cancelled run, whose end is still to be recorded.
	ttl := r.opts.LeaseTTL
	t := &tenure{leaser: at.leaser, lease: lease, held: lease, grace: r.opts.Grace}
	t.pulse = newPulse(context.WithoutCancel(ctx), ttl/3, func(ctx context.Context) bool {
		return t.renew(ctx, ttl, r.opts.Logger, lost)
	})
	return t
}

// renew renews the lease, and reports whether it may still be ours.
func (t *tenure) renew(ctx context.Context, ttl time.Duration, log *slog.Logger, lost context.CancelCauseFunc) bool {
	renewed, err := t.leaser.Renew(ctx, t.held, ttl)
	switch {
	case err == nil:
		t.held = renewed
	case ctx.Err() != nil:
		return false
	case errors.Is(err, selvage.ErrFenced), errors.Is(err, selvage.ErrClosed):
		lost(err)
		return false
	default:
		// The lease stays ours until somebody takes it, and the fence guards
		// what is written meanwhile.
		log.WarnContext(ctx, "lease not renewed", "thread", t.held.ThreadID, "err", err)
	}
	return true
}

// end stops the renewals and gives the lease back.
func (t *tenure) end(ctx context.Context, log *slog.Logger) {
	t.pulse.stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.grace)
	defer cancel()
	if err := t.leaser.Release(ctx, t.lease); err != nil && !errors.Is(err, selvage.ErrClosed) {
		log.WarnContext(ctx, "lease not released", "thread", t.lease.ThreadID, "err", err)
	}
}

// sleep returns after d, or with ctx's error as soon as ctx has ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
