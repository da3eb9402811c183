package state

import (
	"errors"
	"fmt"
)

// OpKind is what an op does.
type OpKind string

// The kinds of op. Each is described at the function that makes one.
const (
	OpSet       OpKind = "set"
	OpDelete    OpKind = "delete"
	OpAppend    OpKind = "append"
	OpMerge     OpKind = "merge"
	OpIncrement OpKind = "increment"
	OpInsert    OpKind = "insert"
	OpRemove    OpKind = "remove"
	OpJoin      OpKind = "join"
)

func (k OpKind) known() bool {
	switch k {
	case OpSet, OpDelete, OpAppend, OpMerge, OpIncrement, OpInsert, OpRemove, OpJoin:
		return true
	}
	return false
}

// Op is one step of a [Patch]. Its JSON form is an object with exactly the
// members op, path, for every kind but delete value, and for join lattice.
//
// A path leads through objects by key and through arrays by index. Anything else
// on the way, null included, is [ErrTypeMismatch], and so is a token that is not
// an index where it meets an array; an index without an element is
// [ErrIndexOutOfRange]. What is missing on the way is made of empty objects by
// set, append, merge and join, and is [ErrPathNotFound] to increment, insert and
// remove. Delete never fails. No op may nest deeper than [MaxDepth]
// ([ErrTooDeep]).
type Op struct {
	Kind    OpKind
	Path    Pointer
	Value   Value
	Lattice Lattice // of a join, without meaning elsewhere
}

// Set stores v at the path, whatever was there. An array element must exist
// already. The root can only be set to an object. Nothing but the target is
// ever lost: a scalar, null or array in the way is an error.
func Set(path Pointer, v Value) Op { return Op{Kind: OpSet, Path: path, Value: v} }

// Delete takes away what is at the path. If there is nothing, also because the
// path leads through something that is no container, nothing happens. Elements
// after a deleted one move up. Deleting the root leaves {}.
func Delete(path Pointer) Op { return Op{Kind: OpDelete, Path: path} }

// Append adds v at the end of the array at the path, as one element. A missing
// array is made; anything else is [ErrTypeMismatch].
func Append(path Pointer, v Value) Op { return Op{Kind: OpAppend, Path: path, Value: v} }

// Merge sets each member of the object v in the object at the path. It is
// shallow, and a null is stored as null. A missing object is made; if v or the
// target is anything else that is [ErrTypeMismatch].
func Merge(path Pointer, v Value) Op { return Op{Kind: OpMerge, Path: path, Value: v} }

// Increment adds the number v to the number at the path, which must exist.
// Integers, by value, add exactly; a result or operand beyond 64 bits is
// [ErrOverflow]. If either has a fraction the sum is that of float64, and
// [ErrOverflow] if it is not finite or an integer operand would be rounded.
// Anything else is [ErrNotANumber].
func Increment(path Pointer, v Value) Op { return Op{Kind: OpIncrement, Path: path, Value: v} }

// Insert adds v to an array, which must exist. The last token of the path is the
// index it will have, from 0 to the length of the array; elements from there on
// move down.
func Insert(path Pointer, v Value) Op { return Op{Kind: OpInsert, Path: path, Value: v} }

// Remove takes the first element equal to v out of the array at the path, which
// must exist. If none is equal nothing happens.
func Remove(path Pointer, v Value) Op { return Op{Kind: OpRemove, Path: path, Value: v} }

// Patch is a list of ops that are applied in order, all or none. The nil Patch
// changes nothing.
type Patch []Op

// ParsePatch reads the JSON form of a patch: an array of ops. Errors match
// [ErrSyntax], [ErrUnknownOp], [ErrUnknownLattice], [ErrPointer] or
// [ErrTypeMismatch] and name the op.
func ParsePatch(data []byte) (Patch, error) {
	v, err := ParseValue(data)
	if err != nil {
		return nil, err
	}
	if v.kind != KindArray {
		return nil, failf(ErrTypeMismatch, "patch is %s, not an array", describe(v))
	}
	p := make(Patch, 0, v.Len())
	for item := range v.Elements() {
		op, err := opOf(item)
		if err != nil {
			return nil, fmt.Errorf("op %d: %w", len(p), err)
		}
		p = append(p, op)
	}
	return p, nil
}

