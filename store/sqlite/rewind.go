package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// A rewind is a change whose links to the last change of the state and of
// messages lead to those of the version it goes back to, as the head's then do.
// Who follows them passes over what is hidden.

// turn is where the log was at a version.
type turn struct {
	statePos     int64 // of the last change of the state up to it
	stateVersion selvage.Version
	messagePos   int64 // of the last change up to it that added messages
	tail         tail
}

// goBack makes the log go on from where it was.
func (e *entry) goBack(to *turn) {
	e.statePos, e.stateVersion, e.messagePos, e.tail = to.statePos, to.stateVersion, to.messagePos, to.tail
}

// turned is the version of the last rewind, 0 if there was none.
func (h *head) turned() selvage.Version {
	if n := len(h.Rewinds); n > 0 {
		return h.Rewinds[n-1].At
	}
	return 0
}

// reach is the last version before the first rewind after v: up to it one
// version leads to the next.
func (h *head) reach(v selvage.Version) selvage.Version {
	i, _ := slices.BinarySearchFunc(h.Rewinds, v, func(r commit.Rewind, v selvage.Version) int {
		if r.At <= v {
			return -1
		}
		return 1
	})
	if i < len(h.Rewinds) {
		return h.Rewinds[i].At - 1
	}
	return h.Thread.Version
}

// joins reports whether the seqs of a change go on where those of the one before
// it end, or where a fork left some out.
func (h *head) joins(before, after *change) bool {
	end := before.LastSeq() + 1
	return end == after.FirstSeq || after.Reason == selvage.ReasonForked && slices.Contains(h.Rewinds,
		commit.Rewind{At: after.Version, To: before.Version, Next: after.FirstSeq, Back: end})
}

// visible are the stretches of messages that can be seen at version v, as of
// which the next message had a certain seq.
func (h *head) visible(c *conn, v selvage.Version, next int64) ([]commit.Segment, error) {
	if len(h.Rewinds) == 0 {
		return commit.Visible(nil, 1, v, next), nil
	}
	var first int64 // before it nothing is left
	if _, err := c.one(func(r *rows) { first = r.int(0) }, firstSeq, h.born); err != nil {
		return nil, err
	}
	return commit.Visible(h.Rewinds, first, v, next), nil
}

// turnIDs makes the ids of messages free that a rewind hides, and takes those
// that it shows again.
func (t *txn) turnIDs(before, after *entry, p *commit.Plan) error {
	was, err := before.visible(t.c, before.Thread.Version, before.NextSeq)
	if err != nil {
		return err
	}
	is, err := after.visible(t.c, after.Thread.Version, after.NextSeq)
	if err != nil {
		return err
	}
	err = before.saidIn(background(), t.c, commit.Without(was, is), func(ch *change, m selvage.Message) error {
		_, err := t.exec(deleteID, idKey(m.ID, after.key), after.key, int64(kindMessage), ch.pos)
		return err
	})
	if err != nil {
		return err
	}
	return before.saidIn(background(), t.c, commit.Without(is, was), func(ch *change, m selvage.Message) error {
		n, err := t.exec(t.w.insertIDs(1), idKey(m.ID, after.key), after.key, int64(kindMessage), ch.pos)
		if err == nil && n != 1 {
			err = corrupt(after.Thread.ID, p.Change.Version, "message %d would be shown again, and another one bears its id", m.Seq)
		}
		return err
	})
}

// saidIn visits the messages of stretches of the log.
func (h *head) saidIn(ctx context.Context, c *conn, segments []commit.Segment, visit func(*change, selvage.Message) error) error {
	for _, s := range segments {
		start, err := h.locateSeq(ctx, c, s, s.Last)
		if err != nil {
			return err
		}
		if err := h.said(ctx, c, s, start, visit); err != nil {
			return err
		}
	}
	return nil
}

// said visits the messages of a stretch of the log, the last one first, from a
// change on that is not before them.
func (h *head) said(ctx context.Context, c *conn, s commit.Segment, start int64, visit func(*change, selvage.Message) error) error {
	return h.walkMessages(ctx, c, start, s.First, func(ch *change) (bool, error) {
		if ch.pos == h.pos {
			if err := h.follows(ch); err != nil {
				return false, err
			}
		}
		added, err := ch.AddedMessages()
		if err != nil {
			return false, err
		}
		for _, m := range slices.Backward(added) {
			if m.Seq < s.First || m.Seq > s.Last {
				continue
			}
			if err := visit(ch, m); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// lastMessage is the position of the last change up to ch that added messages.
func (ch *change) lastMessage() int64 {
	if ch.Added > 0 {
		return ch.pos
	}
	return ch.messagePrev
}

// versionAt is the version of the change at a position; of none it is 0.
func versionAt(c *conn, pos int64) (v selvage.Version, err error) {
	if pos == 0 {
		return 0, nil
	}
	if _, err := c.one(func(r *rows) { v = selvage.Version(r.int(0)) }, `SELECT version FROM changes WHERE pos = ?`, pos); err != nil {
		return 0, fmt.Errorf("the version at position %d: %w", pos, err)
	}
	return v, nil
}
