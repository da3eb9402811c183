package state

// Register is a value of [LatticeRegister] being read and written. It is
// immutable; the zero Register is empty, and has no delta.
type Register struct{ all Value }

// RegisterOf reads a register. A null, which [Document.Get] returns where there
// is nothing, is the empty one; other errors are those of [Lattice.Check].
func RegisterOf(v Value) (Register, error) {
	if v.kind == KindNull {
		return Register{}, nil
	}
	if err := LatticeRegister.Check(v); err != nil {
		return Register{}, err
	}
	return Register{all: v}, nil
}

// Get returns the value. It reports false if none was ever set.
func (r Register) Get() (Value, bool) { return r.all.Field(valueMember) }

// Set returns the register with a value that is later than the one it has. It is
// [ErrOverflow] if there is no later clock.
func (r Register) Set(v Value) (Register, error) {
	clock, err := tick(max(0, clockOf(r.all, clockMember)))
	if err != nil {
		return r, err
	}
	r.all = objectWith(objectWith(Null(), clockMember, Int(clock)), valueMember, v)
	return r, nil
}

// Value returns the whole register, which is also the delta to [Join]. It is null
// for the empty one.
func (r Register) Value() Value { return r.all }
