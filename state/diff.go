package state

import "strconv"

// Diff returns a patch that makes b of a: applied to a it never fails, and leads
// to a document equal to b. It is nil when they are equal.
//
// The patch is made of sets, deletes, inserts and appends. It changes each member
// of an object on its own, and of an array only the elements that are not part of
// a longest common subsequence, unless a set of the whole object or array is
// shorter. The root is never set. What the documents share is not looked at, and
// the search through arrays is bounded: the patch for two long ones that have
// little in common may be longer than it could be.
func Diff(a, b Document) Patch {
	d := differ{hasher: newHasher()}
	d.object(nil, a.Root(), b.Root())
	return d.patch
}

// differ collects the ops that make one value of another.
type differ struct {
	*hasher
	base  Pointer
	patch Patch
	cost  int // of the patch
}

// trail is the way from the base of a differ to a value, as a path that costs
// nothing until an op needs it. Nil is the base itself.
type trail struct {
	up    *trail
	token string
}

func (d *differ) path(t *trail) Pointer {
	var tokens []string
	for ; t != nil; t = t.up {
		tokens = append(tokens, t.token)
	}
	for i, j := 0, len(tokens)-1; i < j; i, j = i+1, j-1 {
		tokens[i], tokens[j] = tokens[j], tokens[i]
	}
	return d.base.Join(tokens...)
}

func (t *trail) index(i int) *trail { return &trail{t, strconv.Itoa(i)} }

func (d *differ) emit(op Op) {
	d.patch = append(d.patch, op)
	d.cost += op.cost()
}

// cost is about the length of the encoding of an op.
func (op Op) cost() int {
	return len(`{"op":"insert","path":"","value":},`) + len(op.Path) + op.Value.size()
}

// value makes w of v.
func (d *differ) value(at *trail, v, w Value) {
	if v.kind != w.kind || v.kind < KindArray {
		if !v.Equal(w) {
			d.emit(Set(d.path(at), w))
		}
		return
	}
	if v.identical(w) {
		return
	}
	ops, cost := len(d.patch), d.cost
	if v.kind == KindObject {
		d.object(at, v, w)
	} else {
		d.array(at, v, w)
	}
	if len(d.patch) == ops {
		return
	}
	if whole := Set(d.path(at), w); d.cost-cost > whole.cost() {
		d.patch, d.cost = d.patch[:ops], cost
		d.emit(whole)
	}
}

func (d *differ) object(at *trail, v, w Value) {
	if v.node == w.node {
		return
	}
	x, y := newCursor(v.node), newCursor(w.node)
	for x.more() || y.more() {
		switch {
		case x.onSameLeaf(y):
			x.skipLeaf()
			y.skipLeaf()
		case !y.more() || x.more() && x.key() < y.key():
			d.emit(Delete(d.path(&trail{at, x.key()})))
			x.step()
		case !x.more() || y.key() < x.key():
			d.emit(Set(d.path(&trail{at, y.key()}), y.item()))
			y.step()
		default:
			if v, w := x.item(), y.item(); !v.identical(w) {
				d.value(&trail{at, x.key()}, v, w)
			}
			x.step()
			y.step()
		}
	}
}

// array works from the end to the beginning, so that the indexes of what is yet
// to change stay those of v.
func (d *differ) array(at *trail, v, w Value) {
	hunks := d.hunks(v, w)
	for i := len(hunks) - 1; i >= 0; i-- {
		d.hunk(at, v, w, hunks[i])
	}
}

// hunk is a run of elements of one array that has another in its place.
type hunk struct{ old, new span }

func (d *differ) hunk(at *trail, v, w Value, h hunk) {
	paired := min(h.old.to-h.old.from, h.new.to-h.new.from)
	for i := h.old.to - 1; i >= h.old.from+paired; i-- {
		d.emit(Delete(d.path(at.index(i))))
	}
	for i := paired; i < h.new.to-h.new.from; i++ {
		item := w.node.at(h.new.from + i)
		if h.old.to == v.Len() {
			d.emit(Append(d.path(at), item))
		} else {
			d.emit(Insert(d.path(at.index(h.old.from+i)), item))
		}
	}
	for i := paired - 1; i >= 0; i-- {
		d.value(at.index(h.old.from+i), v.node.at(h.old.from+i), w.node.at(h.new.from+i))
	}
}
