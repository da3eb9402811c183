package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
)

// insertChange writes the row of the log.
func (w *write) insertChange(effect int16) {
	c := &w.plan.Change
	sizes, messages := packMessages(c.Messages)
	var rest []byte
	if len(c.Rest) > len(emptyRest) {
		rest = c.Rest
	}
	var prev []byte
	if c.Reason == selvage.ReasonDeleted {
		prev = c.Prev[:] // the row that would tell goes
	}
	w.sql.WriteString(`, c AS (INSERT INTO selvage.changes (tenant, thread, ord, version, at, first_seq, added, reason, effect,
		id, run, parent_run, dropped, salt, content, hash, prev, sizes, rest, messages) SELECT $1::text, $2::bytea, h.ord`)
	for _, v := range []struct {
		value any
		kind  string
	}{
		{int64(c.Version), "bigint"}, {c.At.UnixMilli(), "bigint"}, {c.FirstSeq, "bigint"}, {int32(c.Added), "integer"},
		{reasonNumber(c.Reason), "smallint"}, {effect, "smallint"}, {packID(c.ID), "bytea"},
		{packOptional(string(c.RunID)), "bytea"}, {packOptional(string(c.ParentRunID)), "bytea"}, {packInts(c.Dropped), "bytea"},
		{c.Seal(), "bytea"}, {c.Content[:], "bytea"}, {c.Hash[:], "bytea"}, {prev, "bytea"}, {sizes, "bytea"}, {rest, "bytea"}, {messages, "bytea"},
	} {
		w.sql.WriteString(", ")
		w.arg(v.value, v.kind)
	}
	w.sql.WriteString(" FROM h)")
}

// insertIDs takes the ids of the messages. The change set's own is taken by
// its row.
func (w *write) insertIDs() {
	if len(w.plan.MessageIDs) == 0 {
		return
	}
	keys := make([][]byte, len(w.plan.MessageIDs))
	for i, id := range w.plan.MessageIDs {
		keys[i] = messageKey(id)
	}
	w.sql.WriteString(`, i AS (INSERT INTO selvage.message_ids (tenant, thread, id) SELECT $1::text, $2::bytea, unnest(`)
	w.arg(keys, "bytea[]")
	w.sql.WriteString(") FROM h)")
}

// exec runs the statement and reports whether the head was the one judged. A
// rewind takes more than that, so q must be a transaction.
func (w *write) exec(ctx context.Context, q querier) (bool, error) {
	var ord int64
	err := q.QueryRow(ctx, w.sql.String(), w.args...).Scan(&ord)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err == nil && w.plan.Rewind != 0 {
		err = w.store.turnIDs(ctx, q, w.from, w.next)
	}
	return err == nil, err
}

// remember keeps the head that a committed write made at hand, has the state
// document kept when the tail outweighs it, and wakes who waits for the change.
func (s *Store) remember(k threadKey, w *write) {
	s.heads.put(k, s.keep.consider(k, w.next))
	s.watch.committed(k)
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func expiry(t *selvage.Thread) *int64 {
	if t.ExpiresAt.IsZero() {
		return nil
	}
	ms := t.ExpiresAt.UnixMilli()
	return &ms
}
