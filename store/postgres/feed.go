package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// The order of the whole store is that of ord, tenant, thread and version.
//
// A transaction that runs may yet write at any place from its own number on,
// and none before it. So the feed ends below the oldest one that runs, as the
// same snapshot sees it that sees the rows: what is below stays as it is.
// Whose transaction that is does not matter, nor in which database of the
// server: the numbers are those of the server.
const (
	horizon = `SELECT g.generation, (g.generation << 48) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS top
		FROM (SELECT ('x' || encode(value, 'hex'))::bit(64)::bigint AS generation FROM selvage.meta WHERE key = 'generation') g`

	// feedQuery reads the places after one, and the changes of the tenant there:
	// of all, if it is "". What is written and cannot be shown yet is asked for
	// besides.
	feedQuery = `WITH h AS (` + horizon + `), k AS (
			SELECT p.ord, p.tenant, p.thread, p.version FROM selvage.changes p
			WHERE p.ord >= $1::bigint AND p.ord < (SELECT top FROM h) AND (p.ord, p.tenant, p.thread, p.version) > ($1::bigint, $2::text, $3::bytea, $4::bigint)
			ORDER BY p.ord, p.tenant, p.thread, p.version LIMIT $5::bigint)
		SELECT h.generation, h.top, (SELECT w.at FROM selvage.changes w WHERE w.ord >= h.top ORDER BY w.ord LIMIT 1),
			k.ord, k.tenant, k.thread, k.version, c.thread IS NOT NULL, ` + changeColumns + `, coalesce(c.prev, b.hash)
		FROM h LEFT JOIN k ON true
		LEFT JOIN selvage.changes c ON c.tenant = k.tenant AND c.thread = k.thread AND c.version = k.version AND ($6::text = '' OR c.tenant = $6::text)
		LEFT JOIN selvage.changes b ON b.tenant = c.tenant AND b.thread = c.thread AND b.version = c.version - 1
		ORDER BY k.ord, k.tenant, k.thread, k.version`

	endQuery = `WITH h AS (` + horizon + `)
		SELECT h.generation, k.ord, k.tenant, k.thread, k.version FROM h LEFT JOIN LATERAL (
			SELECT p.ord, p.tenant, p.thread, p.version FROM selvage.changes p WHERE p.ord < h.top
			ORDER BY p.ord DESC, p.tenant DESC, p.thread DESC, p.version DESC LIMIT 1) k ON true`
)

// spot is where a change stands. The columns are NULL where there is none.
type spot struct {
	ord     *int64
	tenant  *string
	thread  []byte
	version *int64
}

func (p *spot) targets() []any { return []any{&p.ord, &p.tenant, &p.thread, &p.version} }

// position is a place as the store tells it. That of another tenant's change
// says no more than how far the feed has come: to where the changes of the
// store's own tenant begin, or to what has the next number.
func (s *Store) position(generation int64, p *spot) selvage.FeedPosition {
	at := selvage.FeedPosition{Generation: generation, Order: *p.ord}
	switch {
	case s.sees(*p.tenant):
		at.Tenant, at.Thread, at.Version = *p.tenant, selvage.ThreadID(unpackID(p.thread)), selvage.Version(*p.version)
	case *p.tenant < s.tenant:
		at.Tenant = s.tenant
	default:
		at.Order++
	}
	return at
}

// sees reports whether the changes of a tenant are in the store's feed.
func (s *Store) sees(tenant string) bool { return s.tenant == "" || s.tenant == tenant }

// Feed implements [selvage.Watcher]. It proves the changes, as
// [Store.Changes] does.
func (w watcher) Feed(ctx context.Context, q selvage.FeedQuery) (page selvage.FeedPage, err error) {
	look := func() (bool, error) {
		for {
			f, err := w.s.feed(ctx, q)
			if err != nil {
				return false, err
			}
			if page, q.After = f.Page, f.Page.Next; f.Found() || !q.Wait || !page.More {
				return f.Found(), nil
			}
		}
	}
	if err := w.s.await(ctx, feedBell, q.Wait, look); err != nil {
		return selvage.FeedPage{}, fmt.Errorf("feed: %w", err)
	}
	w.s.watch.held(ctx, page.Behind)
	return page, nil
}

func (s *Store) feed(ctx context.Context, q selvage.FeedQuery) (f *commit.Feed, err error) {
	if f, err = commit.NewFeed(q); err != nil {
		return nil, err
	}
	scan := f.Limit + 1
	if s.tenant != "" {
		scan = commit.MaxScan + 1 // most may be of others
	}
	err = s.list(ctx, "feed", func(from querier) error {
		if f, err = commit.NewFeed(q); err != nil { // anew each time that it is tried
			return err
		}
		return s.fillFeed(ctx, from, f, scan)
	})
	return f, err
}

// fillFeed fills a page of the feed.
func (s *Store) fillFeed(ctx context.Context, from querier, f *commit.Feed, scan int) error {
	at := f.Page.Next
	rows, err := from.Query(ctx, s.watch.feedQuery, at.Order, at.Tenant, packID(string(at.Thread)), int64(at.Version), int64(scan), s.tenant)
	if err != nil {
		return err
	}
	defer rows.Close()
	for first, more := true, true; more && rows.Next(); first = false {
		var r feedRow
		if err := rows.Scan(r.targets()...); err != nil {
			return err
		}
		if first {
			if err := f.Begin(r.generation, at.Order > r.top); err != nil {
				return err
			}
			f.Page.Behind = s.behind(r.withheld)
		}
		if more = f.Limit > 0 && r.ord != nil; !more {
			break
		}
		if more, err = s.takePlace(f, &r); err != nil {
			return err
		}
	}
	rows.Close()
	return rows.Err()
}

// takePlace adds what stands at a place to the page, and reports whether the
// page has room.
func (s *Store) takePlace(f *commit.Feed, r *feedRow) (bool, error) {
	at := s.position(r.generation, &r.spot)
	if !s.sees(*r.tenant) {
		return f.Pass(at), nil
	}
	if !r.there { // it is the row that was found
		return false, fmt.Errorf("the change at position %s is missing: %w", at, selvage.ErrCorrupt)
	}
	c, err := r.proven(at.Thread)
	if err != nil {
		return false, err
	}
	return f.Take(selvage.FeedItem{Position: at, Tenant: at.Tenant, Change: c}), nil
}

// behind is for how long a change has been waiting that was made at a time.
func (s *Store) behind(at *int64) time.Duration {
	if at == nil {
		return 0
	}
	return max(s.now().Sub(time.UnixMilli(*at)).Truncate(selvage.TimePrecision), selvage.TimePrecision)
}

// feedRow is a row of feedQuery.
type feedRow struct {
	generation, top int64
	withheld        *int64 // when what cannot be shown yet was made
	spot
	there bool
	linkedRow
}

func (r *feedRow) targets() []any {
	into := append([]any{&r.generation, &r.top, &r.withheld}, r.spot.targets()...)
	return append(append(into, &r.there), r.linkedRow.targets()...)
}

// End implements [selvage.Watcher].
func (w watcher) End(ctx context.Context) (end selvage.FeedPosition, err error) {
	err = w.s.list(ctx, "end of the feed", func(from querier) error {
		var p spot
		end = selvage.FeedPosition{}
		if err := from.QueryRow(ctx, endQuery).Scan(append([]any{&end.Generation}, p.targets()...)...); err != nil {
			return err
		}
		if p.ord != nil {
			end = w.s.position(end.Generation, &p)
		}
		return nil
	})
	return end, err
}
