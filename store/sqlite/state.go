package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

const (
	// The newest cached document at or before a version, with the hash of the
	// change it stands after, which the digest covers.
	selectDoc = `SELECT s.version, s.digest, s.doc, c.hash FROM state_cache s
		CROSS JOIN changes c ON c.pos = s.pos AND c.thread = s.thread AND c.version = s.version
		WHERE s.thread = ? AND s.version <= ? ORDER BY s.version DESC LIMIT 1`
)

// State implements [selvage.Store].
func (s *Store) State(ctx context.Context, id selvage.ThreadID, v selvage.Version) (doc state.Document, err error) {
	err = s.read(ctx, func(c *conn) error {
		h, err := readHead(c, s.tenant, id)
		if err != nil {
			return err
		}
		if v, err = h.resolve(c, v); err != nil {
			return err
		}
		if err := h.known(v); err != nil {
			return err
		}
		if v >= max(h.stateVersion, h.turned()) {
			doc, err = s.headDoc(ctx, c, &h)
			return err
		}
		at, err := h.readAt(ctx, c, v)
		if err != nil {
			return err
		}
		doc, _, err = h.fold(ctx, c, at.lastState(), v)
		return err
	})
	if err != nil {
		return state.Document{}, fmt.Errorf("state of thread %q: %w", id, err)
	}
	return doc, nil
}

// lastState is the position of the last change of the state up to ch.
func (ch *change) lastState() int64 {
	if ch.effect != effectNone || ch.StateGone() {
		return ch.pos
	}
	return ch.statePrev
}

// resolve checks a version that a caller names, 0 being the head.
func (h *head) resolve(c *conn, v selvage.Version) (selvage.Version, error) {
	t := &h.Thread
	switch err := h.readable(); {
	case err != nil:
		return 0, err
	case v == 0:
		return t.Version, nil
	case v < 0:
		return 0, &selvage.InvalidError{Field: "version", Reason: fmt.Sprintf("%d is not a version; the first is 1", v)}
	case v > t.Version:
		return 0, fmt.Errorf("thread %q has not reached version %d, it is at %d: %w", t.ID, v, t.Version, selvage.ErrNotFound)
	}
	first, err := h.firstVersion(c)
	if err == nil && v < first {
		err = fmt.Errorf("thread %q was deleted at version %d, and version %d went with it: %w", t.ID, first-1, v, selvage.ErrGone)
	}
	return v, err
}

// known returns nil if the state of a version was not compacted.
func (h *head) known(v selvage.Version) error {
	if v < h.Horizon {
		return commit.GoneBelow(&h.Head, v)
	}
	return nil
}

// firstVersion is the version that created the thread: 1, or the one after its
// tombstone.
func (h *head) firstVersion(c *conn) (v selvage.Version, err error) {
	return versionAt(c, h.born)
}

// readAt reads the change that made a version.
func (h *head) readAt(ctx context.Context, c *conn, v selvage.Version) (at *change, err error) {
	err = h.walk(ctx, c, span{v, v}, func(ch *change) (bool, error) {
		at = ch
		return false, nil
	})
	if err == nil && at == nil {
		err = corrupt(h.Thread.ID, v, "it is missing from the log")
	}
	return at, err
}

// headDoc returns the document at the head, from memory if it is there. Who
// had a long way to it leaves a mark for the next one.
func (s *Store) headDoc(ctx context.Context, c *conn, h *head) (state.Document, error) {
	if e := s.cache.get(keyOf(&h.Thread)); e != nil && e.docKnown && e.Hash == h.Hash && e.Thread.Version == h.Thread.Version {
		return e.doc, nil
	}
	doc, tail, err := h.readDoc(ctx, c)
	if err != nil {
		return state.Document{}, err
	}
	s.cache.offer(&entry{head: *h, doc: doc, docKnown: true, tail: tail})
	if tail.long() {
		s.writer.chores.keepDoc(keyOf(&h.Thread))
	}
	return doc, nil
}

// readDoc reads the document at the head.
func (h *head) readDoc(ctx context.Context, c *conn) (state.Document, tail, error) {
	if !h.Exists() || h.statePos == 0 {
		return state.Document{}, tail{}, nil
	}
	return h.fold(ctx, c, h.statePos, h.stateVersion)
}

// fold makes the document at version v out of the last cached one and of the
// changes of the state after it, of which pos is the last. It also tells how
// much that was.
func (h *head) fold(ctx context.Context, c *conn, pos int64, v selvage.Version) (doc state.Document, n tail, err error) {
	if pos == 0 {
		return doc, n, nil
	}
	doc, from, err := h.cachedDoc(ctx, c, v)
	if err != nil {
		return doc, n, err
	}
	trail, err := h.stateTrail(c, pos, from)
	if err != nil {
		return doc, n, err
	}
	for i := len(trail) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return doc, n, err
		}
		ch, err := readChange(c, h, trail[i])
		if err != nil {
			return doc, n, err
		}
		if doc, err = ch.ApplyState(doc); err != nil {
			return doc, n, err
		}
		n = n.add(len(ch.Rest))
	}
	return doc, n, nil
}

// stateTrail returns the positions of the changes of the state from pos back to
// the version of a cached document, which is left out, or to where the state
// began. The newest comes first.
func (h *head) stateTrail(c *conn, pos int64, from selvage.Version) (trail []int64, err error) {
	r, err := c.query(walkState, pos, int64(from))
	if err != nil {
		return nil, err
	}
	at, prev, effect := selvage.Version(-1), pos, int64(effectPatch)
	for r.next() {
		prev, at, effect = r.int(1), selvage.Version(r.int(2)), r.int(3)
		if at > from {
			trail = append(trail, r.int(0))
		}
	}
	if err := r.close(); err != nil {
		return nil, err
	}
	if at != from && effect != effectReplace && (prev != 0 || from != 0) {
		return nil, corrupt(h.Thread.ID, at, "the change of the state before it is missing")
	}
	return trail, nil
}

// cachedDoc returns the newest cached document that version v was made of, and
// its version. One that is damaged is passed over: it only costs the way to it.
func (h *head) cachedDoc(ctx context.Context, c *conn, v selvage.Version) (doc state.Document, version selvage.Version, err error) {
	line := commit.Lineage(h.Rewinds, 1, v)
	for {
		var digest, data, hash []byte
		found, err := c.one(func(r *rows) {
			version, digest, data, hash = selvage.Version(r.int(0)), r.blob(1), r.blob(2), r.blob(3)
		}, selectDoc, h.key, int64(v))
		if err != nil || !found {
			return state.Document{}, 0, err
		}
		if on := commit.Newest(line, version); on != version {
			v = on // a rewind hid it
			continue
		}
		if sum := docDigest(hash, data); bytes.Equal(sum[:], digest) {
			if doc, err = state.Parse(data); err == nil {
				return doc, version, nil
			}
		}
		v = version - 1
	}
}

// docDigest binds a cached document to the change it stands after.
func docDigest(hash, doc []byte) [sha256.Size]byte {
	sum := sha256.New()
	sum.Write(hash)
	sum.Write(doc)
	return [sha256.Size]byte(sum.Sum(nil))
}
