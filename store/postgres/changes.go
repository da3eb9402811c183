package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
)

// changeShape is what binds a cursor to its query.
type changeShape struct {
	List          string
	Tenant        string
	Thread        selvage.ThreadID
	After, Before selvage.Version
	Order         selvage.Order
}

// Changes implements [selvage.Store].
func (s *Store) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	items, next, err := s.changes(ctx, id, q)
	if err != nil {
		return selvage.ChangePage{}, fmt.Errorf("changes of thread %q: %w", id, err)
	}
	return selvage.ChangePage{Items: items, Next: next}, nil
}

func (s *Store) changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (items []selvage.Change, next selvage.Cursor, err error) {
	shape := changeShape{List: "changes", Tenant: s.tenant, Thread: id, After: q.After, Before: q.Before}
	if shape.Order, err = direction(q.Order, selvage.Ascending); err != nil {
		return nil, "", err
	}
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return nil, "", err
	}
	err = s.read(ctx, "changes", func(tx pgx.Tx) error {
		h, _, err := s.readHead(ctx, tx, id, "")
		if err != nil {
			return err
		}
		if err := h.missing(id); err != nil {
			return err
		}
		after, before := int64(q.After), int64(q.Before)
		if before == 0 {
			before = math.MaxInt64
		}
		if q.Cursor != "" {
			var last int64
			if err := s.cursors.Open(q.Cursor, shape, &last); err != nil {
				return err
			}
			if shape.Order == selvage.Descending {
				before = min(before, last)
			} else {
				after = max(after, last)
			}
		}
		p := page[selvage.Change]{limit: limit}
		if err := s.readChanges(ctx, tx, id, &p, after, before, shape.Order); err != nil {
			return err
		}
		items, next, err = p.seal(&s.cursors, shape)
		return err
	})
	return items, next, err
}

// readChanges reads a page of the changes with after < version < before.
func (s *Store) readChanges(ctx context.Context, q querier, id selvage.ThreadID, p *page[selvage.Change], after, before int64, order selvage.Order) error {
	if p.limit == 0 {
		return nil
	}
	by := " ORDER BY c.version"
	if order == selvage.Descending {
		by += " DESC"
	}
	rows, err := q.Query(ctx, `SELECT `+changeColumns+`, coalesce(c.prev, b.hash) FROM selvage.changes c
		LEFT JOIN selvage.changes b ON b.tenant = c.tenant AND b.thread = c.thread AND b.version = c.version - 1
		WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.version > $3::bigint AND c.version < $4::bigint`+by+` LIMIT $5::bigint`,
		s.tenant, packID(string(id)), after, before, p.limit+1)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row changeRow
		var prev []byte
		if err := rows.Scan(append(row.targets(), &prev)...); err != nil {
			return err
		}
		c, err := row.change(id)
		if err != nil {
			return err
		}
		copy(c.Prev[:], prev)
		if err := c.Verify(c.Prev); err != nil {
			return err
		}
		if !p.take(c.Version, c) {
			break
		}
	}
	rows.Close()
	return rows.Err()
}
