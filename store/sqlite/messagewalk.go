package sqlite

import (
	"context"
	"errors"
)

// walkMessages reads the change at a position and those before it that added
// messages, back to the one that added the message with seq lo, and proves
// their content. Visit says whether to go on.
func (h *head) walkMessages(ctx context.Context, c *conn, start, lo int64, visit func(*change) (bool, error)) error {
	r, err := c.query(walkMessages, start)
	if err != nil {
		return err
	}
	var after *change
	more := true
	for more && err == nil && r.next() {
		var ch *change
		if ch, err = h.prove(ctx, r); err != nil {
			break
		}
		if after != nil && ch.LastSeq()+1 != after.FirstSeq {
			err = corrupt(h.Thread.ID, ch.Version, "it does not lead to version %d, whose messages come after its own", after.Version)
			break
		}
		after = ch
		more, err = visit(ch)
		more = more && ch.FirstSeq > lo
	}
	if err = errors.Join(err, r.close()); err != nil || !more {
		return err
	}
	return h.endsAt(c, after)
}

// endsAt checks that a walk along the messages that came to ch could go no
// further.
func (h *head) endsAt(c *conn, ch *change) error {
	switch {
	case ch == nil:
		return corrupt(h.Thread.ID, h.Thread.Version, "the log cannot be found from here")
	case ch.messagePrev != 0:
		return corrupt(h.Thread.ID, ch.Version, "the change before it that added messages is missing")
	}
	// What a thread said before it was deleted and created anew is gone.
	var first int64
	_, err := c.one(func(r *rows) { first = r.int(0) }, firstSeq, h.born)
	if err == nil && ch.FirstSeq != first {
		err = corrupt(h.Thread.ID, ch.Version, "the messages before seq %d are missing", ch.FirstSeq)
	}
	return err
}

const firstSeq = `SELECT first_seq FROM changes WHERE pos = ?`
