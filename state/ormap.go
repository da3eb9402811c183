package state

// ORMap is a value of [LatticeORMap] being read and changed. It is immutable, and
// its methods read what earlier ones wrote; the zero ORMap is empty.
//
// Its clock is always beyond every clock it has seen, so what it does comes after
// all that was read. Keys that are not UTF-8 are treated as by [String].
type ORMap struct {
	all, delta Value
	clock      int64
}

// ORMapOf reads an OR-map. A null, which [Document.Get] returns where there is
// nothing, is the empty one; other errors are those of [Lattice.Check].
func ORMapOf(v Value) (ORMap, error) {
	v = asObject(v)
	if err := LatticeORMap.Check(v); err != nil {
		return ORMap{}, err
	}
	return ORMap{all: v, clock: latestOf(v)}, nil
}

// Get returns the value of a key. It reports false, and null, if the map does not
// have the key.
func (m ORMap) Get(key string) (Value, bool) {
	entry, _ := m.all.Field(validText(key))
	if !present(entry) {
		return Value{}, false
	}
	return entry.Field(valueMember)
}

// Lattice returns the lattice of a key's value, and "" if the key never had one.
// A removed key keeps it.
func (m ORMap) Lattice(key string) Lattice {
	entry, _ := m.all.Field(validText(key))
	name, _ := entry.Field(latticeMember)
	return Lattice(name.Text())
}

// Keys returns the keys of the map in byte order.
func (m ORMap) Keys() []string { return presentKeys(m.all) }

// Put returns the map with a key, and delta joined into its value. A key that was
// removed comes back with the value it had. Put is [ErrTypeMismatch] if the key
// has, or had, a value of another lattice, or as [Lattice.Check] says of delta,
// and [ErrOverflow] if there is no later clock.
func (m ORMap) Put(key string, l Lattice, delta Value) (ORMap, error) {
	key = validText(key)
	if err := l.Check(delta); err != nil {
		return m, err
	}
	if has := m.Lattice(key); has != "" && has != l {
		return m, failf(ErrTypeMismatch, "%q is a %s, not a %s", key, has, l)
	}
	clock, err := tick(m.clock)
	if err != nil {
		return m, err
	}
	entry := objectWith(Null(), addedMember, Int(clock))
	entry = objectWith(entry, latticeMember, String(string(l)))
	m.join(key, objectWith(entry, valueMember, delta), clock)
	return m, nil
}

// Remove returns the map without the keys. It does nothing about those that it
// does not have. It is [ErrOverflow] if there is no later clock.
func (m ORMap) Remove(keys ...string) (ORMap, error) {
	next := m
	for _, key := range keys {
		key = validText(key)
		if _, ok := m.Get(key); !ok {
			continue
		}
		clock, err := tick(m.clock)
		if err != nil {
			return m, err
		}
		next.join(key, objectWith(Null(), removedMember, Int(clock)), clock)
	}
	return next, nil
}

// join joins one entry into what the map is and what it will report as changed.
func (m *ORMap) join(key string, entry Value, clock int64) {
	change := objectWith(Null(), key, entry)
	m.all, _ = LatticeORMap.join(new(edit), asObject(m.all), change)
	m.delta, _ = LatticeORMap.join(new(edit), asObject(m.delta), change)
	m.clock = clock
}

// Value returns the whole map, with what it needs to know of removed keys.
func (m ORMap) Value() Value { return asObject(m.all) }

// Delta returns what was changed since [ORMapOf], as the value of a [Join].
func (m ORMap) Delta() Value { return asObject(m.delta) }
