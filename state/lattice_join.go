package state

import "sort"

// join returns the join of two values in the form of a known lattice, and
// whether that is another value than v. Only v may have nodes that the edit
// made.
func (l Lattice) join(e *edit, v, w Value) (Value, bool) {
	switch l {
	case LatticeFlag:
		return pick(v, w, w.Bool() && !v.Bool())
	case LatticeMax:
		return joinNumber(v, w, 1)
	case LatticeMin:
		return joinNumber(v, w, -1)
	case LatticeSet:
		return joinSet(e, v, w)
	case LatticeRegister:
		return joinRegister(v, w)
	case LatticeCounter:
		return joinMembers(e, v, w, joinClock)
	case LatticeORSet:
		return joinMembers(e, v, w, joinORSetEntry)
	default:
		return joinMembers(e, v, w, joinORMapEntry)
	}
}

// joinNumber takes the number that is further in a direction, 1 or -1.
func joinNumber(v, w Value, direction int) (Value, bool) {
	c := compareNumbers(w.text, v.text)
	return pick(v, w, c == direction || c == 0 && compareSpelling(w, v) < 0)
}

func joinClock(_ *edit, v, w Value) (Value, bool) { return joinNumber(v, w, 1) }

// joinSet puts each element of w where it belongs in v.
func joinSet(e *edit, v, w Value) (Value, bool) {
	changed := false
	for item := range w.Elements() {
		i := sort.Search(v.Len(), func(i int) bool { return compareValues(v.node.at(i), item) >= 0 })
		if i == v.Len() || compareValues(v.node.at(i), item) != 0 {
			v, changed = v.adding(e, place{index: i}, item), true
			continue
		}
		if old := v.node.at(i); compareSpelling(item, old) < 0 {
			v, changed = v.with(e, place{index: i}, item, old.size()), true
		}
	}
	return v, changed
}

func joinRegister(v, w Value) (Value, bool) {
	for _, name := range [...]string{clockMember, valueMember} {
		a, _ := v.Field(name)
		b, _ := w.Field(name)
		if c := compareValues(b, a); c != 0 {
			return pick(v, w, c > 0)
		}
	}
	return pick(v, w, compareSpelling(w, v) < 0)
}

func pick(v, w Value, second bool) (Value, bool) {
	if second {
		return w, true
	}
	return v, false
}

// joinMembers joins two objects member by member.
func joinMembers(e *edit, v, w Value, join func(e *edit, v, w Value) (Value, bool)) (Value, bool) {
	if v.node == w.node {
		return v, false
	}
	changed := false
	for key, b := range w.Members() {
		a, ok := v.node.find(key)
		if !ok {
			v, changed = v.adding(e, place{key: key}, b), true
			continue
		}
		before := a.size()
		if joined, more := join(e, a, b); more {
			v, changed = v.with(e, place{key: key}, joined, before), true
		}
	}
	return v, changed
}

// joinORSetEntry joins clocks.
func joinORSetEntry(e *edit, v, w Value) (Value, bool) { return joinMembers(e, v, w, joinClock) }

// joinORMapEntry joins clocks, and the values if both have one.
func joinORMapEntry(e *edit, v, w Value) (Value, bool) {
	changed := false
	for _, name := range [...]string{addedMember, removedMember} {
		b, ok := w.Field(name)
		if !ok {
			continue
		}
		if a, ok := v.Field(name); ok {
			var more bool
			if b, more = joinNumber(a, b, 1); !more {
				continue
			}
		}
		v, changed = v.putting(e, name, b), true
	}
	theirs, ok := w.Field(latticeMember)
	if !ok {
		return v, changed
	}
	ours, ok := v.Field(latticeMember)
	if !ok || theirs.text > ours.text {
		value, _ := w.Field(valueMember)
		return v.putting(e, latticeMember, theirs).putting(e, valueMember, value), true
	}
	if theirs.text < ours.text {
		return v, changed
	}
	a, _ := v.Field(valueMember)
	b, _ := w.Field(valueMember)
	before := a.size()
	joined, more := Lattice(ours.text).join(e, a, b)
	if !more {
		return v, changed
	}
	return v.with(e, place{key: valueMember}, joined, before), true
}
