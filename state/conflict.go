package state

import (
	"fmt"
	"slices"
	"strings"
)

// ConflictKind is how two patches are in each other's way.
type ConflictKind string

const (
	// ConflictExact: both change the same place.
	ConflictExact ConflictKind = "exact"
	// ConflictPrefix: one changes a place inside what the other changes, or
	// moves the array elements that the other names by index.
	ConflictPrefix ConflictKind = "prefix"
)

// Conflict is a reason why two patches cannot both be taken.
type Conflict struct {
	Path Pointer // the place, or the shorter of two places
	Kind ConflictKind
}

// String describes the conflict, for people.
func (c Conflict) String() string { return fmt.Sprintf("%s conflict at %q", c.Kind, string(c.Path)) }

// Conflicts reports whether two patches made from the same document are in each
// other's way: whether an op of one has a path equal to, above or below the path
// of an op of the other. It looks at nothing but the patches, and so it is
// cautious: an op counts even where it would change nothing.
//
// Ops at exactly the same path do not conflict if all of them are increments, or
// all are joins by the same lattice, or all are appends, which land in the order
// the patches are applied. An insert, or a delete whose last token is an index, may move array elements; it conflicts
// with ops that name, or lead through, an element it would move. A delete of an
// object member with a number for a key is taken for one too.
//
// Patches without a conflict may be applied in either order, with the same
// success and the same result, except that a sum of increments may overflow in
// one order only, and that float64 sums round.
//
// Of several conflicts the one with the smallest path is reported.
func Conflicts(a, b Patch) (Conflict, bool) {
	ops := make([]sidedOp, 0, len(a)+len(b))
	for _, op := range a {
		ops = append(ops, sidedOp{op.Path, op.Kind, op.Lattice, sideA})
	}
	for _, op := range b {
		ops = append(ops, sidedOp{op.Path, op.Kind, op.Lattice, sideB})
	}
	slices.SortStableFunc(ops, func(x, y sidedOp) int { return comparePointers(x.path, y.path) })
	if c, ok := pathConflict(ops); ok {
		return c, true
	}
	return shiftConflict(ops)
}

// side is a set of patches: one of the two, or both.
type side uint8

const (
	sideA side = 1 << iota
	sideB
	bothSides = sideA | sideB
)

type sidedOp struct {
	path    Pointer
	kind    OpKind
	lattice Lattice
	side    side
}

// comparePointers orders pointers so that what is below a path directly follows
// it: a slash sorts before any other byte.
func comparePointers(p, q Pointer) int {
	i := 0
	for i < len(p) && i < len(q) && p[i] == q[i] {
		i++
	}
	switch {
	case i < len(p) && i < len(q) && p[i] == '/':
		return -1
	case i < len(p) && i < len(q) && q[i] == '/':
		return 1
	}
	return strings.Compare(string(p[i:]), string(q[i:]))
}

// pathConflict finds equal and nested paths in one sweep over the sorted ops. As
// everything below a path follows it, only the outermost path that is open needs
// to be remembered.
func pathConflict(ops []sidedOp) (Conflict, bool) {
	var outer Pointer
	var outerSide side
	for i := 0; i < len(ops); {
		group := ops[i:]
		for j := range group {
			if group[j].path != group[0].path {
				group = group[:j]
				break
			}
		}
		path, sides := group[0].path, sidesOf(group)
		if i > 0 && outer.Contains(path) {
			if outerSide|sides == bothSides {
				return Conflict{outer, ConflictPrefix}, true
			}
		} else {
			outer, outerSide = path, sides
			if sides == bothSides && !commute(group) {
				return Conflict{path, ConflictExact}, true
			}
		}
		i += len(group)
	}
	return Conflict{}, false
}

func sidesOf(ops []sidedOp) side {
	var s side
	for _, op := range ops {
		s |= op.side
	}
	return s
}

// commute reports whether ops at one path may be taken in any order.
func commute(ops []sidedOp) bool {
	first := ops[0]
	switch first.kind {
	case OpIncrement, OpAppend, OpJoin:
	default:
		return false
	}
	return !slices.ContainsFunc(ops, func(op sidedOp) bool {
		return op.kind != first.kind || op.kind == OpJoin && op.lattice != first.lattice
	})
}

// shift is the lowest index after which each side moves elements of an array.
// What is at the index itself is settled by the paths alone.
type shift map[side]int

// shiftConflict finds an op of one side that names an element moved by the
// other.
func shiftConflict(ops []sidedOp) (Conflict, bool) {
	shifts := make(map[Pointer]shift)
	for _, op := range ops {
		array, index, ok := shiftOf(op.kind, op.path)
		if !ok {
			continue
		}
		if shifts[array] == nil {
			shifts[array] = make(shift, 2)
		}
		if lowest, ok := shifts[array][op.side]; !ok || index < lowest {
			shifts[array][op.side] = index
		}
	}
	if len(shifts) == 0 {
		return Conflict{}, false
	}
	for _, op := range ops {
		if array, ok := movedBy(shifts, op); ok {
			return Conflict{array, ConflictPrefix}, true
		}
	}
	return Conflict{}, false
}

// shiftOf returns the array an op may change the order of, and the index after
// which it does.
func shiftOf(kind OpKind, path Pointer) (array Pointer, index int, ok bool) {
	if path == "" || kind != OpInsert && kind != OpDelete {
		return "", 0, false
	}
	array, token := path.split()
	index, ok = arrayIndex(token)
	return array, index, ok
}

// movedBy returns the array on the way of an op in which the other side moves
// the element the op goes through.
func movedBy(shifts map[Pointer]shift, op sidedOp) (Pointer, bool) {
	path := string(op.path)
	for end, level := 0, 0; end < len(path) && level < MaxDepth; level++ {
		token, rest := cutToken(path[end:])
		array := Pointer(path[:end])
		if after, ok := shifts[array][bothSides&^op.side]; ok {
			if i, ok := arrayIndex(token); ok && i > after {
				return array, true
			}
		}
		end = len(path) - len(rest)
	}
	return "", false
}
