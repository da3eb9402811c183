package sqlite

import (
	"crypto/rand"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

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
