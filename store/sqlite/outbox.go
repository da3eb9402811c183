package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"fmt"
	"strings"
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

// statuses of deliveries, by their codes.
var statuses = [...]selvage.DeliveryStatus{selvage.DeliveryDue, selvage.DeliveryDelivered, selvage.DeliveryDead}

// delivery is a row of the outbox.
type delivery struct {
	selvage.Delivery
	key, thread, pos int64
	token            string
}

// enqueue makes a delivery due.
func (t *txn) enqueue(h *entry, pos int64, d *commit.Delivery) error {
	at := d.AvailableAt
	if at.IsZero() {
		at = h.Thread.UpdatedAt
	}
	_, err := t.exec(insertDelivery, h.Thread.Tenant, h.key, int64(h.Thread.Version), int64(d.Index), pos, d.Lane, d.Target,
		packBytes(d.Key), packBytes(d.Digest), at.UnixMilli(), int64(d.MaxAttempts))
	return err
}

// scanDelivery reads the columns deliveryColumns.
func scanDelivery(r *rows) delivery {
	d := delivery{key: r.int(0), thread: r.int(2), pos: r.int(4), token: r.text(12)}
	d.Tenant, d.Index, d.Lane, d.Target = r.text(1), int(r.int(3)), r.text(5), r.text(6)
	d.Status, d.AvailableAt = statuses[min(max(r.int(7), 0), 2)], r.time(8)
	d.Attempts, d.MaxAttempts = int(r.int(9)), int(r.int(10))
	d.Owner, d.LastError, d.Version = r.text(11), r.text(13), selvage.Version(r.int(14))
	return d
}

// deliveries runs a query for rows of the outbox.
func deliveries(c *conn, query string, args ...driver.Value) (out []delivery, err error) {
	r, err := c.query(query, args...)
	if err != nil {
		return nil, err
	}
	for r.next() {
		out = append(out, scanDelivery(r))
	}
	return out, r.close()
}

// fill completes a delivery from its change, and reports whether the payload
// is there.
func (d *delivery) fill(c *conn) (bool, error) {
	h, err := headOf(c, d.thread)
	if err != nil {
		return false, err
	}
	ch, err := readChange(c, &h, d.pos)
	if err != nil {
		return false, err
	}
	return commit.FillDelivery(&d.Delivery, &ch.Change)
}

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

func (t *txn) claimDeliveries(c selvage.OutboxClaim) ([]selvage.Delivery, error) {
	query, args := selectDue, []driver.Value{c.Lane, t.now.UnixMilli()}
	if t.tenant != "" {
		query, args = selectDueOfTenant, append([]driver.Value{t.tenant}, args...)
	}
	if c.Target != "" {
		query, args = query+` AND o.target = ?`, append(args, c.Target)
	}
	until, token := t.now.Add(c.Lease).UTC().Truncate(selvage.TimePrecision), rand.Text()
	out := []selvage.Delivery{}
	for len(out) < c.Limit {
		due, err := deliveries(t.c, query+dueOrder, append(args, int64(c.Limit-len(out)))...)
		if err != nil || len(due) == 0 {
			return out, err
		}
		for _, d := range due {
			claimed, err := t.claimDelivery(&d, c.Owner, token, until)
			if err != nil {
				return nil, err
			}
			if claimed {
				out = append(out, d.Delivery)
			}
		}
	}
	return out, nil
}

// claimDelivery claims a delivery that is due, unless it can only be buried.
func (t *txn) claimDelivery(d *delivery, owner, token string, until time.Time) (bool, error) {
	whole, err := d.fill(t.c)
	if err != nil {
		return false, err
	}
	if reason := commit.Undeliverable(d.Attempts, d.MaxAttempts, whole, d.LastError); reason != "" {
		_, err := t.exec(buryDelivery, reason, d.key)
		return false, err
	}
	d.Attempts, d.AvailableAt, d.Owner, d.Token = d.Attempts+1, until, owner, token
	_, err = t.exec(claimDelivery, until.UnixMilli(), packText(owner), token, d.key)
	return true, err
}