// opOf reads an op from its JSON form.
func opOf(v Value) (Op, error) {
	var op Op
	if v.kind != KindObject {
		return op, failf(ErrTypeMismatch, "op is %s, not an object", describe(v))
	}
	var hasKind, hasPath, hasLattice, hasValue bool
	for key, member := range v.Members() {
		switch key {
		case "op":
			op.Kind, hasKind = OpKind(member.Text()), member.kind == KindString
		case "path":
			op.Path, hasPath = Pointer(member.Text()), member.kind == KindString
		case "lattice":
			if member.kind != KindString {
				return op, failf(ErrTypeMismatch, "lattice is %s, not a string", describe(member))
			}
			op.Lattice, hasLattice = Lattice(member.Text()), true
		case "value":
			op.Value, hasValue = member, true
		default:
			return op, failf(ErrTypeMismatch, "op has an unknown member %q", key)
		}
	}
	switch {
	case !hasKind:
		return op, failf(ErrTypeMismatch, `op has no text member "op"`)
	case !op.Kind.known():
		return op, failf(ErrUnknownOp, "%q", string(op.Kind))
	case !hasPath:
		return op, failf(ErrTypeMismatch, `%s has no text member "path"`, op.Kind)
	case hasValue && op.Kind == OpDelete:
		return op, failf(ErrTypeMismatch, "delete takes no value")
	case !hasValue && op.Kind != OpDelete:
		return op, failf(ErrTypeMismatch, "%s has no value", op.Kind)
	case hasLattice && op.Kind != OpJoin:
		return op, failf(ErrTypeMismatch, "%s takes no lattice", op.Kind)
	case !hasLattice && op.Kind == OpJoin:
		return op, failf(ErrTypeMismatch, "join names no lattice")
	case hasLattice && !op.Lattice.known():
		return op, failf(ErrUnknownLattice, "%q", string(op.Lattice))
	}
	_, err := ParsePointer(string(op.Path))
	return op, err
}

// AppendJSON appends the compact JSON encoding of the patch to dst. A path that
// is not UTF-8 is written as [String] would.
func (p Patch) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, op := range p {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = op.AppendJSON(dst)
	}
	return append(dst, ']')
}

// MarshalJSON returns the encoding of the patch; the nil Patch is []. It never
// fails.
func (p Patch) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// UnmarshalJSON replaces the variable by the patch [ParsePatch] reads. A null is
// the nil Patch.
func (p *Patch) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*p = nil
		return nil
	}
	parsed, err := ParsePatch(data)
	if err != nil {
		return fmt.Errorf("decode patch: %w", err)
	}
	*p = parsed
	return nil
}

// AppendJSON appends the compact JSON encoding of the op to dst.
func (op Op) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"op":`...)
	dst = String(string(op.Kind)).AppendJSON(dst)
	dst = append(dst, `,"path":`...)
	dst = String(string(op.Path)).AppendJSON(dst)
	if op.Kind == OpJoin {
		dst = append(dst, `,"lattice":`...)
		dst = String(string(op.Lattice)).AppendJSON(dst)
	}
	if op.Kind != OpDelete {
		dst = append(dst, `,"value":`...)
		dst = op.Value.AppendJSON(dst)
	}
	return append(dst, '}')
}

// MarshalJSON returns the encoding of the op. It never fails.
func (op Op) MarshalJSON() ([]byte, error) { return op.AppendJSON(nil), nil }

// UnmarshalJSON replaces the variable by an op in its JSON form.
func (op *Op) UnmarshalJSON(data []byte) error {
	v, err := ParseValue(data)
	if err != nil {
		return err
	}
	parsed, err := opOf(v)
	if err != nil {
		return fmt.Errorf("decode op: %w", err)
	}
	*op = parsed
	return nil
}

// Touched returns the paths of the ops, each once, in the order of their first
// occurrence.
func (p Patch) Touched() []Pointer {
	seen := make(map[Pointer]bool, len(p))
	var paths []Pointer
	for _, op := range p {
		if !seen[op.Path] {
			seen[op.Path] = true
			paths = append(paths, op.Path)
		}
	}
	return paths
}

// Apply applies the ops in order and returns the document they lead to. The
// given document is not changed. If an op fails, Apply returns the given document
// and an [*OpError] that matches one of [ErrTypeMismatch], [ErrPathNotFound],
// [ErrIndexOutOfRange], [ErrNotANumber], [ErrOverflow], [ErrTooDeep],
// [ErrPointer], [ErrUnknownOp] and [ErrUnknownLattice].
//
// Only the nodes on the way to a target are copied, each at most once in a patch,
// so the cost grows with the patch and only with the logarithm of the document.
// A remove also looks through its array, and a join through the value it joins
// into.
func (p Patch) Apply(d Document) (Document, error) {
	root, e := d.Root(), new(edit)
	for i, op := range p {
		next, err := op.apply(e, root)
		if err != nil {
			return d, opError(i, op, err)
		}
		root = next
	}
	return Document{node: root.node}, nil
}

func opError(i int, op Op, err error) *OpError {
	e := &OpError{Index: i, Kind: op.Kind, Path: op.Path, Reason: err.Error(), Err: err}
	if f := (*failure)(nil); errors.As(err, &f) {
		e.Reason, e.Err = f.reason, f.class
	}
	return e
}
