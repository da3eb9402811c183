package retry

import (
	"context"
	"time"

	"github.com/selvagehq/selvage"
)

// leaser repeats what can be repeated about a lease.
type leaser struct {
	next selvage.Leaser
	opts Options
}

// Acquire is tried once: if the first try took the lease and its answer was
// lost, a second one would find the thread busy.
func (l leaser) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	return l.next.Acquire(ctx, id, owner, ttl)
}

// Renew is tried again, but for no longer than the lease it asks for.
func (l leaser) Renew(ctx context.Context, lease selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	opts := l.opts
	if ttl > 0 {
		opts.Patience = min(opts.Patience, ttl)
	}
	return again(ctx, opts, func(ctx context.Context) (selvage.Lease, error) { return l.next.Renew(ctx, lease, ttl) })
}

// Release is tried again.
func (l leaser) Release(ctx context.Context, lease selvage.Lease) error {
	_, err := again(ctx, l.opts, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.next.Release(ctx, lease) })
	return err
}
