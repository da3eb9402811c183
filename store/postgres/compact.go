package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// compactor implements [selvage.Compactor].
type compactor struct{ *Store }

var _ commit.Compacter = compactor{}

// Compact implements [selvage.Compactor]. The space of the rows it replaces is
// used again when the table changes has been vacuumed.
func (c compactor) Compact(ctx context.Context, req selvage.CompactRequest) (selvage.CompactReport, error) {
	report, err := commit.Compact(ctx, c, req, c.now())
	if err != nil {
		err = fmt.Errorf("compact: %w", err)
	}
	return report, err
}

// surveyChunk is how many changes of the state are looked at at a time.
const surveyChunk = 256

// ThreadsAfter implements [commit.Compacter].
func (c compactor) ThreadsAfter(ctx context.Context, after selvage.ThreadID) (ids []selvage.ThreadID, err error) {
	err = c.read(ctx, "list the threads", func(tx pgx.Tx) error {
		var from []byte // the id of no thread is before it
		if after != "" {
			from = packID(string(after))
		}
		rows, err := tx.Query(ctx, `SELECT t.thread FROM selvage.threads t WHERE t.tenant = $1::text AND t.thread > coalesce($2::bytea, ''::bytea) AND t.born > 0
			ORDER BY t.thread LIMIT $3::bigint`, c.tenant, from, int64(selvage.MaxPage))
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (selvage.ThreadID, error) {
			var id []byte
			err := row.Scan(&id)
			return selvage.ThreadID(unpackID(id)), err
		})
		return err
	})
	return ids, err
}

// Survey implements [commit.Compacter].
func (c compactor) Survey(ctx context.Context, id selvage.ThreadID, target func(commit.Footprints) (selvage.Version, error)) (s *commit.Survey, err error) {
	err = c.read(ctx, "compact", func(tx pgx.Tx) error {
		h, _, err := c.readHead(ctx, tx, id, "")
		if err == nil {
			err = h.missing(id)
		}
		if err != nil {
			return err
		}
		s = &commit.Survey{ThreadID: id, Born: selvage.Version(h.tombstone) + 1, Horizon: h.Horizon}
		if s.Target, err = target(c.checkpoints(ctx, tx, h)); err != nil || s.Target <= s.Horizon {
			return err
		}
		for _, r := range h.Rewinds {
			if r.At <= h.Horizon {
				continue
			}
			a := commit.Anchor{At: r.At, To: r.To}
			if a.State, err = c.lastState(ctx, tx, h, r.To); err != nil {
				return err
			}
			s.Anchors = append(s.Anchors, a)
		}
		s.Changes, err = c.footprints(ctx, tx, h, `AND c.version > $3::bigint AND c.version <= $4::bigint ORDER BY c.version`,
			int64(s.Horizon), int64(s.Target))
		return err
	})
	return s, err
}

