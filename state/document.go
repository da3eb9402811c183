package state

import "fmt"

// Document is the state of a thread: an immutable JSON object. The zero Document
// is {}. Documents derived from each other by [Patch.Apply] share what is equal
// in them. Use [Document.Equal] to compare.
type Document struct {
	_    [0]func()
	node *node
}

// Parse reads a document. It fails as [ParseValue] does, and with
// [ErrTypeMismatch] when the value is not an object.
func Parse(data []byte) (Document, error) {
	v, err := ParseValue(data)
	if err != nil {
		return Document{}, err
	}
	return DocumentOf(v)
}

// DocumentOf returns an object as a document, or an error matching
// [ErrTypeMismatch] for any other value.
func DocumentOf(v Value) (Document, error) {
	if v.kind != KindObject {
		return Document{}, fmt.Errorf("state document: %w", failf(ErrTypeMismatch, "root is %s, not an object", describe(v)))
	}
	return Document{node: v.node}, nil
}

// Root returns the document as a value.
func (d Document) Root() Value { return Value{kind: KindObject, node: d.node} }

// Get returns the value at a path. It reports false when there is none, or the
// path is not a pointer.
func (d Document) Get(p Pointer) (Value, bool) { return d.Root().Get(p) }

// Len returns the number of keys at the top level.
func (d Document) Len() int { return d.Root().Len() }

// Size returns the length of the encoding in bytes, escapes counted as the
// characters they stand for. It costs nothing.
func (d Document) Size() int { return d.Root().size() }

// Equal reports whether the documents are equal in the sense of [Value.Equal].
// What they share is not compared.
func (d Document) Equal(other Document) bool { return d.node.equal(other.node) }

// AppendJSON appends the encoding of the document to dst; see
// [Value.AppendJSON].
func (d Document) AppendJSON(dst []byte) []byte { return d.Root().AppendJSON(dst) }

// MarshalJSON returns the encoding of the document. It never fails.
func (d Document) MarshalJSON() ([]byte, error) { return d.Root().MarshalJSON() }

// UnmarshalJSON replaces the variable by the document [Parse] reads.
func (d *Document) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(data)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// String returns the encoding of the document, for people.
func (d Document) String() string { return d.Root().String() }

// describe names the type of a value with its article, for an error message.
func describe(v Value) string {
	switch v.kind {
	case KindNull:
		return "null"
	case KindArray, KindObject:
		return "an " + v.kind.String()
	}
	return "a " + v.kind.String()
}
