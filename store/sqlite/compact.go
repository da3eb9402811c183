package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// compactor implements [selvage.Compactor].
type compactor struct{ *Store }

var _ commit.Compacter = compactor{}

// Compact implements [selvage.Compactor]. The pages it frees are used again by
// what is written next; VACUUM gives them back to the file system.
func (c compactor) Compact(ctx context.Context, req selvage.CompactRequest) (selvage.CompactReport, error) {
	report, err := commit.Compact(ctx, c, req, c.opts.Now())
	if err != nil {
		err = fmt.Errorf("compact: %w", err)
	}
	return report, err
}

const (
	threadsAfter = `SELECT id FROM threads WHERE tenant = ? AND id > ? AND born IS NOT NULL ORDER BY id LIMIT ?`

	// The changes of the state that lead up to a position, newest first,
	// replacements and compacted ones included.
	walkCheckpoints = `WITH RECURSIVE chain (pos, prev, version, at) AS (
			SELECT pos, state_prev, version, at FROM changes WHERE pos = ?1
			UNION ALL
			SELECT c.pos, c.state_prev, c.version, c.at FROM chain JOIN changes c ON c.pos = chain.prev WHERE c.version < chain.version
		)
		SELECT version, at FROM chain`

	// The changes of the state among those from a position back to a version.
	walkFootprints = chainBack + `c.version, c.at, coalesce(length(c.rest), 0) FROM chain CROSS JOIN changes c ON c.pos = chain.pos
		WHERE chain.version <= ?3 AND c.effect > 0`

	moveHorizon   = `UPDATE threads SET horizon = ? WHERE key = ?`
	deleteOldDocs = `DELETE FROM state_cache WHERE thread = ? AND version < ?`
)

// ThreadsAfter implements [commit.Compacter].
func (c compactor) ThreadsAfter(ctx context.Context, after selvage.ThreadID) (ids []selvage.ThreadID, err error) {
	err = c.read(ctx, func(conn *conn) error {
		r, err := conn.query(threadsAfter, c.tenant, string(after), int64(selvage.MaxPage))
		if err != nil {
			return err
		}
		for r.next() {
			ids = append(ids, selvage.ThreadID(r.text(0)))
		}
		return r.close()
	})
	return ids, err
}

// Survey implements [commit.Compacter].
func (c compactor) Survey(ctx context.Context, id selvage.ThreadID, target func(commit.Footprints) (selvage.Version, error)) (s *commit.Survey, err error) {
	err = c.read(ctx, func(conn *conn) error {
		h, err := readHead(conn, c.tenant, id)
		if err == nil {
			err = h.readable()
		}
		if err != nil {
			return err
		}
		s = &commit.Survey{ThreadID: id, Horizon: h.Horizon}
		if s.Born, err = h.firstVersion(conn); err != nil {
			return err
		}
		if s.Target, err = h.checkpoints(conn, target); err != nil || s.Target <= s.Horizon {
			return err
		}
		if s.Anchors, err = h.anchors(ctx, conn); err != nil {
			return err
		}
		s.Changes, err = h.footprints(conn, s.Horizon+1, s.Target)
		return err
	})
	return s, err
}

// checkpoints lets target see the changes that made the state at the head.
func (h *head) checkpoints(c *conn, target func(commit.Footprints) (selvage.Version, error)) (selvage.Version, error) {
	r, err := c.query(walkCheckpoints, h.statePos)
	if err != nil {
		return 0, err
	}
	v, err := target(func() (f commit.Footprint, ok bool, err error) {
		if !r.next() {
			return f, false, nil // what went wrong is told by close
		}
		return commit.Footprint{Version: selvage.Version(r.int(0)), At: time.UnixMilli(r.int(1)).UTC()}, true, nil
	})
	return v, errors.Join(err, r.close())
}

// anchors tells where the states of rewinds above the horizon come from.
func (h *head) anchors(ctx context.Context, c *conn) (anchors []commit.Anchor, err error) {
	for _, r := range h.Rewinds {
		if r.At <= h.Horizon {
			continue
		}
		at, err := h.readAt(ctx, c, r.To)
		if err != nil {
			return nil, err
		}
		v, err := versionAt(c, at.lastState())
		if err != nil {
			return nil, err
		}
		anchors = append(anchors, commit.Anchor{At: r.At, To: r.To, State: v})
	}
	return anchors, nil
}

// footprints returns the changes of the state between two versions, hidden ones
// too, in order.
func (h *head) footprints(c *conn, lo, hi selvage.Version) (found []commit.Footprint, err error) {
	start, err := h.locate(c, hi)
	if err != nil {
		return nil, err
	}
	r, err := c.query(walkFootprints, start, int64(lo), int64(hi))
	if err != nil {
		return nil, err
	}
	for r.next() {
		if v := selvage.Version(r.int(0)); v >= lo {
			found = append(found, commit.Footprint{Version: v, At: time.UnixMilli(r.int(1)).UTC(), Size: int(r.int(2))})
		}
	}
	slices.Reverse(found)
	return found, r.close()
}

// Reduce implements [commit.Compacter].
func (c compactor) Reduce(ctx context.Context, s *commit.Step) (done bool, err error) {
	if err := c.enter(ctx); err != nil {
		return false, err
	}
	defer c.leave()
	err = c.writer.alone(ctx, c.tenant, func(t *txn) (err error) {
		s.Again()
		done, err = t.reduce(s)
		return err
	})
	return done, err
}

// reduce moves the horizon of a thread, if it is where the step begins.
func (t *txn) reduce(s *commit.Step) (done bool, err error) {
	e, err := t.head(s.ThreadID)
	if err != nil || !e.Exists() || e.Horizon != s.From {
		return false, err
	}
	if born, err := e.firstVersion(t.c); err != nil || born != s.Born {
		return false, err
	}
	reduced := make([]*change, len(s.Versions))
	for i, v := range s.Versions {
		ch, err := e.readAt(background(), t.c, v)
		if err != nil {
			return false, err
		}
		if err := s.Take(&ch.Change); err != nil {
			return false, err
		}
		if ch.effect = effectNone; ch.Base != nil {
			ch.effect = effectReplace
		}
		reduced[i] = ch
	}
	if err := t.rewrite(e.key, reduced); err != nil {
		return false, err
	}
	if _, err := t.exec(moveHorizon, int64(s.To), e.key); err != nil {
		return false, err
	}
	if _, err := t.exec(deleteOldDocs, e.key, int64(s.To)); err != nil {
		return false, err
	}
	moved := *e
	moved.Horizon = s.To
	t.changed[moved.name()] = &moved
	return true, nil
}
