package observe

import (
	"context"
	"time"

	"github.com/selvagehq/selvage"
)

// leaser tells what becomes of leases. Tokens are never told.
type leaser struct {
	next selvage.Leaser
	o    *observer
}

func (l leaser) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	ctx, c := l.o.begin(ctx, "acquire", id)
	lease, err := l.next.Acquire(ctx, id, owner, ttl)
	c.end(ctx, err, volume{})
	return lease, err
}

func (l leaser) Renew(ctx context.Context, lease selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	ctx, c := l.o.begin(ctx, "renew", lease.ThreadID)
	renewed, err := l.next.Renew(ctx, lease, ttl)
	c.end(ctx, err, volume{})
	return renewed, err
}

func (l leaser) Release(ctx context.Context, lease selvage.Lease) error {
	ctx, c := l.o.begin(ctx, "release", lease.ThreadID)
	err := l.next.Release(ctx, lease)
	c.end(ctx, err, volume{})
	return err
}
