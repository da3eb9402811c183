package state

import "fmt"

// Reducer names a built-in way to fold a delta into the value of a key. Where
// there is no value yet, the result is the delta. A delta or value of the wrong
// type or form is [ErrTypeMismatch] or [ErrNotANumber].
type Reducer string

const (
	// ReduceReplace takes the delta as the new value.
	ReduceReplace Reducer = "replace"
	// ReduceAppend appends the elements of the delta, an array. It yields append
	// ops, so appends of parallel calls do not conflict.
	ReduceAppend Reducer = "append"
	// ReduceMerge sets the members of the delta, an object, one level deep. It
	// yields a set for each member that changes, so merges of parallel calls
	// conflict only where they set the same one.
	ReduceMerge Reducer = "merge"
	// ReduceSum adds the delta, a number, as [Increment] does. Sums of parallel
	// calls do not conflict once there is a value.
	ReduceSum Reducer = "sum"
	// ReduceMax keeps the greater number, by exact value.
	ReduceMax Reducer = "max"
	// ReduceMin keeps the lesser number, by exact value.
	ReduceMin Reducer = "min"
	// ReduceUnion appends those elements of the delta, an array, that no element
	// of the value is equal to.
	ReduceUnion Reducer = "union"
	// ReduceJoin joins the delta by the [Lattice] of the spec. It yields a join op,
	// so joins of parallel calls do not conflict. Unlike ReduceMax, ReduceMin and
	// ReduceUnion, whose sets do, lattices max, min and set are for writers side by
	// side.
	ReduceJoin Reducer = "join"
)

// ReduceFunc returns the new value of a key from the current one and a delta. Ok
// is false, and current null, if there is no value yet. It must depend on nothing
// else. The result is stored by a set op, unless it is equal to the current
// value.
type ReduceFunc func(current Value, ok bool, delta Value) (Value, error)

func (r Reducer) known() bool {
	switch r {
	case ReduceReplace, ReduceAppend, ReduceMerge, ReduceSum, ReduceMax, ReduceMin, ReduceUnion, ReduceJoin:
		return true
	}
	return false
}

// reduce is [Specs.Reduce] for one spec.
func (s Spec) reduce(doc Document, callID string, delta Value) (Patch, error) {
	path, err := s.place(callID)
	if err != nil {
		return nil, err
	}
	current, ok := doc.Get(path)
	p, err := s.fold(path, current, ok, delta)
	if err == nil {
		_, err = p.Apply(doc)
	}
	if err != nil {
		return nil, fmt.Errorf("reduce %s: %w", s.Name, err)
	}
	return p, nil
}

// fold returns the ops that fold delta into the current value of a path.
func (s Spec) fold(path Pointer, current Value, ok bool, delta Value) (Patch, error) {
	var next Value
	var err error
	switch s.Reducer {
	case ReduceAppend:
		return foldAppend(path, current, ok, delta)
	case ReduceMerge:
		return foldMerge(path, current, ok, delta)
	case ReduceSum:
		return foldSum(path, current, ok, delta)
	case ReduceJoin:
		return foldJoin(path, s.Lattice, current, ok, delta)
	case ReduceMax:
		next, err = extreme(current, ok, delta, 1)
	case ReduceMin:
		next, err = extreme(current, ok, delta, -1)
	case ReduceUnion:
		next, err = union(current, ok, delta)
	case ReduceReplace:
		next = delta
	default:
		next, err = s.Func(current, ok, delta)
	}
	if err != nil || ok && next.Equal(current) {
		return nil, err
	}
	return Patch{Set(path, next)}, nil
}

// want checks the types of the operands of a reducer.
func want(kind Kind, class error, current Value, ok bool, delta Value) error {
	if delta.kind != kind {
		return failf(class, "the delta is %s, not %s", describe(delta), describe(Value{kind: kind}))
	}
	if ok && current.kind != kind {
		return failf(class, "the value is %s, not %s", describe(current), describe(Value{kind: kind}))
	}
	return nil
}

func foldAppend(path Pointer, current Value, ok bool, delta Value) (Patch, error) {
	if err := want(KindArray, ErrTypeMismatch, current, ok, delta); err != nil {
		return nil, err
	}
	if !ok && delta.Len() == 0 {
		return Patch{Set(path, delta)}, nil
	}
	var p Patch
	for item := range delta.Elements() {
		p = append(p, Append(path, item))
	}
	return p, nil
}

func foldMerge(path Pointer, current Value, ok bool, delta Value) (Patch, error) {
	if err := want(KindObject, ErrTypeMismatch, current, ok, delta); err != nil {
		return nil, err
	}
	if !ok && delta.Len() == 0 {
		return Patch{Set(path, delta)}, nil
	}
	var p Patch
	for key, member := range delta.Members() {
		if old, ok := current.Field(key); !ok || !old.Equal(member) {
			p = append(p, Set(path.Join(key), member))
		}
	}
	return p, nil
}

func foldSum(path Pointer, current Value, ok bool, delta Value) (Patch, error) {
	if err := want(KindNumber, ErrNotANumber, current, ok, delta); err != nil {
		return nil, err
	}
	if !ok {
		return Patch{Set(path, delta)}, nil
	}
	sum, err := addNumbers(current.text, delta.text)
	if err != nil || compareNumbers(sum, current.text) == 0 {
		return nil, err
	}
	return Patch{Increment(path, delta)}, nil
}

// foldJoin leaves what is wrong with the operands to the op.
func foldJoin(path Pointer, l Lattice, current Value, ok bool, delta Value) (Patch, error) {
	if ok && l.flaw(delta) == "" && l.flaw(current) == "" {
		if _, changed := l.join(new(edit), current, delta); !changed {
			return nil, nil
		}
	}
	return Patch{Join(path, l, delta)}, nil
}

// extreme returns the number that is further in a direction, 1 or -1.
func extreme(current Value, ok bool, delta Value, direction int) (Value, error) {
	if err := want(KindNumber, ErrNotANumber, current, ok, delta); err != nil {
		return Value{}, err
	}
	if ok && compareNumbers(delta.text, current.text) != direction {
		return current, nil
	}
	return delta, nil
}

// union returns the current array with the elements of delta that it lacks.
func union(current Value, ok bool, delta Value) (Value, error) {
	if err := want(KindArray, ErrTypeMismatch, current, ok, delta); err != nil {
		return Value{}, err
	}
	seen := newElementSet(newHasher())
	for item := range current.Elements() {
		seen.add(item)
	}
	e, result := new(edit), Value{kind: KindArray, node: current.node}
	for item := range delta.Elements() {
		if _, added := seen.add(item); added {
			result = result.adding(e, place{index: result.Len()}, item)
		}
	}
	return result, nil
}
