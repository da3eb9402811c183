package state

import (
	"fmt"
	"strconv"
)

// The operations of a JSON patch.
const (
	jsonAdd     OpKind = "add"
	jsonRemove  OpKind = "remove"
	jsonReplace OpKind = "replace"
	jsonMove    OpKind = "move"
	jsonCopy    OpKind = "copy"
	jsonTest    OpKind = "test"
)

// maxCopied bounds what the copies of one JSON patch may add up to, in bytes of
// encoding. A few copies of copies could otherwise fill any memory.
const maxCopied = 8 << 20

// FromJSONPatch reads an RFC 6902 JSON patch and returns the patch that does to
// doc what it says. The result is meant for doc alone: whether an add inserts or
// sets depends on what is there, a copy has become the value it found, and a test
// has been made and is gone. It is nil if nothing is to be done.
//
// What fails is reported as an [*OpError], with the kind of the JSON patch
// operation in it: [ErrTestFailed]; [ErrPathNotFound], [ErrIndexOutOfRange] or
// [ErrTypeMismatch] where the operation has no target; [ErrTypeMismatch] for what
// has no counterpart, which is a root that is no object, or none; [ErrTooDeep];
// and [ErrTooLarge] for copies of more than 8 MiB. A patch that is malformed is
// [ErrSyntax], [ErrUnknownOp], [ErrPointer] or [ErrTypeMismatch].
func FromJSONPatch(doc Document, patch []byte) (Patch, error) {
	v, err := ParseValue(patch)
	if err != nil {
		return nil, fmt.Errorf("JSON patch: %w", err)
	}
	if v.kind != KindArray {
		return nil, fmt.Errorf("JSON patch: %w", failf(ErrTypeMismatch, "patch is %s, not an array", describe(v)))
	}
	r := jsonPatchReader{doc: doc}
	i := 0
	for item := range v.Elements() {
		op, err := jsonOpOf(item)
		if err == nil {
			err = r.read(op)
		}
		if err != nil {
			return nil, fmt.Errorf("JSON patch: %w", opError(i, Op{Kind: op.kind, Path: op.path}, err))
		}
		i++
	}
	return r.patch, nil
}

// jsonOp is an operation of a JSON patch.
type jsonOp struct {
	kind       OpKind
	path, from Pointer
	value      Value
}

// jsonOpOf reads an operation. As the RFC wants it, members that the operation
// does not have are ignored.
func jsonOpOf(v Value) (jsonOp, error) {
	var op jsonOp
	if v.kind != KindObject {
		return op, failf(ErrTypeMismatch, "operation is %s, not an object", describe(v))
	}
	name, _ := v.Field("op")
	if name.kind != KindString {
		return op, failf(ErrTypeMismatch, `operation has no text member "op"`)
	}
	op.kind = OpKind(name.text)
	var needsFrom, needsValue bool
	switch op.kind {
	case jsonAdd, jsonReplace, jsonTest:
		needsValue = true
	case jsonMove, jsonCopy:
		needsFrom = true
	case jsonRemove:
	default:
		return op, failf(ErrUnknownOp, "%q", name.text)
	}
	var err error
	if op.path, err = pointerMember(v, "path"); err != nil {
		return op, err
	}
	if needsFrom {
		if op.from, err = pointerMember(v, "from"); err != nil {
			return op, err
		}
	}
	value, ok := v.Field("value")
	if op.value = value; needsValue && !ok {
		return op, failf(ErrTypeMismatch, `operation has no member "value"`)
	}
	return op, nil
}

func pointerMember(v Value, name string) (Pointer, error) {
	member, _ := v.Field(name)
	if member.kind != KindString {
		return "", failf(ErrTypeMismatch, "operation has no text member %q", name)
	}
	return ParsePointer(member.text)
}

// jsonPatchReader turns operations into ops of the document as the operations
// before have left it.
type jsonPatchReader struct {
	doc    Document
	patch  Patch
	copied int
}

func (r *jsonPatchReader) read(op jsonOp) error {
	switch op.kind {
	case jsonAdd:
		return r.add(op.path, op.value)
	case jsonRemove:
		return r.remove(op.path)
	case jsonReplace:
		return r.replace(op.path, op.value)
	case jsonMove:
		return r.move(op.from, op.path)
	case jsonCopy:
		return r.copy(op.from, op.path)
	default:
		return r.test(op.path, op.value)
	}
}

// emit applies an op and keeps it.
func (r *jsonPatchReader) emit(op Op) error {
	next, err := op.applyTo(r.doc)
	if err != nil {
		return err
	}
	r.doc, r.patch = next, append(r.patch, op)
	return nil
}

func (r *jsonPatchReader) add(path Pointer, v Value) error {
	if path == "" {
		return r.emit(Set(path, v))
	}
	parent, token := path.split()
	container, ok := r.doc.Get(parent)
	switch {
	case !ok:
		return failf(ErrPathNotFound, "%q does not exist", string(parent))
	case container.kind != KindArray:
		return r.emit(Set(path, v))
	case token == "-" || token == strconv.Itoa(container.Len()):
		return r.emit(Append(parent, v))
	}
	return r.emit(Insert(path, v))
}

// existing returns what an operation says is there.
func (r *jsonPatchReader) existing(path Pointer) (Value, error) {
	v, ok := r.doc.Get(path)
	if !ok {
		return v, failf(ErrPathNotFound, "%q does not exist", string(path))
	}
	return v, nil
}

func (r *jsonPatchReader) remove(path Pointer) error {
	if path == "" {
		return failf(ErrTypeMismatch, "the root cannot be removed")
	}
	if _, err := r.existing(path); err != nil {
		return err
	}
	return r.emit(Delete(path))
}

func (r *jsonPatchReader) replace(path Pointer, v Value) error {
	if _, err := r.existing(path); err != nil {
		return err
	}
	return r.emit(Set(path, v))
}

func (r *jsonPatchReader) move(from, path Pointer) error {
	v, err := r.existing(from)
	if err != nil || from == path {
		return err
	}
	if from.Contains(path) {
		return failf(ErrTypeMismatch, "%q cannot be moved into itself", string(from))
	}
	if err := r.remove(from); err != nil {
		return err
	}
	return r.add(path, v)
}

func (r *jsonPatchReader) copy(from, path Pointer) error {
	v, err := r.existing(from)
	if err != nil {
		return err
	}
	if r.copied += v.size(); r.copied > maxCopied {
		return failf(ErrTooLarge, "copies add up to more than %d bytes", maxCopied)
	}
	return r.add(path, v)
}

func (r *jsonPatchReader) test(path Pointer, want Value) error {
	v, err := r.existing(path)
	if err != nil {
		return err
	}
	if !v.Equal(want) {
		return failf(ErrTestFailed, "%q is %s, not %s", string(path), brief(v.String()), brief(want.String()))
	}
	return nil
}