// footprints reads changes of the state.
func (s *Store) footprints(ctx context.Context, q querier, h *head, where string, args ...any) ([]commit.Footprint, error) {
	rows, err := q.Query(ctx, `SELECT c.version, c.at, coalesce(octet_length(c.rest), 0) FROM selvage.changes c
		WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.effect > 0 `+where, append([]any{s.tenant, packID(string(h.Thread.ID))}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (commit.Footprint, error) {
		var v, at int64
		var size int
		err := row.Scan(&v, &at, &size)
		return commit.Footprint{Version: selvage.Version(v), At: time.UnixMilli(at).UTC(), Size: size}, err
	})
}

// checkpoints yields the changes that made the state at the head, the newest
// first.
func (s *Store) checkpoints(ctx context.Context, q querier, h *head) commit.Footprints {
	line := commit.Lineage(h.Rewinds, selvage.Version(h.tombstone)+1, h.Thread.Version)
	var chunk []commit.Footprint
	v := h.Thread.Version + 1
	return func() (commit.Footprint, bool, error) {
		for {
			for len(chunk) > 0 {
				f := chunk[0]
				chunk, v = chunk[1:], f.Version
				if commit.Newest(line, v) == v {
					return f, true, nil
				}
			}
			if v = commit.Newest(line, v-1) + 1; v <= 1 {
				return commit.Footprint{}, false, nil
			}
			var err error
			chunk, err = s.footprints(ctx, q, h, `AND c.version > $3::bigint AND c.version < $4::bigint ORDER BY c.version DESC LIMIT $5::bigint`,
				h.tombstone, int64(v), int64(surveyChunk))
			if err != nil || len(chunk) == 0 {
				return commit.Footprint{}, false, err
			}
		}
	}
}

// lastState is the version of the last change of the state as of v, or 0.
func (s *Store) lastState(ctx context.Context, q querier, h *head, v selvage.Version) (last selvage.Version, err error) {
	from, to := spans(commit.Lineage(h.Rewinds, selvage.Version(h.tombstone)+1, v), h.tombstone)
	err = q.QueryRow(ctx, `SELECT coalesce(max(c.version), 0) FROM unnest($3::bigint[], $4::bigint[]) s(from_version, to_version)
		JOIN selvage.changes c ON c.tenant = $1::text AND c.thread = $2::bytea
			AND c.version >= s.from_version AND c.version <= s.to_version AND c.effect > 0`,
		s.tenant, packID(string(h.Thread.ID)), from, to).Scan(&last)
	return last, err
}

// Reduce implements [commit.Compacter].
func (c compactor) Reduce(ctx context.Context, s *commit.Step) (done bool, err error) {
	leave, err := c.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	key := threadKey{c.tenant, s.ThreadID}
	pass, err := c.gates.enter(ctx, key)
	if err != nil {
		return false, err
	}
	defer pass()
	defer c.heads.drop(key)
	// What a commit without an answer did is found when it is tried again: the
	// horizon has moved, which a compaction that is begun again goes on from.
	err = c.retry(ctx, "compact", func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
			s.Again()
			done, err = c.reduce(ctx, tx, s)
			return err
		})
	})
	return done, err
}

// reduce moves the horizon of a thread, if it is where the step begins.
func (s *Store) reduce(ctx context.Context, tx pgx.Tx, step *commit.Step) (bool, error) {
	thread := packID(string(step.ThreadID))
	var there int
	err := tx.QueryRow(ctx, `SELECT 1 FROM selvage.threads WHERE tenant = $1::text AND thread = $2::bytea
		AND NOT deleted AND tombstone = $3::bigint AND horizon = $4::bigint FOR UPDATE`,
		s.tenant, thread, int64(step.Born)-1, int64(step.From)).Scan(&there)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	versions := make([]int64, len(step.Versions))
	for i, v := range step.Versions {
		versions[i] = int64(v)
	}
	rows, err := tx.Query(ctx, `SELECT `+changeColumns+` FROM selvage.changes c
		WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.version = ANY($3::bigint[]) ORDER BY c.version`, s.tenant, thread, versions)
	if err != nil {
		return false, err
	}
	reduced, err := takeAll(step, rows)
	if err != nil {
		return false, err
	}
	if err := s.rewrite(ctx, tx, reduced); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `UPDATE selvage.threads SET horizon = $3::bigint WHERE tenant = $1::text AND thread = $2::bytea`, s.tenant, thread, int64(step.To))
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM selvage.state_cache WHERE tenant = $1::text AND thread = $2::bytea AND version < $3::bigint`, s.tenant, thread, int64(step.To))
	}
	return err == nil, err
}

// takeAll reduces the changes of a step.
func takeAll(step *commit.Step, rows pgx.Rows) ([]rewritten, error) {
	defer rows.Close()
	var reduced []rewritten
	for rows.Next() {
		var row changeRow
		if err := rows.Scan(row.targets()...); err != nil {
			return nil, err
		}
		c, err := row.change(step.ThreadID)
		if err != nil {
			return nil, err
		}
		if err := step.Take(&c); err != nil {
			return nil, err
		}
		r := rewritten{c, effectNone}
		if c.Base != nil {
			r.effect = effectReplace
		}
		reduced = append(reduced, r)
	}
	if len(reduced) != len(step.Versions) && rows.Err() == nil {
		return nil, fmt.Errorf("thread %q has a gap in its log: %w", step.ThreadID, selvage.ErrCorrupt)
	}
	return reduced, rows.Err()
}
