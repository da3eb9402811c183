package inmem

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// delivery is an entry of the outbox and how it stands. What it says stands in
// its change.
type delivery struct {
	tenant string
	thread selvage.ThreadID
	v      selvage.Version
	commit.Delivery

	created  int64 // store clock: the order of the store
	status   selvage.DeliveryStatus
	due      time.Time // of one that is claimed, the end of its lease
	done     time.Time // when it was delivered
	attempts int
	owner    string
	token    string
	failure  string
}

// enqueue makes what a change asks for due.
func (s *Store) enqueue(plan *commit.Plan, t *thread) {
	entries := plan.Receipt.OutboxIDs
	for _, d := range plan.Outbox {
		row := &delivery{tenant: s.tenant, thread: plan.Change.ThreadID, v: plan.Change.Version, Delivery: d,
			created: s.tick(), status: selvage.DeliveryDue, due: d.AvailableAt}
		if row.due.IsZero() {
			row.due = t.head.Thread.UpdatedAt
		}
		s.outbox[entries[d.Index]] = row
	}
}

// outbox is the capability [selvage.Outbox] of a store.
type outbox struct{ *Store }

var _ selvage.Outbox = outbox{}

// rows are the deliveries that the store sees and that a query selects, in the
// order of the store.
func (s outbox) rows(selects func(*delivery) bool) []*delivery {
	var out []*delivery
	for name, space := range s.spaces {
		if s.tenant != "" && name != s.tenant {
			continue
		}
		for _, d := range space.outbox {
			if selects(d) {
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(a, b *delivery) int { return cmp.Compare(a.created, b.created) })
	return out
}

// show is the delivery as it is answered, and whether its payload is there.
func (s outbox) show(d *delivery) (out selvage.Delivery, whole bool, err error) {
	out = selvage.Delivery{Tenant: d.tenant, ThreadID: d.thread, Version: d.v, Index: d.Index, Lane: d.Lane, Target: d.Target,
		Status: d.status, AvailableAt: d.due, Attempts: d.attempts, MaxAttempts: d.MaxAttempts, Owner: d.owner, LastError: d.failure}
	t := s.spaces[d.tenant].threads[d.thread]
	i, err := t.at(d.v)
	if err != nil {
		return out, false, err
	}
	whole, err = commit.FillDelivery(&out, &t.log[i])
	return out, whole, err
}

// Claim implements [selvage.Outbox].
func (s outbox) Claim(ctx context.Context, c selvage.OutboxClaim) ([]selvage.Delivery, error) {
	out, err := s.claimDue(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return out, nil
}

func (s outbox) claimDue(ctx context.Context, c selvage.OutboxClaim) ([]selvage.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	c, err := commit.CheckClaim(c)
	if err != nil {
		return nil, err
	}
	now, token := s.now(), rand.Text()
	rows := s.rows(func(d *delivery) bool {
		return d.status == selvage.DeliveryDue && d.Lane == c.Lane && (c.Target == "" || d.Target == c.Target) && !d.due.After(now)
	})
	slices.SortStableFunc(rows, func(a, b *delivery) int { return a.due.Compare(b.due) })
	out := []selvage.Delivery{}
	for _, d := range rows {
		if len(out) == c.Limit {
			break
		}
		shown, whole, err := s.show(d)
		if err != nil {
			return nil, err
		}
		if reason := commit.Undeliverable(d.attempts, d.MaxAttempts, whole, d.failure); reason != "" {
			d.status, d.failure, d.token = selvage.DeliveryDead, reason, ""
			continue
		}
		d.attempts++
		d.owner, d.token, d.due = c.Owner, token, now.Add(c.Lease).UTC().Truncate(selvage.TimePrecision)
		shown.Attempts, shown.Owner, shown.Token, shown.AvailableAt = d.attempts, d.owner, d.token, d.due
		out = append(out, shown)
	}
	return out, nil
}

// named returns a delivery by what its claim or a list said of it.
func (s outbox) named(d selvage.Delivery) (*delivery, error) {
	if _, _, _, err := selvage.ParseOutboxID(d.ID); err != nil {
		return nil, err
	}
	tenant := s.tenant
	if tenant == "" {
		tenant = d.Tenant
	}
	if space := s.spaces[tenant]; space != nil && (d.Tenant == tenant || s.tenant == tenant && d.Tenant == "") {
		if row := space.outbox[d.ID]; row != nil {
			return row, nil
		}
	}
	return nil, fmt.Errorf("it is not there: %w", selvage.ErrNotFound)
}

// claimed is named for who claimed it.
func (s outbox) claimed(ctx context.Context, d selvage.Delivery) (*delivery, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	row, err := s.named(d)
	if err != nil {
		return nil, err
	}
	if d.Token == "" || row.token != d.Token {
		return nil, commit.ErrLostClaim
	}
	return row, nil
}

// Ack implements [selvage.Outbox].
func (s outbox) Ack(ctx context.Context, d selvage.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, err := s.claimed(ctx, d)
	if err != nil {
		return fmt.Errorf("acknowledge delivery %q: %w", d.ID, err)
	}
	if row.status == selvage.DeliveryDue {
		row.status, row.done = selvage.DeliveryDelivered, s.now()
	}
	return nil
}

// Nack implements [selvage.Outbox].
func (s outbox) Nack(ctx context.Context, d selvage.Delivery, f selvage.DeliveryFailure) (selvage.DeliveryStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, err := s.claimed(ctx, d)
	if err == nil && row.status != selvage.DeliveryDue {
		err = commit.ErrLostClaim
	}
	if err == nil {
		f, err = commit.CheckFailure(f)
	}
	if err != nil {
		return "", fmt.Errorf("give delivery %q back: %w", d.ID, err)
	}
	row.failure, row.token, row.due = f.Cause, "", s.now().Add(f.After).UTC().Truncate(selvage.TimePrecision)
	if f.Permanent || row.attempts >= row.MaxAttempts {
		row.status = selvage.DeliveryDead
	}
	return row.status, nil
}

// Retry implements [selvage.Outbox].
func (s outbox) Retry(ctx context.Context, d selvage.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.enter(ctx)
	var row *delivery
	if err == nil {
		row, err = s.named(d)
	}
	if err == nil && row.status != selvage.DeliveryDead {
		err = commit.NotDead(row.status)
	}
	if err != nil {
		return fmt.Errorf("retry delivery %q: %w", d.ID, err)
	}
	row.status, row.attempts, row.due = selvage.DeliveryDue, 0, s.now().UTC().Truncate(selvage.TimePrecision)
	return nil
}

// Prune implements [selvage.Outbox].
func (s outbox) Prune(ctx context.Context, before time.Time) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return 0, fmt.Errorf("prune deliveries: %w", err)
	}
	n := 0
	for _, row := range s.rows(func(d *delivery) bool { return d.status == selvage.DeliveryDelivered && d.done.Before(before) }) {
		maps.DeleteFunc(s.spaces[row.tenant].outbox, func(_ string, d *delivery) bool { return d == row })
		n++
	}
	return n, nil
}

// deliveryShape is what binds a cursor to its query.
type deliveryShape struct {
	List         string
	Status       selvage.DeliveryStatus
	Lane, Target string
	Thread       selvage.ThreadID
}

// Deliveries implements [selvage.Outbox].
func (s outbox) Deliveries(ctx context.Context, q selvage.DeliveryQuery) (selvage.DeliveryPage, error) {
	items, next, err := s.listDeliveries(ctx, q)
	if err != nil {
		return selvage.DeliveryPage{}, fmt.Errorf("deliveries: %w", err)
	}
	return selvage.DeliveryPage{Items: items, Next: next}, nil
}

func (s outbox) listDeliveries(ctx context.Context, q selvage.DeliveryQuery) ([]selvage.Delivery, selvage.Cursor, error) {
	shape := deliveryShape{"deliveries", q.Status, q.Lane, q.Target, q.ThreadID}
	p := page[selvage.Delivery]{}
	var err error
	if p.limit, err = selvage.PageLimit(q.Limit); err != nil {
		return nil, "", err
	}
	if err := commit.CheckDeliveryQuery(q); err != nil {
		return nil, "", err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return nil, "", err
	}
	var last int64
	if q.Cursor != "" {
		if err := s.cursors.Open(q.Cursor, shape, &last); err != nil {
			return nil, "", err
		}
	}
	for _, row := range s.rows(func(d *delivery) bool {
		return d.created > last && (q.Status == "" || q.Status == d.status) && (q.Lane == "" || q.Lane == d.Lane) &&
			(q.Target == "" || q.Target == d.Target) && (q.ThreadID == "" || q.ThreadID == d.thread)
	}) {
		shown, _, err := s.show(row)
		if err != nil {
			return nil, "", err
		}
		if !p.take(row.created, func() selvage.Delivery { return shown }) {
			break
		}
	}
	return p.seal(&s.cursors, shape)
}
