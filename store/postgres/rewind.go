package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// turned is the version of the last rewind, 0 if there was none.
func (h *head) turned() int64 {
	if n := len(h.Rewinds); n > 0 {
		return int64(h.Rewinds[n-1].At)
	}
	return 0
}

// nextSeq returns the seq that the next message had as of a version.
func (s *Store) nextSeq(ctx context.Context, q querier, h *head, v selvage.Version) (seq int64, err error) {
	err = q.QueryRow(ctx, `SELECT c.first_seq + c.added FROM selvage.changes c
		WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.version = $3::bigint`,
		s.tenant, packID(string(h.Thread.ID)), int64(v)).Scan(&seq)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, &selvage.CorruptError{Thread: h.Thread.ID, Version: v, Reason: "it is missing"}
	}
	return seq, err
}

// turnIDs makes the ids of messages free that a rewind hides, and takes those
// that it shows again.
func (s *Store) turnIDs(ctx context.Context, q querier, from, to *head) error {
	was, is := from.Visible(from.firstSeq), to.Visible(to.firstSeq)
	thread := packID(string(to.Thread.ID))
	for _, turn := range []struct {
		messages []commit.Segment
		sql      string
	}{
		{commit.Without(was, is), `DELETE FROM selvage.message_ids WHERE tenant = $1::text AND thread = $2::bytea AND id = ANY($3::bytea[])`},
		{commit.Without(is, was), `INSERT INTO selvage.message_ids (tenant, thread, id) SELECT $1::text, $2::bytea, unnest($3::bytea[])`},
	} {
		messages, err := s.said(ctx, q, to, turn.messages)
		if err != nil || len(messages) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		keys := make([][]byte, len(messages))
		for i := range messages {
			keys[i] = messageKey(messages[i].ID)
		}
		if _, err := q.Exec(ctx, turn.sql, s.tenant, thread, keys); err != nil {
			return err
		}
	}
	return nil
}

// said reads the messages of stretches of the log.
func (s *Store) said(ctx context.Context, q querier, h *head, segments []commit.Segment) ([]selvage.Message, error) {
	var all []selvage.Message
	for _, seg := range segments {
		messages, err := s.stretch(ctx, q, h, seg)
		if err != nil {
			return nil, err
		}
		all = append(all, messages...)
	}
	return all, nil
}

// stretchSpan is how many changes are looked at together for messages. Where
// that many in a row have none, the next one that has is looked up.
const stretchSpan = 256

// stretch reads the messages of one stretch of the log. Changes without
// messages cost next to nothing, however many there are in between.
func (s *Store) stretch(ctx context.Context, q querier, h *head, seg commit.Segment) ([]selvage.Message, error) {
	id := h.Thread.ID
	var all []selvage.Message
	for next := seg.First; next <= seg.Last; {
		from, err := s.versionOf(ctx, q, h, next)
		if err != nil {
			return nil, err
		}
		for began := next; next <= seg.Last; from += stretchSpan {
			rows, err := q.Query(ctx, `SELECT `+changeColumns+` FROM selvage.changes c
				WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.version >= $3::bigint AND c.version < $4::bigint
					AND c.added > 0 AND c.first_seq <= $5::bigint ORDER BY c.version`, s.tenant, packID(string(id)), from, from+stretchSpan, seg.Last)
			if err != nil {
				return nil, err
			}
			found, err := scanMessages(id, rows)
			if err != nil {
				return nil, err
			}
			before := next
			for _, m := range found {
				if m.Seq == next && m.Seq <= seg.Last {
					all, next = append(all, m), next+1
				}
			}
			if next == began {
				return nil, damaged(id, from, "the message with seq %d is missing", next)
			}
			if next == before {
				break // there is a gap, which is jumped over
			}
		}
	}
	return all, nil
}
