package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// Append implements [selvage.Store]. An append that waits for its turn when
// the context ends is not written; one that has begun is waited for.
func (s *Store) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	receipt, err := s.append(ctx, id, set, pre)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("append to thread %q: %w", id, err)
	}
	return receipt, nil
}

func (s *Store) append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (receipt selvage.Receipt, err error) {
	if err := s.enter(ctx); err != nil {
		return receipt, err
	}
	defer s.leave()
	r, err := commit.NewRequest(id, set, pre)
	if err != nil {
		return receipt, err
	}
	err = s.writer.do(ctx, s.tenant, r.Body.Size(), func(t *txn) (err error) {
		receipt, err = t.append(r)
		return err
	})
	return receipt, err
}

// append judges a change set and writes what it makes.
func (t *txn) append(r *commit.Request) (selvage.Receipt, error) {
	e, err := t.head(r.ThreadID)
	if err != nil {
		return selvage.Receipt{}, err
	}
	// The unique index will tell what is known; nothing is looked up for what
	// is new, as nearly everything is. Only a message that refers to a blob
	// must be known to be new before that blob is asked for.
	look := lookup{t: t, e: e, messages: r.RefersToBlobs()}
	plan, err := r.Judge(&e.Head, &look, t.now)
	if err == nil {
		var fresh bool
		if fresh, err = t.write(look.e, plan, natureOf(&r.Set, &look)); fresh {
			return plan.Receipt, err
		}
	}
	if err != nil && !classified(err) {
		return selvage.Receipt{}, err
	}
	if receipt, found, replayErr := t.replay(e, r); found || replayErr != nil {
		return receipt, replayErr
	}
	if err != nil {
		return selvage.Receipt{}, err
	}
	return t.appendKnown(e, r)
}

// appendKnown appends a set of which some messages are there already.
func (t *txn) appendKnown(e *entry, r *commit.Request) (selvage.Receipt, error) {
	look := lookup{t: t, e: e, messages: true}
	plan, err := r.Judge(&e.Head, &look, t.now)
	if err != nil {
		return selvage.Receipt{}, err
	}
	fresh, err := t.write(look.e, plan, natureOf(&r.Set, &look))
	if err == nil && !fresh {
		err = &selvage.InvalidError{Field: "messages", Reason: "two messages came out with one id; give them ids of their own"}
	}
	return plan.Receipt, err
}

// replay answers a set whose id the log already holds, whatever else is wrong
// with it.
func (t *txn) replay(e *entry, r *commit.Request) (receipt selvage.Receipt, found bool, err error) {
	first, err := t.findChange(e, r.Set.ID)
	if err != nil || first == nil {
		return receipt, err != nil, err
	}
	receipt, err = r.Replay(&first.Change)
	return receipt, true, err
}

// nature is what a change set touches, as far as a plan does not say.
type nature struct {
	effect int64 // on the state
	says   bool  // changes what the thread says about itself
	back   *turn // the version it goes back to, if it does
}

func natureOf(set *selvage.ChangeSet, look *lookup) nature {
	n := nature{says: set.Thread != nil}
	switch {
	case set.Rewind != nil:
		n.back = look.past
	case set.Snapshot != nil:
		n.effect = effectReplace
	case len(set.Patches) > 0:
		n.effect = effectPatch
	}
	return n
}

const selectID = `SELECT pos FROM ids WHERE key = ? AND thread = ? AND kind = ?`

