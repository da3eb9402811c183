package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// eraser implements [selvage.Eraser].
type eraser struct{ s *Store }

// Erase implements [selvage.Eraser]. Its cost grows with the log of the thread,
// which is read through, and with the size of the file: after the transaction
// that erases, what is unused in the pages of the file is overwritten, copies
// that the database left behind included, a part at a time between other
// writers. Then the write-ahead log, where the content stood, is copied to the
// file and cut. While a reader holds on to an older state of the file that is
// tried again in the background, and done at the latest when the last process
// closes the file. What file systems and disks keep of overwritten blocks, and
// copies and backups of the file, are out of its reach.
//
// An error that comes after the transaction only leaves bytes behind, and is
// logged: the receipt is returned.
func (e eraser) Erase(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
	receipt, err := e.s.eraseMessages(ctx, id, req)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("erase messages of thread %q: %w", id, err)
	}
	return receipt, nil
}

func (s *Store) eraseMessages(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (receipt selvage.Receipt, err error) {
	e, err := commit.NewErasure(id, req)
	if enterErr := s.enter(ctx); enterErr != nil {
		return receipt, enterErr
	}
	defer s.leave()
	if err != nil {
		return receipt, err
	}
	var known traces
	err = s.reading(ctx, func(c *conn) error {
		h, err := readHead(c, s.tenant, id)
		if err != nil || !h.Exists() {
			return err
		}
		return known.search(ctx, c, &h, e)
	})
	if err != nil {
		return receipt, err
	}
	err = s.writer.alone(ctx, s.tenant, func(t *txn) (err error) {
		receipt, err = t.eraseMessages(e, known)
		return err
	})
	if err != nil {
		return receipt, err
	}
	if err := s.scrub(context.WithoutCancel(ctx)); err != nil {
		s.writer.warn("erased content may still stand in unused parts of the file; erase it again", err)
	}
	s.writer.chores.wipe()
	return receipt, nil
}

// traces are where a log holds messages that are to be erased.
type traces struct {
	born int64           // of the life of the thread that was searched
	upTo selvage.Version // as far as it was
	at   []int64         // positions of changes, in order
}

// search looks through what was appended since the last search.
func (tr *traces) search(ctx context.Context, c *conn, h *head, e *commit.Erasure) error {
	if tr.born != h.born {
		*tr = traces{born: h.born}
	}
	first, err := h.firstVersion(c)
	if err != nil {
		return err
	}
	var found []int64
	err = h.walk(ctx, c, span{max(first, tr.upTo+1), h.Thread.Version}, func(ch *change) (bool, error) {
		concerned, err := e.Concerns(&ch.Change)
		if concerned {
			found = append(found, ch.pos)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	slices.Reverse(found)
	tr.at, tr.upTo = append(slices.Clip(tr.at), found...), h.Thread.Version
	return nil
}

// eraseMessages writes the changes of the log that lose messages, and the one
// that tells of it.
func (t *txn) eraseMessages(e *commit.Erasure, known traces) (selvage.Receipt, error) {
	e.Again()
	h, err := t.head(e.ThreadID)
	if err != nil {
		return selvage.Receipt{}, err
	}
	first, err := t.findChange(h, e.ID)
	if err != nil {
		return selvage.Receipt{}, err
	}
	if first != nil {
		return e.Replay(&first.Change)
	}
	if err := e.Admit(&h.Head); err != nil {
		return selvage.Receipt{}, err
	}
	if err := known.search(background(), t.c, &h.head, e); err != nil {
		return selvage.Receipt{}, err
	}
	var reduced []*change
	for _, pos := range known.at {
		ch, err := readChange(t.c, &h.head, pos)
		if err != nil {
			return selvage.Receipt{}, err
		}
		loses, err := e.Take(&ch.Change)
		if err != nil {
			return selvage.Receipt{}, err
		}
		if loses {
			reduced = append(reduced, ch)
		}
	}
	plan, err := e.Plan(&h.Head, t.now)
	if err != nil {
		return selvage.Receipt{}, err
	}
	if err := t.rewrite(h.key, reduced); err != nil {
		return selvage.Receipt{}, err
	}
	for _, ch := range reduced {
		if err := t.referAgain(h, ch); err != nil {
			return selvage.Receipt{}, err
		}
	}
	fresh, err := t.write(h, plan, nature{})
	if err == nil && !fresh {
		err = fmt.Errorf("change set %q is found and is not: %w", e.ID, selvage.ErrCorrupt)
	}
	return plan.Receipt, err
}

const rewriteChange = `UPDATE changes SET salt = ?, sizes = ?, rest = ?, messages = ?, effect = ? WHERE pos = ? AND thread = ?`

// rewrite writes changes of the log anew that lost something.
func (t *txn) rewrite(thread int64, changes []*change) error {
	for _, ch := range changes {
		sizes, messages := packMessages(ch.Messages)
		n, err := t.exec(rewriteChange, ch.Seal(), sizes, packRest(ch.Rest), messages, ch.effect, ch.pos, thread)
		if err == nil && n != 1 {
			err = corrupt(ch.ThreadID, ch.Version, "it is missing")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findChange returns the change that a change set made, or nil.
func (t *txn) findChange(e *entry, id string) (*change, error) {
	if e.key == 0 {
		return nil, nil
	}
	var pos int64
	found, err := t.c.one(func(r *rows) { pos = r.int(0) }, selectID, idKey(id, e.key), e.key, int64(kindChange))
	if err != nil || !found {
		return nil, err
	}
	ch, err := readChange(t.c, &e.head, pos)
	if err != nil || ch.ID != id {
		return nil, err
	}
	return ch, nil
}
