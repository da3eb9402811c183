package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// messageShape is what binds a cursor to its query.
type messageShape struct {
	List          string
	Tenant        string
	Thread        selvage.ThreadID
	At            selvage.Version
	After, Before int64
	Order         selvage.Order
	Visibility    selvage.VisibilityFilter
	RunID         selvage.RunID
}

// Messages implements [selvage.Store].
func (s *Store) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	items, next, err := s.messages(ctx, id, q)
	if err != nil {
		return selvage.MessagePage{}, fmt.Errorf("messages of thread %q: %w", id, err)
	}
	return selvage.MessagePage{Items: items, Next: next}, nil
}

func (s *Store) messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (items []selvage.Message, next selvage.Cursor, err error) {
	shape := messageShape{List: "messages", Tenant: s.tenant, Thread: id, At: q.At, After: q.After, Before: q.Before, Visibility: q.Visibility, RunID: q.RunID}
	if shape.Order, err = direction(q.Order, selvage.Ascending); err != nil {
		return nil, "", err
	}
	switch q.Visibility {
	case selvage.ShowAll, selvage.ShowExternal, selvage.ShowInternal:
	case "":
		shape.Visibility = selvage.ShowExternal
	default:
		return nil, "", &selvage.InvalidError{Field: "visibility", Reason: fmt.Sprintf("%q is not a filter; use all, external or internal", q.Visibility)}
	}
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return nil, "", err
	}
	err = s.read(ctx, "messages", func(tx pgx.Tx) error {
		r := &messageReader{store: s, from: tx, query: q, shape: shape, page: page[selvage.Message]{limit: limit}}
		if err := r.bounds(ctx, id); err != nil {
			return err
		}
		if err := r.fill(ctx); err != nil {
			return err
		}
		items, next, err = r.page.seal(&s.cursors, shape)
		return err
	})
	return items, next, err
}

// messageReader reads one page of messages.
type messageReader struct {
	store *Store
	from  pgx.Tx
	query selvage.MessageQuery
	shape messageShape
	page  page[selvage.Message]

	head   *head
	wanted []commit.Segment // in the order of the page
	lo, hi int64            // of the one at hand, both included
}

func (r *messageReader) backwards() bool { return r.shape.Order == selvage.Descending }

// bounds works out which seqs the page may hold.
func (r *messageReader) bounds(ctx context.Context, id selvage.ThreadID) (err error) {
	if r.head, _, err = r.store.readHead(ctx, r.from, id, ""); err != nil {
		return err
	}
	if err := r.head.missing(id); err != nil {
		return err
	}
	at, err := r.head.at(r.query.At)
	if err != nil {
		return err
	}
	next := r.head.NextSeq
	if at != r.head.Thread.Version {
		if next, err = r.store.nextSeq(ctx, r.from, r.head, at); err != nil {
			return err
		}
	}
	after, hi := r.query.After, next-1
	if before := r.query.Before; before != 0 {
		hi = min(hi, max(before, 1)-1)
	}
	if r.query.Cursor != "" {
		var last int64
		if err := r.store.cursors.Open(r.query.Cursor, r.shape, &last); err != nil {
			return err
		}
		if r.backwards() {
			hi = min(hi, last-1)
		} else {
			after = max(after, last)
		}
	}
	if after == math.MaxInt64 {
		return nil
	}
	r.wanted = commit.Clip(commit.Visible(r.head.Rewinds, r.head.firstSeq, at, next), after+1, hi)
	if r.backwards() {
		slices.Reverse(r.wanted)
	}
	return nil
}

// messageChunk is how many changes are read at a time, at first.
const messageChunk = 64

// fill reads one stretch of messages after the other until the page is full.
func (r *messageReader) fill(ctx context.Context) error {
	if r.page.limit == 0 {
		return nil
	}
	for _, s := range r.wanted {
		r.lo, r.hi = s.First, s.Last
		if err := r.fillFrom(ctx); err != nil || r.page.more {
			return err
		}
	}
	return nil
}

// fillFrom reads changes in portions, each larger than the one before because
// the filter has let little through, until the page is full.
func (r *messageReader) fillFrom(ctx context.Context) error {
	start := r.lo
	if r.backwards() {
		start = r.hi
	}
	version, err := r.store.versionOf(ctx, r.from, r.head, start)
	if err != nil {
		return err
	}
	for size := messageChunk; ; size = min(2*size, 16*messageChunk) {
		n, last, full, err := r.portion(ctx, version, size)
		if err != nil || full || n < size {
			return err
		}
		if version = last + 1; r.backwards() {
			version = last - 1
		}
	}
}

// portion reads at most size changes from a version on. It reports how many
// there were, the version of the last and whether the page wants no more.
func (r *messageReader) portion(ctx context.Context, from int64, size int) (n int, last int64, full bool, err error) {
	sql := `SELECT ` + changeColumns + ` FROM selvage.changes c WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.added > 0
		AND c.version >= $3::bigint AND c.first_seq <= $4::bigint ORDER BY c.version LIMIT $5::bigint`
	bound := r.hi
	if r.backwards() {
		sql = `SELECT ` + changeColumns + ` FROM selvage.changes c WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.added > 0
			AND c.version <= $3::bigint AND c.first_seq + c.added > $4::bigint ORDER BY c.version DESC LIMIT $5::bigint`
		bound = r.lo
	}
	rows, err := r.from.Query(ctx, sql, r.store.tenant, packID(string(r.head.Thread.ID)), from, bound, size)
	if err != nil {
		return 0, 0, false, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var row changeRow
		if err := rows.Scan(row.targets()...); err != nil {
			return n, 0, false, err
		}
		last = row.version
		if full, err = r.take(&row); err != nil || full {
			return n, last, full, err
		}
	}
	return n, last, false, rows.Err()
}

// take adds the messages of a change to the page and reports whether it is full.
func (r *messageReader) take(row *changeRow) (full bool, err error) {
	c, err := row.change(r.head.Thread.ID)
	if err != nil {
		return false, err
	}
	messages, err := c.AddedMessages()
	if err != nil {
		return false, err
	}
	if r.backwards() {
		slices.Reverse(messages)
	}
	for i := range messages {
		m := &messages[i]
		if m.Seq < r.lo || m.Seq > r.hi || !r.shape.Visibility.Match(m) || r.query.RunID != "" && m.RunID != r.query.RunID {
			continue
		}
		if !r.page.take(m.Seq, *m) {
			return true, nil
		}
	}
	return false, nil
}
