package sqlite

import (
	"github.com/selvagehq/selvage"
)

// sparseEvery is how many versions lie at least between two cached documents
// that stay. Besides them the last two of a thread are kept.
const sparseEvery = 512

const (
	insertDoc = `INSERT OR REPLACE INTO state_cache (thread, version, pos, digest, doc) VALUES (?, ?, ?, ?, ?)`
	selectOld = `SELECT version FROM state_cache WHERE thread = ? AND version <= ? ORDER BY version DESC LIMIT 2 OFFSET 2`
	deleteDoc = `DELETE FROM state_cache WHERE thread = ? AND version = ?`
)

// saveDoc caches the document of a thread, if it is at hand and saves anybody
// the way.
func (t *txn) saveDoc(id selvage.ThreadID) error {
	e, err := t.head(id)
	if err != nil || !e.Exists() || !e.docKnown || e.statePos == 0 || e.tail.changes == 0 {
		return err
	}
	var hash []byte
	if found, err := t.c.one(func(r *rows) { hash = r.blob(0) }, hashAt, e.statePos); err != nil || !found {
		return err
	}
	doc := e.doc.AppendJSON(nil)
	digest := docDigest(hash, doc)
	if _, err := t.exec(insertDoc, e.key, int64(e.stateVersion), e.statePos, digest[:], doc); err != nil {
		return err
	}
	saved := *e
	saved.tail = tail{}
	t.changed[saved.name()] = &saved
	return t.thinOut(e.key, e.stateVersion)
}

// thinOut deletes the third last document of a thread up to a version, unless it is the only
// one far and wide: so what stays is the last two and some of the old ones.
func (t *txn) thinOut(thread int64, upTo selvage.Version) error {
	var old []int64
	r, err := t.c.query(selectOld, thread, int64(upTo))
	if err != nil {
		return err
	}
	for r.next() {
		old = append(old, r.int(0))
	}
	if err := r.close(); err != nil || len(old) == 0 {
		return err
	}
	before := int64(0) // of what has no older one: the beginning
	if len(old) > 1 {
		before = old[1]
	}
	if old[0]-before >= sparseEvery {
		return nil
	}
	_, err = t.exec(deleteDoc, thread, old[0])
	return err
}
