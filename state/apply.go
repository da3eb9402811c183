package state

// change is one op being applied under an edit. Where an op has a target, its
// place is found by walking from the root, and the containers on the way are
// rebuilt on the way back.
type change struct {
	e      *edit
	op     Op
	path   Pointer // of the target: for insert, the array
	create bool    // missing containers on the way are made
}

// apply returns root as the op leaves it.
func (op Op) apply(e *edit, root Value) (Value, error) {
	if !op.Kind.known() {
		return root, failf(ErrUnknownOp, "%q", string(op.Kind))
	}
	if _, err := ParsePointer(string(op.Path)); err != nil {
		return root, err
	}
	c := change{e: e, op: op, path: op.Path}
	switch op.Kind {
	case OpDelete:
		next, _ := c.delete(root, string(op.Path))
		return next, nil
	case OpInsert:
		if op.Path == "" {
			return root, failf(ErrTypeMismatch, "the root is an object, not an array")
		}
		c.path, _ = op.Path.split()
	case OpSet, OpAppend, OpMerge, OpJoin:
		c.create = true
	}
	if err := op.checkDepth(); err != nil {
		return root, err
	}
	if op.Kind == OpSet && op.Path == "" && op.Value.kind != KindObject {
		return root, failf(ErrTypeMismatch, "the root cannot be %s", describe(op.Value))
	}
	next, _, err := c.walk(root, true, string(c.path))
	if err != nil {
		return root, err
	}
	return next, nil
}

// applyTo returns the document as the op leaves it.
func (op Op) applyTo(d Document) (Document, error) {
	root, err := op.apply(new(edit), d.Root())
	return Document{node: root.node}, err
}

// checkDepth refuses ops that would nest too deep. The result depends on the op
// alone.
func (op Op) checkDepth() error {
	above := op.Path.len()
	switch op.Kind {
	case OpIncrement, OpRemove:
		return nil
	case OpAppend:
		above++
	}
	if !op.Value.fitsUnder(above) {
		return failf(ErrTooDeep, "more than %d containers in each other", MaxDepth)
	}
	return nil
}

// walk follows the rest of the path from v, which is there or not, and returns v
// as the op leaves it and whether that is another value.
func (c *change) walk(v Value, ok bool, rest string) (Value, bool, error) {
	if rest == "" {
		return c.target(v, ok)
	}
	if !ok {
		if !c.create {
			return v, false, failf(ErrPathNotFound, "%s does not exist", c.at(rest))
		}
		v = Value{kind: KindObject}
	}
	token, below := cutToken(rest)
	p, err := c.enter(v, token, rest)
	if err != nil {
		return v, false, err
	}
	item, found := v.child(token)
	before := item.size()
	next, changed, err := c.walk(item, found, below)
	if err != nil || !changed {
		return v, false, err
	}
	if found {
		return v.with(c.e, p, next, before), true, nil
	}
	return v.adding(c.e, p, next), true, nil
}

// enter returns the place a token names in v, which is the container before rest.
func (c *change) enter(v Value, token, rest string) (place, error) {
	switch v.kind {
	case KindObject:
		return place{key: token}, nil
	case KindArray:
		i, ok := arrayIndex(token)
		if !ok {
			return place{}, failf(ErrTypeMismatch, "%s is an array, and %q is not an index", c.at(rest), token)
		}
		if i >= v.Len() {
			return place{}, failf(ErrIndexOutOfRange, "%s has %d elements, none at %d", c.at(rest), v.Len(), i)
		}
		return place{index: i}, nil
	}
	return place{}, failf(ErrTypeMismatch, "%s is %s, not a container", c.at(rest), describe(v))
}

// at names, for an error message, the place before the rest of the path.
func (c *change) at(rest string) string {
	if len(rest) == len(c.path) {
		return "the root"
	}
	return string(c.path[:len(c.path)-len(rest)])
}

// target returns what the op makes of its target, which is there or not, and
// whether that is another value.
func (c *change) target(v Value, ok bool) (Value, bool, error) {
	switch c.op.Kind {
	case OpSet:
		return c.op.Value, true, nil
	case OpAppend:
		return c.append(v, ok)
	case OpMerge:
		return c.merge(v, ok)
	case OpJoin:
		return c.join(v, ok)
	}
	if !ok {
		return v, false, failf(ErrPathNotFound, "%s does not exist", c.at(""))
	}
	switch c.op.Kind {
	case OpIncrement:
		return c.increment(v)
	case OpInsert:
		return c.insert(v)
	default:
		return c.remove(v)
	}
}

