package postgres

import (
	"context"
	"errors"
	"fmt"

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
	if len(segments) == 0 {
		return nil, nil
	}
	from, to := make([]int64, len(segments)), make([]int64, len(segments))
	for i, seg := range segments {
		var err error
		if from[i], err = s.versionOf(ctx, q, h, seg.First); err != nil {
			return nil, err
		}
		to[i] = int64(seg.To)
	}
	rows, err := q.Query(ctx, `SELECT `+changeColumns+` FROM unnest($3::bigint[], $4::bigint[]) s(from_version, to_version)
		JOIN selvage.changes c ON c.tenant = $1::text AND c.thread = $2::bytea
			AND c.version >= s.from_version AND c.version <= s.to_version AND c.added > 0
		ORDER BY c.version`, s.tenant, packID(string(h.Thread.ID)), from, to)
	if err != nil {
		return nil, err
	}
	all, err := scanMessages(h.Thread.ID, rows)
	if err != nil {
		return nil, err
	}
	var found []selvage.Message
	want, i := int64(0), 0
	for _, seg := range segments {
		want += seg.Last - seg.First + 1
		for ; i < len(all) && all[i].Seq <= seg.Last; i++ {
			if all[i].Seq >= seg.First {
				found = append(found, all[i])
			}
		}
	}
	if int64(len(found)) != want {
		return nil, fmt.Errorf("thread %q: %d messages of %d are there: %w", h.Thread.ID, len(found), want, selvage.ErrCorrupt)
	}
	return found, nil
}
