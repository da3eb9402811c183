package state

import "fmt"

// Lattice names a way to join two values that does not depend on order or
// repetition: joining is commutative, associative and idempotent, to the byte.
// The set of lattices is closed and a [Join] op names its own, so every process
// folds a log alike, without any Go code of its owner. A value is plain JSON in
// the form described here, all its meaning is in that form, and so it can be
// written out, read back and joined again.
//
// A clock or count is a number that is an integer from 0 to the greatest int64.
// Where two equal numbers are spelled differently, as 1 and 1.0 are, the shorter
// spelling is taken, then the one that is first in byte order.
type Lattice string

const (
	// LatticeFlag is a boolean that can only be raised. Its form is true or false;
	// true wins.
	LatticeFlag Lattice = "flag"
	// LatticeMax is the greatest number seen. Its form is a number of any size.
	LatticeMax Lattice = "max"
	// LatticeMin is the least number seen. Its form is a number of any size.
	LatticeMin Lattice = "min"
	// LatticeCounter only grows. Its form is an object of counts, {"node":7}: how
	// much each node has added so far, of which the greater count wins. The
	// [Counter] is their sum. A node is a writer that knows its own last count;
	// two writers must not share one. What also goes down is two counters, or a
	// number changed by [Increment].
	LatticeCounter Lattice = "counter"
	// LatticeSet is a set of values that only grows. Its form is an array without
	// equal elements, in this order: null, false, true, numbers by value, strings by
	// their UTF-8 bytes, arrays, objects, the last two by their first difference.
	// [GrowSet] makes one.
	LatticeSet Lattice = "set"
	// LatticeRegister is a value that the latest writer wins. Its form is
	// {"clock":3,"value":...}. The greater clock wins; of equal clocks the value
	// that is greater in the order of [LatticeSet]. [Register] reads and writes one.
	LatticeRegister Lattice = "register"
	// LatticeORSet is a set of texts that can be removed and added again. Its form
	// is an object with a member for each text ever added: {"added":3,"removed":2},
	// the clocks of its last addition and removal, of which one may be missing. A
	// text is in the set if it was added and not removed by a greater clock. The
	// greater clock of each wins, so what is added and removed at once stays.
	// [ORSet] reads and changes one.
	LatticeORSet Lattice = "or_set"
	// LatticeORMap is an [LatticeORSet] of keys, each with a value that is of a
	// lattice itself, an or_map perhaps. Its form has two members more for each key
	// that has "added": {"added":3,"removed":2,"lattice":"counter","value":{...}}.
	// Values of one lattice are joined, also while their key is removed: a key that
	// comes back finds what it had. Of different lattices the one whose name is
	// last in byte order wins; a key should keep to one. [ORMap] reads and changes
	// one.
	LatticeORMap Lattice = "or_map"
)

func (l Lattice) known() bool {
	switch l {
	case LatticeFlag, LatticeMax, LatticeMin, LatticeCounter, LatticeSet, LatticeRegister, LatticeORSet, LatticeORMap:
		return true
	}
	return false
}

// Join joins delta into the value at the path by the rules of the lattice. A
// missing value is made, and is then the delta. If delta or the value at the
// path is not in the form of the lattice, that is [ErrTypeMismatch]; if the
// lattice is not one of this package, [ErrUnknownLattice].
//
// Joins of one path by one lattice do not conflict, whoever makes them.
func Join(path Pointer, l Lattice, delta Value) Op {
	return Op{Kind: OpJoin, Path: path, Lattice: l, Value: delta}
}

// Join returns the join of two values, or the error of [Lattice.Check] for the
// first that is not in the form of the lattice.
func (l Lattice) Join(v, w Value) (Value, error) {
	for _, x := range [...]Value{v, w} {
		if err := l.Check(x); err != nil {
			return Value{}, err
		}
	}
	joined, _ := l.join(new(edit), v, w)
	return joined, nil
}

