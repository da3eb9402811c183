package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// outbox is the capability [selvage.Outbox] of a store. Its clock is the
// database's.
type outbox struct{ s *Store }

var _ selvage.Outbox = outbox{}

// claimDue claims what is due and whatever else can only be buried, in one
// statement. What others are claiming at the same time is passed over.
const claimDue = `WITH due AS (
		SELECT o.tenant, o.thread, o.version, o.item, o.available_at, o.ord FROM selvage.outbox o
		WHERE o.status = 0 AND o.lane = $1::text AND o.available_at <= now() AND ($2::text = '' OR o.target = $2::text)%s
		ORDER BY o.available_at, o.ord, o.tenant, o.thread, o.version, o.item LIMIT $3::bigint FOR UPDATE SKIP LOCKED),
	u AS (UPDATE selvage.outbox o SET attempts = least(o.attempts + 1, o.max_attempts), claim_owner = $4::text,
		status = CASE WHEN o.attempts < o.max_attempts THEN 0 ELSE 2 END,
		claim_token = CASE WHEN o.attempts < o.max_attempts THEN $5::text END,
		available_at = CASE WHEN o.attempts < o.max_attempts THEN date_trunc('milliseconds', now()) + $6::bigint * interval '1 millisecond' ELSE o.available_at END
		FROM due d WHERE o.tenant = d.tenant AND o.thread = d.thread AND o.version = d.version AND o.item = d.item
		RETURNING o.*, d.available_at AS was)
	SELECT ` + deliveryColumns + ` FROM u o JOIN selvage.changes c ON c.tenant = o.tenant AND c.thread = o.thread AND c.version = o.version
	ORDER BY o.was, o.ord, o.tenant, o.thread, o.version, o.item`