// write writes a plan. It reports false, with nothing written, if an id of the
// plan is there already.
func (t *txn) write(e *entry, p *commit.Plan, n nature) (fresh bool, err error) {
	pos, err := t.nextPos()
	if err != nil {
		return false, err
	}
	next := *e
	next.Head, next.pos, next.seen = p.Next, pos, t.w.seen
	if !e.Exists() {
		// A recreated thread begins with nothing but its tombstone.
		next.born, next.statePos, next.stateVersion, next.messagePos = pos, 0, 0, 0
		next.doc, next.docKnown, next.tail = state.Document{}, true, tail{}
		n.says = true
	}
	if n.effect == effectNone && n.back == nil && p.State != nil {
		n.effect = effectReplace // an import: the document was kept when what led there was compacted
	}
	if p.Next.Horizon != e.Horizon {
		n.says = true
	}
	if n.back != nil {
		next.goBack(n.back)
		if next.docKnown = p.State != nil; next.docKnown {
			next.doc = *p.State
		}
	}
	// Where the history jumps is written with what the thread says about itself.
	n.says = n.says || len(next.Rewinds) > len(e.Rewinds)
	ch := change{Change: p.Change, pos: pos, prev: e.pos, statePrev: next.statePos, messagePrev: next.messagePos, effect: n.effect}
	if ch.Added > 0 {
		next.messagePos = pos
	}
	if n.effect != effectNone {
		next.doc, next.docKnown, next.tail = *p.State, true, next.tail.add(len(ch.Rest))
		next.statePos, next.stateVersion = pos, ch.Version
	} else if ch.StateGone() {
		// An import of what was compacted: it stays a link of the chain.
		next.statePos, next.stateVersion, next.docKnown = pos, ch.Version, false
	}
	next.detach()
	if e.key == 0 {
		if err := t.insertHead(&next); err != nil {
			return false, err
		}
	}
	if fresh, err := t.writeIDs(next.key, &ch, p.MessageIDs); err != nil || !fresh {
		if err == nil && e.key == 0 {
			err = fmt.Errorf("thread %q is new and has ids already: %w", e.Thread.ID, selvage.ErrCorrupt)
		}
		return false, err
	}
	if e.key != 0 {
		if err := t.updateHead(e, &next, p, n.says); err != nil {
			return false, err
		}
	}
	if n.back != nil {
		if err := t.turnIDs(e, &next, p); err != nil {
			return false, err
		}
	}
	return true, t.writeRows(&next, &ch, p)
}

// writeRows writes what a plan adds besides ids and head.
func (t *txn) writeRows(next *entry, ch *change, p *commit.Plan) error {
	if err := t.insertChange(ch, next.key); err != nil {
		return err
	}
	t.pos = ch.pos
	if ch.Version%markEvery == 0 {
		if _, err := t.exec(insertMark, next.key, int64(ch.Version), ch.FirstSeq, ch.pos); err != nil {
			return err
		}
	}
	for i := range p.Runs {
		if err := t.writeRun(next, &p.Runs[i], ch.pos, i); err != nil {
			return err
		}
	}
	for i := range p.Calls {
		if err := t.writeCall(next, &p.Calls[i]); err != nil {
			return err
		}
	}
	for _, id := range p.Blobs {
		if err := t.refer(next, ch.Version, id); err != nil {
			return err
		}
	}
	for i := range p.Outbox {
		if err := t.enqueue(next, ch.pos, &p.Outbox[i]); err != nil {
			return err
		}
	}
	t.changed[next.name()] = next
	if next.tail.long() {
		t.w.chores.keepDoc(next.name())
	}
	return nil
}

// insertHead writes the row of a new thread.
func (t *txn) insertHead(h *entry) error {
	values, err := h.values()
	if err != nil {
		return err
	}
	_, h.key, err = t.insert(insertHead, append([]driver.Value{h.Thread.Tenant, string(h.Thread.ID)}, values...)...)
	return err
}

// updateHead moves the head on, if it is still where the judgement saw it.
func (t *txn) updateHead(from, to *entry, p *commit.Plan, says bool) (err error) {
	args := append(make([]driver.Value, 0, 24), int64(to.Thread.Version), to.pos, to.NextSeq, to.Hash[:], to.Thread.UpdatedAt.UnixMilli(),
		to.statePos, int64(to.stateVersion), to.messagePos)
	query := updateHead
	switch {
	case says:
		query = updateAll
		args, err = to.values()
	case len(p.Runs)+len(p.Calls) > 0:
		query = updateWork
		args, err = to.work(args)
	}
	if err != nil {
		return err
	}
	n, err := t.exec(query, append(args, to.key, int64(from.Thread.Version), from.Epoch)...)
	if err == nil && n != 1 {
		t.w.store.cache.forget(to.name())
		err = fmt.Errorf("thread %q is not where the cache says: %w", to.Thread.ID, errNoRow)
	}
	return err
}

// idsAtOnce bounds the ids of one statement.
const idsAtOnce = 32
