package sqlite

import (
	"context"
	"errors"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// markEvery is how many versions lie between two marks. A version is found
// from the mark after it by steps back.
const markEvery = 32

const (
	insertMark = `INSERT INTO marks (thread, version, first_seq, pos) VALUES (?, ?, ?, ?)`

	// The next mark at or after a version, and the next one after a seq. Every
	// change before the latter begins at or before the seq.
	markOfVersion = `SELECT version, pos FROM marks WHERE thread = ? AND version >= ? ORDER BY version LIMIT 1`
	markOfSeq     = `SELECT version, pos FROM marks WHERE thread = ? AND first_seq > ? ORDER BY first_seq, version LIMIT 1`

	// The changes from a position back to a version, newest first, and how far
	// back they reach. Only links are carried along the way; the rows are read
	// as they are asked for. A link that leads anywhere but one version down
	// leads nowhere, so that a damaged one cannot send a walk in circles.
	chainBack = `WITH RECURSIVE chain (pos, prev, version) AS (
			SELECT pos, prev, version FROM changes WHERE pos = ?1
			UNION ALL
			SELECT c.pos, c.prev, c.version FROM chain JOIN changes c ON c.pos = chain.prev
			WHERE chain.version > ?2 AND c.version = chain.version - 1
		)
		SELECT `
	lowestBack = chainBack + `min(version) FROM chain WHERE version <= ?3`
	walkBack   = chainBack + changeColumns + ` FROM chain CROSS JOIN changes c ON c.pos = chain.pos WHERE chain.version <= ?3`

	// The change at a position and those before it that added messages, newest
	// first.
	walkMessages = `WITH RECURSIVE chain (pos, prev, version) AS (
			SELECT pos, message_prev, version FROM changes WHERE pos = ?1
			UNION ALL
			SELECT c.pos, c.message_prev, c.version FROM chain JOIN changes c ON c.pos = chain.prev
			WHERE c.version < chain.version
		)
		SELECT ` + changeColumns + ` FROM chain CROSS JOIN changes c ON c.pos = chain.pos`

	// The links of the changes of the state from a position back to a version
	// or to the last replacement, newest first.
	walkState = `WITH RECURSIVE chain (pos, prev, version, effect) AS (
			SELECT pos, state_prev, version, effect FROM changes WHERE pos = ?1
			UNION ALL
			SELECT c.pos, c.state_prev, c.version, c.effect FROM chain JOIN changes c ON c.pos = chain.prev
			WHERE chain.effect <> 2 AND chain.version > ?2 AND c.version < chain.version
		)
		SELECT pos, prev, version, effect FROM chain`

	hashAt = `SELECT hash FROM changes WHERE pos = ?`
)

// span is a stretch of a thread's log, both ends included.
type span struct {
	lo, hi selvage.Version
}

// walk reads changes from hi back to lo and proves their content. Visit says
// whether to go on.
func (h *head) walk(ctx context.Context, c *conn, s span, visit func(*change) (bool, error)) error {
	s.lo = max(s.lo, 1)
	s.hi = min(s.hi, h.Thread.Version)
	if s.lo > s.hi {
		return nil
	}
	start, err := h.locate(c, s.hi)
	if err != nil {
		return err
	}
	r, err := c.query(walkBack, start, int64(s.lo), int64(s.hi))
	if err != nil {
		return err
	}
	err = h.visit(ctx, r, s.lo, visit)
	if err = errors.Join(err, r.close()); errors.Is(err, errNoRow) {
		return h.gap(c, start)
	}
	return err
}

// gap is the error about a log that does not lead from a position back to where
// a walk was to begin. It names the version that is missing.
func (h *head) gap(c *conn, start int64) error {
	var lowest selvage.Version
	found, err := c.one(func(r *rows) { lowest = selvage.Version(r.int(0)) }, lowestBack, start, int64(0), int64(h.Thread.Version))
	switch {
	case err != nil:
		return err
	case !found || lowest == 0:
		return corrupt(h.Thread.ID, h.Thread.Version, "the log cannot be found from here")
	}
	return corrupt(h.Thread.ID, lowest-1, "it is missing")
}

// visit goes through the rows of a walk, and makes sure that none is missing.
func (h *head) visit(ctx context.Context, r *rows, lo selvage.Version, visit func(*change) (bool, error)) error {
	var after *change
	for r.next() {
		ch, err := h.prove(ctx, r)
		if err != nil {
			return err
		}
		if after != nil && (!h.joins(ch, after) || ch.Version+1 != after.Version) {
			return corrupt(h.Thread.ID, ch.Version, "it does not lead to version %d, which comes after it", after.Version)
		}
		after = ch
		if more, err := visit(ch); err != nil || !more {
			return err
		}
	}
	switch {
	case r.err != nil:
		return nil // told by close
	case after == nil:
		return errNoRow
	case after.prev != 0 && after.Version > lo:
		return corrupt(h.Thread.ID, after.Version-1, "it is missing")
	}
	return nil
}

// prove reads the change of a row and proves its content.
func (h *head) prove(ctx context.Context, r *rows) (*change, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ch, err := scanChange(r, h)
	if err != nil {
		return nil, err
	}
	return ch, ch.VerifyContent()
}

// locate returns a position at version v or at most markEvery-1 versions after.
func (h *head) locate(c *conn, v selvage.Version) (int64, error) {
	if v > h.Thread.Version-markEvery {
		return h.pos, nil
	}
	pos := h.pos
	_, err := c.one(func(r *rows) { pos = r.int(1) }, markOfVersion, h.key, int64(v))
	return pos, err
}

// locateSeq returns the position of a change at or after the one that added
// the message of a seq, without a rewind between the two. At most markEvery changes with messages lie between.
func (h *head) locateSeq(ctx context.Context, c *conn, s commit.Segment, seq int64) (pos int64, err error) {
	var mark selvage.Version
	found, err := c.one(func(r *rows) { mark, pos = selvage.Version(r.int(0)), r.int(1) }, markOfSeq, h.key, seq)
	reach := h.reach(s.To)
	switch {
	case err != nil, found && mark <= reach:
		return pos, err
	case reach == h.Thread.Version:
		return h.pos, nil
	}
	at, err := h.readAt(ctx, c, s.To)
	if err != nil {
		return 0, err
	}
	return at.pos, nil
}

// prevOf returns the hash of the change before ch.
func prevOf(c *conn, ch *change) (hash selvage.Hash, err error) {
	if ch.hasPrev || ch.prev == 0 {
		return ch.Prev, nil
	}
	found, err := c.one(func(r *rows) { copy(hash[:], r.blob(0)) }, hashAt, ch.prev)
	if err == nil && !found {
		err = corrupt(ch.ThreadID, ch.Version-1, "it is missing")
	}
	return hash, err
}