// delivery returns a row by what its claim or a list said of it.
func (t *txn) delivery(d selvage.Delivery) (*delivery, error) {
	key, thread, at, err := selvage.ParseOutboxID(d.ID)
	if err != nil {
		return nil, err
	}
	tenant := t.tenant
	if tenant == "" {
		tenant = d.Tenant
	}
	var found []delivery
	switch {
	case d.Tenant != "" && d.Tenant != tenant:
	case key != nil:
		found, err = deliveries(t.c, selectByKey, tenant, key)
	default:
		found, err = deliveries(t.c, selectByPosition, tenant, string(thread), int64(at.Version), int64(at.Index))
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("it is not there: %w", selvage.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// claimed is delivery for who claimed it.
func (t *txn) claimed(d selvage.Delivery) (*delivery, error) {
	row, err := t.delivery(d)
	if err == nil && (d.Token == "" || row.token != d.Token) {
		err = commit.ErrLostClaim
	}
	return row, err
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

// deliveryShape is what binds a cursor to its query.
type deliveryShape struct {
	List         string
	Status       selvage.DeliveryStatus
	Lane, Target string
	Thread       selvage.ThreadID
}

// Deliveries implements [selvage.Outbox].
func (o outbox) Deliveries(ctx context.Context, q selvage.DeliveryQuery) (out selvage.DeliveryPage, err error) {
	err = o.s.read(ctx, func(c *conn) (err error) {
		out, err = o.list(c, q)
		return err
	})
	if err != nil {
		return selvage.DeliveryPage{}, fmt.Errorf("deliveries: %w", err)
	}
	return out, nil
}

func (o outbox) list(c *conn, q selvage.DeliveryQuery) (out selvage.DeliveryPage, err error) {
	shape := deliveryShape{"deliveries", q.Status, q.Lane, q.Target, q.ThreadID}
	p, err := newPage[selvage.Delivery](q.Limit)
	if err != nil {
		return out, err
	}
	if err := commit.CheckDeliveryQuery(q); err != nil {
		return out, err
	}
	var after int64
	if q.Cursor != "" {
		if err := o.s.cursors.Open(q.Cursor, shape, &after); err != nil {
			return out, err
		}
	}
	if p.limit > 0 {
		query, args := o.query(q, after, p.limit+1)
		found, err := deliveries(c, query, args...)
		if err != nil {
			return out, err
		}
		for i := 0; i < len(found) && !p.full(); i++ {
			if _, err := found[i].fill(c); err != nil {
				return out, err
			}
			p.add(found[i].Delivery, found[i].key)
		}
	}
	out.Items = p.items
	out.Next, err = p.next(&o.s.cursors, shape)
	return out, err
}

// query is the statement that lists deliveries, and its arguments.
func (o outbox) query(q selvage.DeliveryQuery, after int64, limit int) (string, []driver.Value) {
	where, args := []string{`o.key > ?`}, []driver.Value{after}
	and := func(condition string, arg driver.Value) { where, args = append(where, condition), append(args, arg) }
	if o.s.tenant != "" {
		and(`o.tenant = ?`, o.s.tenant)
	}
	if code := statusCode(q.Status); code >= 0 {
		and(`o.status = ?`, int64(code))
	}
	if q.Lane != "" {
		and(`o.lane = ?`, q.Lane)
	}
	if q.Target != "" {
		and(`o.target = ?`, q.Target)
	}
	if q.ThreadID != "" {
		and(`o.thread IN (SELECT key FROM threads WHERE id = ?)`, string(q.ThreadID))
	}
	return `SELECT ` + deliveryColumns + ` FROM outbox o WHERE ` + strings.Join(where, ` AND `) + ` ORDER BY o.key LIMIT ?`, append(args, int64(limit))
}

// statusCode is the code of a status, -1 if it is none.
func statusCode(s selvage.DeliveryStatus) int {
	for code, known := range statuses {
		if s == known {
			return code
		}
	}
	return -1
}
