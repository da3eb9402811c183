package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

const (
	insertDelivery = `INSERT INTO outbox (tenant, thread, version, item, pos, lane, target, dedupe, digest, available_at, max_attempts)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	selectKey = `SELECT digest FROM outbox WHERE dedupe IS NOT NULL AND tenant = ? AND dedupe = ?`

	deliveryColumns = `o.key, o.tenant, o.thread, o.item, o.pos, o.lane, o.target, o.status, o.available_at, o.attempts, o.max_attempts,
		o.claim_owner, o.claim_token, o.last_error, o.version`
	// The due ones of a lane, for all tenants and for one.
	selectDue         = `SELECT ` + deliveryColumns + ` FROM outbox o WHERE o.status = 0 AND o.lane = ? AND o.available_at <= ?`
	selectDueOfTenant = `SELECT ` + deliveryColumns + ` FROM outbox o WHERE o.status = 0 AND o.tenant = ? AND o.lane = ? AND o.available_at <= ?`
	dueOrder          = ` ORDER BY o.available_at, o.pos, o.item LIMIT ?`

	selectByKey      = `SELECT ` + deliveryColumns + ` FROM outbox o WHERE o.dedupe IS NOT NULL AND o.tenant = ? AND o.dedupe = ?`
	selectByPosition = `SELECT ` + deliveryColumns + ` FROM outbox o WHERE o.thread = (SELECT key FROM threads WHERE tenant = ? AND id = ?)
		AND o.version = ? AND o.item = ?`

	claimDelivery = `UPDATE outbox SET attempts = attempts + 1, available_at = ?, claim_owner = ?, claim_token = ? WHERE key = ?`
	buryDelivery  = `UPDATE outbox SET status = 2, claim_token = NULL, last_error = ? WHERE key = ?`
	ackDelivery   = `UPDATE outbox SET status = 1, done_at = ? WHERE key = ?`
	nackDelivery  = `UPDATE outbox SET status = ?, available_at = ?, last_error = ?, claim_token = NULL WHERE key = ?`
	retryDelivery = `UPDATE outbox SET status = 0, attempts = 0, available_at = ? WHERE key = ?`
	pruneDone     = `DELETE FROM outbox WHERE key IN (SELECT key FROM outbox WHERE status = 1 AND done_at < ? LIMIT ?)`
	pruneTenant   = `DELETE FROM outbox WHERE key IN (SELECT key FROM outbox WHERE status = 1 AND done_at < ? AND tenant = ? LIMIT ?)`
)

// pruneAtOnce bounds the deliveries that one transaction forgets.
const pruneAtOnce = 1000

// outbox is the capability [selvage.Outbox] of a store.
type outbox struct{ s *Store }

var _ selvage.Outbox = outbox{}

// do runs a request of the outbox.
func (o outbox) do(ctx context.Context, what string, run func(*txn) error) error {
	err := o.s.enter(ctx)
	if err == nil {
		defer o.s.leave()
		err = o.s.writer.do(ctx, o.s.tenant, 0, run)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Claim implements [selvage.Outbox].
func (o outbox) Claim(ctx context.Context, c selvage.OutboxClaim) (out []selvage.Delivery, err error) {
	err = o.do(ctx, "claim deliveries", func(t *txn) (err error) {
		c, err := commit.CheckClaim(c)
		if err != nil {
			return err
		}
		out, err = t.claimDeliveries(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Ack implements [selvage.Outbox].
func (o outbox) Ack(ctx context.Context, d selvage.Delivery) error {
	return o.do(ctx, fmt.Sprintf("acknowledge delivery %q", d.ID), func(t *txn) error {
		row, err := t.claimed(d)
		if err != nil || row.Status != selvage.DeliveryDue {
			return err
		}
		_, err = t.exec(ackDelivery, t.now.UnixMilli(), row.key)
		return err
	})
}

// Nack implements [selvage.Outbox].
func (o outbox) Nack(ctx context.Context, d selvage.Delivery, f selvage.DeliveryFailure) (status selvage.DeliveryStatus, err error) {
	err = o.do(ctx, fmt.Sprintf("give delivery %q back", d.ID), func(t *txn) error {
		f, err := commit.CheckFailure(f)
		if err != nil {
			return err
		}
		row, err := t.claimed(d)
		if err == nil && row.Status != selvage.DeliveryDue {
			err = commit.ErrLostClaim
		}
		if err != nil {
			return err
		}
		code := int64(0)
		if f.Permanent || row.Attempts >= row.MaxAttempts {
			code = 2
		}
		status = statuses[code]
		_, err = t.exec(nackDelivery, code, t.now.Add(f.After).UnixMilli(), packText(f.Cause), row.key)
		return err
	})
	if err != nil {
		return "", err
	}
	return status, nil
}

// Retry implements [selvage.Outbox].
func (o outbox) Retry(ctx context.Context, d selvage.Delivery) error {
	return o.do(ctx, fmt.Sprintf("retry delivery %q", d.ID), func(t *txn) error {
		row, err := t.delivery(d)
		if err == nil && row.Status != selvage.DeliveryDead {
			err = commit.NotDead(row.Status)
		}
		if err != nil {
			return err
		}
		_, err = t.exec(retryDelivery, t.now.UnixMilli(), row.key)
		return err
	})
}

// Prune implements [selvage.Outbox]. It forgets in transactions of a bounded
// size; what one of them forgot is counted even if a later one fails.
func (o outbox) Prune(ctx context.Context, before time.Time) (total int, err error) {
	for {
		var n int64
		err := o.do(ctx, "prune deliveries", func(t *txn) (err error) {
			if t.tenant != "" {
				n, err = t.exec(pruneTenant, before.UnixMilli(), t.tenant, int64(pruneAtOnce))
			} else {
				n, err = t.exec(pruneDone, before.UnixMilli(), int64(pruneAtOnce))
			}
			return err
		})
		total += int(n)
		if err != nil || n < pruneAtOnce {
			return total, err
		}
	}
}
