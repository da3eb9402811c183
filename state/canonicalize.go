package state

// canonicalizeReach is how many of the ops after it may make an op superfluous.
// It bounds the work for a patch of many thousand ops.
const canonicalizeReach = 1024

// Canonicalize returns the patch without the ops that are superfluous because a
// later op covers their path. The order of the rest is kept, and the
// receiver is not changed.
//
// The result is equivalent on every document: it fails on the same ones, and
// elsewhere leads to the same document. Which op is reported to have failed may
// differ. An op is therefore kept unless this can be proven from the patch
// alone:
//
//   - A set is dropped for a later set of the same path, which fails if and only
//     if it does, and makes the same parents. For a delete of its path, or a set
//     or delete above it, it is dropped only if it is at the top level or the
//     root, where it can neither fail nor make a parent.
//   - A delete is dropped for a later set or delete above its path. For one of
//     its very path it is dropped unless the last token may be an array index:
//     deleting element 0 twice takes two elements away.
//   - A join is taken into a later join of the same path by the same lattice.
//   - An append, merge, increment, insert or remove is kept, as is any other
//     join: it fails on a target of the wrong type.
//   - No op in between may be in conflict with the dropped one.
func (p Patch) Canonicalize() Patch {
	kept := make(Patch, 0, len(p)) // in reverse
	for i := len(p) - 1; i >= 0; i-- {
		if !superfluous(p[i], kept) && !joinedLater(p[i], kept) {
			kept = append(kept, p[i])
		}
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	return kept
}

// superfluous reports whether the ops after op, given in reverse, make it so.
func superfluous(op Op, after Patch) bool {
	if !op.droppable() {
		return false
	}
	last := max(0, len(after)-canonicalizeReach)
	for i := len(after) - 1; i >= last; i-- {
		if op.coveredBy(after[i]) {
			return true
		}
		if _, ok := Conflicts(Patch{op}, Patch{after[i]}); ok {
			return false
		}
	}
	return false
}

// joinedLater joins the value of a join into that of the next one of its place
// among the ops after it, given in reverse, and reports whether there is one.
func joinedLater(op Op, after Patch) bool {
	if !op.joinable() {
		return false
	}
	last := max(0, len(after)-canonicalizeReach)
	for i := len(after) - 1; i >= last; i-- {
		next := &after[i]
		if next.Path == op.Path && next.Lattice == op.Lattice && next.joinable() {
			next.Value, _ = op.Lattice.join(new(edit), op.Value, next.Value)
			return true
		}
		if _, ok := Conflicts(Patch{op}, Patch{*next}); ok {
			return false
		}
	}
	return false
}

// joinable reports whether an op is a well-formed join.
func (op Op) joinable() bool {
	return op.Kind == OpJoin && op.Path.valid() && op.checkDepth() == nil && op.Lattice.Check(op.Value) == nil
}

// droppable reports whether an op is a well-formed set or delete. Malformed ones
// always fail, and so must stay.
func (op Op) droppable() bool {
	switch op.Kind {
	case OpDelete:
		return op.Path.valid()
	case OpSet:
		return op.Path.valid() && op.checkDepth() == nil && (op.Path != "" || op.Value.kind == KindObject)
	}
	return false
}

// coveredBy reports whether op changes nothing if it is directly followed by
// next.
func (op Op) coveredBy(next Op) bool {
	if !next.droppable() || !next.Path.Contains(op.Path) {
		return false
	}
	same := op.Path == next.Path
	if op.Kind == OpSet {
		return same && next.Kind == OpSet || op.Path.len() <= 1
	}
	if !same || op.Path == "" {
		return true
	}
	_, token := op.Path.split()
	_, isIndex := arrayIndex(token)
	return !isIndex || op.Path.len() == 1 // the root is never an array
}
