package state

// ORSet is a value of [LatticeORSet] being read and changed. It is immutable, and
// its methods read what earlier ones wrote; the zero ORSet is empty.
//
// Its clock is always beyond every clock it has seen, so what it does comes after
// all that was read. Text that is not UTF-8 is treated as by [String].
type ORSet struct {
	all, delta Value
	clock      int64
}

// ORSetOf reads an OR-set. A null, which [Document.Get] returns where there is
// nothing, is the empty one; other errors are those of [Lattice.Check].
func ORSetOf(v Value) (ORSet, error) {
	v = asObject(v)
	if err := LatticeORSet.Check(v); err != nil {
		return ORSet{}, err
	}
	return ORSet{all: v, clock: latestOf(v)}, nil
}

// Has reports whether a text is in the set.
func (s ORSet) Has(text string) bool {
	entry, _ := s.all.Field(validText(text))
	return present(entry)
}

// Elements returns the texts in the set in byte order.
func (s ORSet) Elements() []string { return presentKeys(s.all) }

func presentKeys(v Value) []string {
	var keys []string
	for key, entry := range v.Members() {
		if present(entry) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Add returns the set with the texts in it. One that is there already is added
// anew: somebody who removes it at the same time does not prevail. It is
// [ErrOverflow] if there is no later clock.
func (s ORSet) Add(texts ...string) (ORSet, error) {
	return s.stamp(addedMember, texts)
}

// Remove returns the set without the texts. It does nothing about those that are
// not in it. It is [ErrOverflow] if there is no later clock.
func (s ORSet) Remove(texts ...string) (ORSet, error) {
	var there []string
	for _, text := range texts {
		if s.Has(text) {
			there = append(there, text)
		}
	}
	return s.stamp(removedMember, there)
}

// stamp sets one clock of the entries to the next.
func (s ORSet) stamp(name string, texts []string) (ORSet, error) {
	if len(texts) == 0 {
		return s, nil
	}
	clock, err := tick(s.clock)
	if err != nil {
		return s, err
	}
	s.clock = clock
	for _, text := range texts {
		text = validText(text)
		s.all, s.delta = stamped(s.all, text, name, clock), stamped(s.delta, text, name, clock)
	}
	return s, nil
}

// stamped returns the entries with one clock of one of them set.
func stamped(entries Value, key, name string, clock int64) Value {
	entry, _ := asObject(entries).Field(key)
	return objectWith(entries, key, objectWith(entry, name, Int(clock)))
}

// Value returns the whole set, with what it needs to know of removed texts.
func (s ORSet) Value() Value { return asObject(s.all) }

// Delta returns what was changed since [ORSetOf], as the value of a [Join].
func (s ORSet) Delta() Value { return asObject(s.delta) }
