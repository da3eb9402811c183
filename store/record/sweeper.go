package record

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

// sweeper is the [selvage.Sweeper] of a keeper.
type sweeper struct{ k *Keeper }

// Sweep implements [selvage.Sweeper].
func (s sweeper) Sweep(ctx context.Context, limit int) (n int, err error) {
	if limit, err = sweepLimit(limit); err == nil {
		err = s.k.update(ctx, "", func(tx Tx, _ bool) (err error) {
			n, err = tx.Sweep(limit)
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("sweep what has expired: %w", err)
	}
	return n, nil
}

// sweepLimit resolves how much may be removed at once.
func sweepLimit(limit int) (int, error) {
	if limit < 1 {
		return 0, invalid("limit", "at least 1 has to be removed, not %d", limit)
	}
	return min(limit, selvage.MaxSweep), nil
}
