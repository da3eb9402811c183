package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

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
