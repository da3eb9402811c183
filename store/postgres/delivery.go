package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// deliveryColumns are of a row o of the outbox and the row c of its change.
const deliveryColumns = `o.tenant, o.thread, o.item, o.lane, o.target, o.status, o.available_at, o.attempts, o.max_attempts,
	o.claim_owner, o.claim_token, o.last_error, ` + changeColumns

// deliveryStatuses by their codes.
var deliveryStatuses = [...]selvage.DeliveryStatus{selvage.DeliveryDue, selvage.DeliveryDelivered, selvage.DeliveryDead}

// delivery is a row of the outbox, with what its change says.
type delivery struct {
	selvage.Delivery
	token string
	whole bool // the payload is there
}

// scanDelivery reads the columns deliveryColumns.
func scanDelivery(row pgx.CollectableRow) (d delivery, err error) {
	var ch changeRow
	var thread []byte
	var status int16
	var owner, token, failure *string
	targets := []any{&d.Tenant, &thread, &d.Index, &d.Lane, &d.Target, &status, &d.AvailableAt, &d.Attempts, &d.MaxAttempts, &owner, &token, &failure}
	if err := row.Scan(append(targets, ch.targets()...)...); err != nil {
		return d, err
	}
	d.AvailableAt = d.AvailableAt.UTC().Truncate(selvage.TimePrecision)
	d.Status = deliveryStatuses[min(max(status, 0), 2)]
	d.Owner, d.token, d.LastError = textOf(owner), textOf(token), textOf(failure)
	c, err := ch.change(selvage.ThreadID(unpackID(thread)))
	if err != nil {
		return d, err
	}
	d.whole, err = commit.FillDelivery(&d.Delivery, &c)
	return d, err
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// deliveryKey is the condition that selects one delivery. Its arguments are
// always four, so that others can follow.
type deliveryKey struct {
	where string
	args  []any
}

// key names a delivery by what its claim or a list said of it.
func (o outbox) key(d selvage.Delivery) (k deliveryKey, err error) {
	key, thread, at, err := selvage.ParseOutboxID(d.ID)
	if err != nil {
		return k, err
	}
	tenant := o.s.tenant
	if tenant == "" {
		tenant = d.Tenant
	}
	if d.Tenant != "" && d.Tenant != tenant {
		return k, fmt.Errorf("it is not there: %w", selvage.ErrNotFound)
	}
	if key != nil {
		return deliveryKey{` WHERE o.tenant = $1::text AND o.dedupe = $2::bytea AND $3::bigint = 0 AND $4::integer = 0`, []any{tenant, key, int64(0), 0}}, nil
	}
	return deliveryKey{` WHERE o.tenant = $1::text AND o.thread = $2::bytea AND o.version = $3::bigint AND o.item = $4::integer`,
		[]any{tenant, packID(string(thread)), int64(at.Version), at.Index}}, nil
}

// insertOutbox makes the deliveries of a plan due.
func (w *write) insertOutbox() {
	if len(w.plan.Outbox) == 0 {
		return
	}
	var items, most []int32
	var lanes, targets []string
	var keys, digests [][]byte
	var times []*int64
	for i := range w.plan.Outbox {
		d := &w.plan.Outbox[i]
		items, most = append(items, int32(d.Index)), append(most, int32(d.MaxAttempts))
		lanes, targets = append(lanes, d.Lane), append(targets, d.Target)
		keys, digests = append(keys, d.Key), append(digests, d.Digest)
		var at *int64
		if !d.AvailableAt.IsZero() {
			ms := d.AvailableAt.UnixMilli()
			at = &ms
		}
		times = append(times, at)
	}
	w.sql.WriteString(`, oi AS (INSERT INTO selvage.outbox (tenant, thread, ord, version, item, max_attempts, lane, target, dedupe, digest, available_at)
		SELECT $1::text, $2::bytea, h.ord, `)
	w.arg(int64(w.plan.Change.Version), "bigint")
	w.sql.WriteString(`, u.item, u.most, u.lane, u.target, u.dedupe, u.digest,
		coalesce('epoch'::timestamptz + u.at * interval '1 millisecond', date_trunc('milliseconds', now())) FROM h, unnest(`)
	for i, v := range []struct {
		value any
		kind  string
	}{
		{items, "integer[]"}, {most, "integer[]"}, {lanes, "text[]"}, {targets, "text[]"}, {keys, "bytea[]"}, {digests, "bytea[]"}, {times, "bigint[]"},
	} {
		if i > 0 {
			w.sql.WriteString(", ")
		}
		w.arg(v.value, v.kind)
	}
	w.sql.WriteString(") AS u(item, most, lane, target, dedupe, digest, at))")
}

// deliveryShape is what binds a cursor to its query.
type deliveryShape struct {
	List, Tenant string
	Status       selvage.DeliveryStatus
	Lane, Target string
	Thread       selvage.ThreadID
}

// deliveryPlace is where a page of deliveries ended.
type deliveryPlace struct {
	Tenant  string
	Thread  []byte
	Version int64
	Item    int
}

// Deliveries implements [selvage.Outbox].
func (o outbox) Deliveries(ctx context.Context, q selvage.DeliveryQuery) (out selvage.DeliveryPage, err error) {
	shape := deliveryShape{"deliveries", o.s.tenant, q.Status, q.Lane, q.Target, q.ThreadID}
	p := page[selvage.Delivery]{}
	if p.limit, err = selvage.PageLimit(q.Limit); err == nil {
		err = commit.CheckDeliveryQuery(q)
	}
	var place *deliveryPlace
	if err == nil && q.Cursor != "" {
		place = &deliveryPlace{}
		err = o.s.cursors.Open(q.Cursor, shape, place)
	}
	if err == nil {
		err = o.s.list(ctx, "list deliveries", func(from querier) error { return o.fill(ctx, from, q, place, &p) })
	}
	if err == nil {
		out.Items, out.Next, err = p.seal(&o.s.cursors, shape)
	}
	if err != nil {
		return selvage.DeliveryPage{}, fmt.Errorf("deliveries: %w", err)
	}
	return out, nil
}

// fill reads one page.
func (o outbox) fill(ctx context.Context, from querier, q selvage.DeliveryQuery, place *deliveryPlace, p *page[selvage.Delivery]) error {
	p.items, p.more = nil, false
	if p.limit == 0 {
		return nil
	}
	sql, args := o.query(q, place, p.limit+1)
	found, err := deliveries(ctx, from, sql, args...)
	for i := range found {
		d := &found[i].Delivery
		if !p.take(deliveryPlace{d.Tenant, packID(string(d.ThreadID)), int64(d.Version), d.Index}, *d) {
			break
		}
	}
	return err
}

// query is the statement that lists deliveries, and its arguments.
func (o outbox) query(q selvage.DeliveryQuery, place *deliveryPlace, size int) (string, []any) {
	var b strings.Builder
	var args []any
	b.WriteString(`SELECT ` + deliveryColumns + ` FROM selvage.outbox o
		JOIN selvage.changes c ON c.tenant = o.tenant AND c.thread = o.thread AND c.version = o.version WHERE true`)
	and := func(condition string, values ...any) {
		places := make([]any, len(values))
		for i, v := range values {
			args = append(args, v)
			places[i] = len(args)
		}
		fmt.Fprintf(&b, " AND "+condition, places...)
	}
	if o.s.tenant != "" {
		and("o.tenant = $%d::text", o.s.tenant)
	}
	if place != nil {
		and("(o.tenant, o.thread, o.version, o.item) > ($%d::text, $%d::bytea, $%d::bigint, $%d::integer)", place.Tenant, place.Thread, place.Version, place.Item)
	}
	for code, status := range deliveryStatuses {
		if q.Status == status {
			and("o.status = $%d::smallint", int16(code))
		}
	}
	if q.Lane != "" {
		and("o.lane = $%d::text", q.Lane)
	}
	if q.Target != "" {
		and("o.target = $%d::text", q.Target)
	}
	if q.ThreadID != "" {
		and("o.thread = $%d::bytea", packID(string(q.ThreadID)))
	}
	args = append(args, size)
	fmt.Fprintf(&b, " ORDER BY o.tenant, o.thread, o.version, o.item LIMIT $%d::bigint", len(args))
	return b.String(), args
}