// Claim implements [selvage.Outbox].
func (o outbox) Claim(ctx context.Context, c selvage.OutboxClaim) ([]selvage.Delivery, error) {
	out, err := o.claim(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return out, nil
}

func (o outbox) claim(ctx context.Context, c selvage.OutboxClaim) ([]selvage.Delivery, error) {
	leave, err := o.s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	c, err = commit.CheckClaim(c)
	if err != nil {
		return nil, err
	}
	out := []selvage.Delivery{}
	for len(out) < c.Limit {
		var found []delivery
		err := o.s.retry(ctx, "claim", func(ctx context.Context) (err error) {
			args := []any{c.Lane, c.Target, c.Limit - len(out), c.Owner, rand.Text(), c.Lease.Milliseconds()}
			scope := ""
			if o.s.tenant != "" {
				scope, args = " AND o.tenant = $7::text", append(args, o.s.tenant)
			}
			found, err = deliveries(ctx, o.s.pool, fmt.Sprintf(claimDue, scope), args...)
			return err
		})
		if err != nil || len(found) == 0 {
			return out, err
		}
		for i := range found {
			claimed, err := o.sort(ctx, &found[i])
			if err != nil {
				return nil, err
			}
			if claimed {
				out = append(out, found[i].Delivery)
			}
		}
	}
	return out, nil
}

// sort tells what was claimed from what has become a dead letter.
func (o outbox) sort(ctx context.Context, d *delivery) (claimed bool, err error) {
	attempts := d.Attempts - 1
	if d.Status == selvage.DeliveryDead {
		attempts = d.MaxAttempts
	}
	reason := commit.Undeliverable(attempts, d.MaxAttempts, d.whole, d.LastError)
	if reason == "" {
		d.Token = d.token
		return true, nil
	}
	return false, o.s.retry(ctx, "bury a delivery", func(ctx context.Context) error {
		_, err := o.s.pool.Exec(ctx, `UPDATE selvage.outbox o SET status = 2, claim_token = NULL, last_error = $5::text
			WHERE o.tenant = $1::text AND o.thread = $2::bytea AND o.version = $3::bigint AND o.item = $4::integer
			AND (o.status = 2 OR o.claim_token = $6::text)`,
			d.Tenant, packID(string(d.ThreadID)), int64(d.Version), d.Index, reason, d.token)
		return err
	})
}

// change runs a statement for one delivery, which says by its token who asks
// unless there is none, and returns the row after it.
func (o outbox) change(ctx context.Context, d selvage.Delivery, set, where string, args ...any) (*delivery, error) {
	key, err := o.key(d)
	if err != nil {
		return nil, err
	}
	sql := `WITH u AS (UPDATE selvage.outbox o SET ` + set + key.where + where + ` RETURNING o.*)
		SELECT ` + deliveryColumns + ` FROM u o JOIN selvage.changes c ON c.tenant = o.tenant AND c.thread = o.thread AND c.version = o.version`
	found, err := deliveries(ctx, o.s.pool, sql, append(key.args, args...)...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// find returns a delivery as it is.
func (o outbox) find(ctx context.Context, d selvage.Delivery) (*delivery, error) {
	key, err := o.key(d)
	if err != nil {
		return nil, err
	}
	found, err := deliveries(ctx, o.s.pool, `SELECT `+deliveryColumns+` FROM selvage.outbox o
		JOIN selvage.changes c ON c.tenant = o.tenant AND c.thread = o.thread AND c.version = o.version`+key.where, key.args...)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("it is not there: %w", selvage.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// do runs a call of the outbox until the database has answered. It is told
// whether it was sent before and not answered.
func (o outbox) do(ctx context.Context, what string, d selvage.Delivery, run func(ctx context.Context, sent bool) error) error {
	leave, err := o.s.enter(ctx)
	if err == nil {
		defer leave()
		sent := false
		err = o.s.retry(ctx, what, func(ctx context.Context) error {
			err := run(ctx, sent)
			sent = sent || err != nil && ours(err) == nil && judge(err) == lost
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("%s delivery %q: %w", what, d.ID, err)
	}
	return nil
}

// Ack implements [selvage.Outbox].
func (o outbox) Ack(ctx context.Context, d selvage.Delivery) error {
	return o.do(ctx, "acknowledge", d, func(ctx context.Context, _ bool) error {
		row, err := o.change(ctx, d, `status = 1, done_at = coalesce(o.done_at, now())`, ` AND o.status < 2 AND o.claim_token = $5::text`, d.Token)
		if err != nil || row != nil {
			return err
		}
		if _, err := o.find(ctx, d); err != nil {
			return err
		}
		return commit.ErrLostClaim
	})
}

// Nack implements [selvage.Outbox].
func (o outbox) Nack(ctx context.Context, d selvage.Delivery, f selvage.DeliveryFailure) (status selvage.DeliveryStatus, err error) {
	err = o.do(ctx, "give back", d, func(ctx context.Context, sent bool) error {
		f, err := commit.CheckFailure(f)
		if err != nil {
			return err
		}
		row, err := o.change(ctx, d, `claim_token = NULL, last_error = nullif($6::text, ''),
			available_at = date_trunc('milliseconds', now()) + $7::bigint * interval '1 millisecond',
			status = CASE WHEN $8::boolean OR o.attempts >= o.max_attempts THEN 2 ELSE 0 END`,
			` AND o.status = 0 AND o.claim_token = $5::text`, d.Token, f.Cause, f.After.Milliseconds(), f.Permanent)
		if err != nil {
			return err
		}
		if row == nil {
			if row, err = o.find(ctx, d); err != nil {
				return err
			}
			if !sent || row.token != "" { // else it is what was sent and not answered
				return commit.ErrLostClaim
			}
		}
		status = row.Status
		return nil
	})
	if err != nil {
		return "", err
	}
	return status, nil
}

// Retry implements [selvage.Outbox].
func (o outbox) Retry(ctx context.Context, d selvage.Delivery) error {
	return o.do(ctx, "retry", d, func(ctx context.Context, sent bool) error {
		row, err := o.change(ctx, d, `status = 0, attempts = 0, available_at = date_trunc('milliseconds', now())`, ` AND o.status = 2`)
		if err != nil || row != nil {
			return err
		}
		if row, err = o.find(ctx, d); err != nil || sent {
			return err
		}
		return commit.NotDead(row.Status)
	})
}

// pruneAtOnce bounds the deliveries that one statement forgets.
const pruneAtOnce = 1000

// Prune implements [selvage.Outbox]. It forgets in statements of a bounded
// size; what one of them forgot is counted even if a later one fails.
func (o outbox) Prune(ctx context.Context, before time.Time) (total int, err error) {
	leave, err := o.s.enter(ctx)
	if err != nil {
		return 0, fmt.Errorf("prune deliveries: %w", err)
	}
	defer leave()
	for {
		var n int64
		err := o.s.retry(ctx, "prune deliveries", func(ctx context.Context) error {
			tag, err := o.s.pool.Exec(ctx, `DELETE FROM selvage.outbox o USING (
					SELECT p.tenant, p.thread, p.version, p.item FROM selvage.outbox p
					WHERE p.status = 1 AND p.done_at < 'epoch'::timestamptz + $1::bigint * interval '1 millisecond' AND ($2::text = '' OR p.tenant = $2::text)
					LIMIT $3::bigint FOR UPDATE SKIP LOCKED) d
				WHERE o.tenant = d.tenant AND o.thread = d.thread AND o.version = d.version AND o.item = d.item`,
				before.UnixMilli(), o.s.tenant, pruneAtOnce)
			n = tag.RowsAffected()
			return err
		})
		total += int(n)
		if err != nil || n < pruneAtOnce {
			return total, err
		}
	}
}

// deliveries runs a query for rows of the outbox and of their changes.
func deliveries(ctx context.Context, q querier, sql string, args ...any) (out []delivery, err error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanDelivery)
}