// Check returns nil if v is in the form of the lattice, an error matching
// [ErrTypeMismatch] that says what is wrong if it is not, and one matching
// [ErrUnknownLattice] if there is no such lattice.
func (l Lattice) Check(v Value) error {
	if !l.known() {
		return failf(ErrUnknownLattice, "%q", string(l))
	}
	if wrong := l.flaw(v); wrong != "" {
		return failf(ErrTypeMismatch, "%s is not in the form of lattice %s: %s", describe(v), l, wrong)
	}
	return nil
}

// flaw says what is wrong with the form of v for a known lattice; "" is nothing.
func (l Lattice) flaw(v Value) string {
	switch l {
	case LatticeFlag:
		return flawOfKind(v, KindBool)
	case LatticeMax, LatticeMin:
		return flawOfKind(v, KindNumber)
	case LatticeSet:
		return flawOfSet(v)
	case LatticeRegister:
		return flawOfRegister(v)
	case LatticeCounter:
		return flawOfMembers(v, flawOfClock)
	case LatticeORSet:
		return flawOfMembers(v, flawOfORSetEntry)
	default:
		return flawOfMembers(v, flawOfORMapEntry)
	}
}

func flawOfKind(v Value, k Kind) string {
	if v.kind != k {
		return "want " + describe(Value{kind: k})
	}
	return ""
}

func flawOfSet(v Value) string {
	if wrong := flawOfKind(v, KindArray); wrong != "" {
		return wrong
	}
	x := newCursor(v.node)
	for i := 0; x.more(); i++ {
		item := x.item()
		if x.step(); x.more() && compareValues(item, x.item()) >= 0 {
			return fmt.Sprintf("elements %d and %d are equal or out of order", i, i+1)
		}
	}
	return ""
}

// flawOfMembers looks for the first member of an object with a flaw.
func flawOfMembers(v Value, flaw func(Value) string) string {
	wrong := flawOfKind(v, KindObject)
	for key, member := range v.Members() {
		if wrong = flaw(member); wrong != "" {
			return fmt.Sprintf("at %q: %s", key, wrong)
		}
	}
	return wrong
}

func flawOfClock(v Value) string {
	if n, ok := v.Int64(); !ok || n < 0 {
		return "want an integer from 0 to 9223372036854775807"
	}
	return ""
}

func flawOfRegister(v Value) string {
	clock, hasClock := v.Field(clockMember)
	_, hasValue := v.Field(valueMember)
	if !hasClock || !hasValue || v.Len() != 2 {
		return "want an object with exactly the members clock and value"
	}
	return flawOfClock(clock)
}

// The members of registers and of the entries of OR-sets and OR-maps.
const (
	clockMember   = "clock"
	addedMember   = "added"
	removedMember = "removed"
	latticeMember = "lattice"
	valueMember   = "value"
)

func flawOfORSetEntry(v Value) string {
	known := 0
	for _, name := range [...]string{addedMember, removedMember} {
		if clock, ok := v.Field(name); ok {
			known++
			if wrong := flawOfClock(clock); wrong != "" {
				return fmt.Sprintf("at %q: %s", name, wrong)
			}
		}
	}
	if known == 0 || v.Len() != known {
		return "want an object with added or removed or both, and nothing else"
	}
	return ""
}

func flawOfORMapEntry(v Value) string {
	name, hasLattice := v.Field(latticeMember)
	value, hasValue := v.Field(valueMember)
	_, added := v.Field(addedMember)
	if hasLattice != added || hasValue != added {
		return "want a lattice and a value exactly where there is added"
	}
	if !added {
		return flawOfORSetEntry(v)
	}
	clocks := Value{kind: KindObject}
	for key, member := range v.Members() {
		if key != latticeMember && key != valueMember {
			clocks = clocks.putting(new(edit), key, member)
		}
	}
	if wrong := flawOfORSetEntry(clocks); wrong != "" {
		return wrong
	}
	l := Lattice(name.Text())
	if !l.known() {
		return fmt.Sprintf("unknown lattice %v", name)
	}
	if wrong := l.flaw(value); wrong != "" {
		return fmt.Sprintf("at %q: %s", valueMember, wrong)
	}
	return ""
}
