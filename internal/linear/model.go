package linear

import (
	"crypto/sha256"

	"github.com/selvagehq/selvage"
)

// thread is what one thread is to be: the sequential specification. It is a
// value; what it points to never changes.
type thread struct {
	version selvage.Version
	deleted bool
	nextSeq int64
	count   int64 // in the state
	shared  uint64
	digest  [32]byte // of the ids of the visible messages, in their order
	sets    [32]byte // of the ids of the sets of this life, in their order
	log     *entry   // the sets of this life, the last first

	// over says that nothing happens any more. What was not answered and did
	// not happen is put after that, so that the search need not try it
	// everywhere before.
	over bool
}

// entry is a set that was applied.
type entry struct {
	before          *entry
	set             string
	version         selvage.Version
	firstSeq, added int64
	after           *thread // what the thread was then
}

func (t *thread) exists() bool { return t.version > 0 && !t.deleted }

// find returns what a set made of this life, or nil.
func (t *thread) find(set string) *entry {
	for e := t.log; e != nil; e = e.before {
		if e.set == set {
			return e
		}
	}
	return nil
}

// at returns what the thread was at a version of this life, or nil.
func (t *thread) at(v selvage.Version) *thread {
	for e := t.log; e != nil; e = e.before {
		if e.version == v {
			return e.after
		}
	}
	return nil
}

// refusal is the code of the error that an append is answered that is not in
// the log, "" if it is admitted.
func (t *thread) refusal(o *Op) string {
	switch {
	case t.deleted && o.Pre == preNew:
		return "already_exists"
	case t.deleted && o.Pre != preRecreate:
		return "gone"
	case t.deleted:
		return ""
	case o.Pre == preNew && t.exists(), o.Pre == preRecreate && t.exists():
		return "already_exists"
	case o.Pre == preNew:
		return ""
	case !t.exists():
		return "not_found"
	case o.Pre == preExact && o.At != t.version:
		return "conflict"
	case o.Rewind > t.version:
		return "invalid"
	case o.Rewind > 0 && t.at(o.Rewind) == nil:
		return "gone" // with a life before this one
	case o.Counts && t.count == 0:
		return "invalid" // there is nothing to count up
	default:
		return ""
	}
}

// append is the thread after an append that is admitted.
func (t thread) append(o *Op) thread {
	if !t.exists() {
		t = thread{version: t.version, nextSeq: max(t.nextSeq, 1)}
	}
	t.version++
	e := &entry{before: t.log, set: o.Set, version: t.version, firstSeq: t.nextSeq}
	t.sets = extend(t.sets, o.Set)
	if o.Rewind > 0 {
		was := t.at(o.Rewind)
		t.count, t.shared, t.digest = was.count, was.shared, was.digest
		return t.add(e)
	}
	if bit := uint64(1) << o.Shared; o.Shared > 0 && t.shared&bit == 0 {
		t.shared |= bit
		t.digest = extend(t.digest, sharedID(o.Shared))
		e.added++
	}
	t.digest = extend(t.digest, o.Set)
	e.added++
	t.nextSeq += e.added
	if o.Counts {
		t.count++
	}
	return t.add(e)
}

// add is the thread with an entry that tells what it now is.
func (t thread) add(e *entry) thread {
	t.log = e
	now := t
	e.after = &now
	return t
}

// remove is the thread after its deletion.
func (t thread) remove() thread {
	return thread{version: t.version + 1, nextSeq: t.nextSeq, deleted: true}
}

// extend is the digest of a list that got longer.
func extend(digest [32]byte, id string) [32]byte {
	return sha256.Sum256(append(digest[:], id...))
}

// step reports whether a thread may answer an operation as it was answered,
// and what it is then.
func (t thread) step(o *Op) (bool, thread) {
	switch o.Kind {
	case end:
		t.over = true
		return true, t
	case Load:
		return t.stepLoad(o), t
	case Delete:
		return t.stepDelete(o)
	default:
		return t.stepAppend(o)
	}
}

func (t thread) stepLoad(o *Op) bool {
	if o.Seen == nil {
		return o.Outcome == "not_found" && !t.exists()
	}
	var digest [32]byte
	for _, id := range o.Seen.Messages {
		digest = extend(digest, id)
	}
	return t.exists() && o.Seen.Version == t.version && o.Seen.NextSeq == t.nextSeq && o.Seen.Count == t.count && digest == t.digest
}

func (t thread) stepDelete(o *Op) (bool, thread) {
	switch {
	case t.over:
		return o.Outcome == unknown, t
	case o.Outcome == "not_found":
		return !t.exists(), t
	default:
		return t.exists(), t.remove()
	}
}

func (t thread) stepAppend(o *Op) (bool, thread) {
	e, refusal := t.find(o.Set), t.refusal(o)
	switch {
	case t.over:
		return o.Outcome == unknown, t
	case o.Outcome == unknown && (e != nil || refusal != ""):
		return false, t
	case o.Outcome == unknown:
		return true, t.append(o)
	case o.Outcome != ok:
		return e == nil && o.Outcome == refusal && (refusal != "conflict" || o.Actual == t.version), t
	case o.Receipt.Replayed:
		return e != nil && e.is(o.Receipt), t
	case e != nil || refusal != "":
		return false, t
	}
	next := t.append(o)
	return next.log.is(o.Receipt), next
}

// is reports whether a receipt is the one of the entry.
func (e *entry) is(r *selvage.Receipt) bool {
	return r.Version == e.version && r.FirstSeq == e.firstSeq && int64(r.Added) == e.added
}

// same reports whether two threads are the same.
func (t *thread) same(o *thread) bool {
	return t.version == o.version && t.deleted == o.deleted && t.nextSeq == o.nextSeq && t.count == o.count && t.digest == o.digest && t.sets == o.sets && t.over == o.over
}