func (c *change) append(v Value, ok bool) (Value, bool, error) {
	if !ok {
		v = Value{kind: KindArray}
	}
	if v.kind != KindArray {
		return v, false, c.mismatch(v, KindArray)
	}
	return v.adding(c.e, place{index: v.Len()}, c.op.Value), true, nil
}

func (c *change) merge(v Value, ok bool) (Value, bool, error) {
	if c.op.Value.kind != KindObject {
		return v, false, failf(ErrTypeMismatch, "merge takes an object, not %s", describe(c.op.Value))
	}
	if !ok || v.kind == KindObject && v.node == nil {
		return c.op.Value, true, nil
	}
	if v.kind != KindObject {
		return v, false, c.mismatch(v, KindObject)
	}
	for key, member := range c.op.Value.Members() {
		v = v.putting(c.e, key, member)
	}
	return v, c.op.Value.Len() > 0, nil
}

func (c *change) join(v Value, ok bool) (Value, bool, error) {
	l, delta := c.op.Lattice, c.op.Value
	if err := l.Check(delta); err != nil {
		return v, false, err
	}
	if !ok {
		return delta, true, nil
	}
	if wrong := l.flaw(v); wrong != "" {
		return v, false, failf(ErrTypeMismatch, "%s is %s, not in the form of lattice %s: %s", c.at(""), describe(v), l, wrong)
	}
	joined, changed := l.join(c.e, v, delta)
	return joined, changed, nil
}

func (c *change) increment(v Value) (Value, bool, error) {
	if v.kind != KindNumber {
		return v, false, failf(ErrNotANumber, "%s is %s", c.at(""), describe(v))
	}
	if c.op.Value.kind != KindNumber {
		return v, false, failf(ErrNotANumber, "increment by %s", describe(c.op.Value))
	}
	sum, err := addNumbers(v.text, c.op.Value.text)
	if err != nil {
		return v, false, err
	}
	return Value{kind: KindNumber, text: sum}, true, nil
}

func (c *change) insert(v Value) (Value, bool, error) {
	if v.kind != KindArray {
		return v, false, c.mismatch(v, KindArray)
	}
	_, token := c.op.Path.split()
	i, ok := arrayIndex(token)
	if !ok {
		return v, false, failf(ErrTypeMismatch, "%q is not an array index", token)
	}
	if i > v.Len() {
		return v, false, failf(ErrIndexOutOfRange, "%s has %d elements, no gap at %d", c.at(""), v.Len(), i)
	}
	return v.adding(c.e, place{index: i}, c.op.Value), true, nil
}

func (c *change) remove(v Value) (Value, bool, error) {
	if v.kind != KindArray {
		return v, false, c.mismatch(v, KindArray)
	}
	if i := v.indexOf(c.op.Value); i >= 0 {
		return v.without(c.e, place{index: i}), true, nil
	}
	return v, false, nil
}

// indexOf returns the index of the first element equal to w, or -1.
func (v Value) indexOf(w Value) int {
	i := 0
	for item := range v.Elements() {
		if item.Equal(w) {
			return i
		}
		i++
	}
	return -1
}

func (c *change) mismatch(v Value, want Kind) error {
	return failf(ErrTypeMismatch, "%s is %s, not an %s", c.at(""), describe(v), want)
}

// delete returns v without what is at the rest of the path, and whether there
// was anything.
func (c *change) delete(v Value, rest string) (Value, bool) {
	if rest == "" {
		return Value{kind: KindObject}, true // only the root gets here
	}
	token, below := cutToken(rest)
	item, ok := v.child(token)
	if !ok {
		return v, false
	}
	p := place{key: token}
	if v.kind == KindArray {
		p.index, _ = arrayIndex(token)
	}
	if below == "" {
		return v.without(c.e, p), true
	}
	before := item.size()
	next, ok := c.delete(item, below)
	if !ok {
		return v, false
	}
	return v.with(c.e, p, next, before), true
}
