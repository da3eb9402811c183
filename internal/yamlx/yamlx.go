// Package yamlx reads YAML the way configuration wants it read: one document,
// every value with its line, nothing guessed. It is the only package of the
// module that knows which YAML library is underneath.
//
// Scalars stay the text that was written; the reader of a key says what type
// it wants. Duplicate keys, keys that are not plain text, anchors, aliases and
// merge keys are refused, so that a document cannot grow while it is read.
package yamlx

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxBytes bounds the size of a document.
const MaxBytes = 1 << 20

// Kind tells the shapes of a node apart.
type Kind uint8

// The kinds. Null is also what an empty document is.
const (
	Null Kind = iota
	Scalar
	List
	Map
)

// String names the kind for messages.
func (k Kind) String() string {
	return [...]string{"nothing", "a single value", "a list", "a mapping"}[k]
}

// Node is a value of the document and where it stands.
type Node struct {
	Kind    Kind
	Line    int
	Text    string  // of a scalar, unquoted
	Quoted  bool    // of a scalar: it was written in quotes or as a block
	Items   []*Node // of a list
	Entries []Entry // of a map, in the order of the document
}

// Entry is a key of a map and its value.
type Entry struct {
	Key   string
	Line  int
	Value *Node
}

// Error is a fault of a document. Line is 0 if it is not known.
type Error struct {
	Line   int
	Reason string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// Parse reads a document. An empty one is a [Null] node. Every error is an
// [*Error].
func Parse(data []byte) (*Node, error) {
	if len(data) > MaxBytes {
		return nil, &Error{Reason: fmt.Sprintf("the document has %d bytes, more than %d", len(data), MaxBytes)}
	}
	var documents []yaml.Node
	if err := yaml.Load(data, &documents, yaml.WithAllDocuments()); err != nil {
		return nil, translate(err)
	}
	switch len(documents) {
	case 0:
		return &Node{Line: 1}, nil
	case 1:
		return convert(&documents[0])
	default:
		return nil, &Error{Line: documents[1].Line, Reason: "a second document starts here; one is read"}
	}
}

// translate keeps what a person can use of the library's error.
func translate(err error) error {
	var one *yaml.LoadError
	if errors.As(err, &one) {
		return &Error{Line: one.Mark.Line, Reason: one.Message}
	}
	return &Error{Reason: strings.Join(strings.Fields(err.Error()), " ")}
}

func convert(n *yaml.Node) (*Node, error) {
	if n.Anchor != "" {
		return nil, &Error{Line: n.Line, Reason: "anchors (&) are not read; write the value where it is used"}
	}
	out := &Node{Line: n.Line}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return out, nil
		}
		return convert(n.Content[0])
	case yaml.ScalarNode:
		if n.ShortTag() != "!!null" {
			out.Kind, out.Text = Scalar, n.Value
			out.Quoted = n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
		}
		return out, nil
	case yaml.SequenceNode:
		out.Kind = List
		for _, item := range n.Content {
			value, err := convert(item)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, value)
		}
		return out, nil
	case yaml.MappingNode:
		out.Kind = Map
		return out, out.addEntries(n.Content)
	default:
		return nil, &Error{Line: n.Line, Reason: "aliases (*) are not read; write the value where it is used"}
	}
}

func (out *Node) addEntries(content []*yaml.Node) error {
	seen := make(map[string]int, len(content)/2)
	for i := 0; i+1 < len(content); i += 2 {
		key := content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null":
			return &Error{Line: key.Line, Reason: "a key is plain text"}
		case key.ShortTag() == "!!merge":
			return &Error{Line: key.Line, Reason: "merge keys (<<) are not read; write the keys out"}
		case seen[key.Value] > 0:
			return &Error{Line: key.Line, Reason: fmt.Sprintf("key %q stands on line %d already", key.Value, seen[key.Value])}
		}
		seen[key.Value] = key.Line
		value, err := convert(content[i+1])
		if err != nil {
			return err
		}
		out.Entries = append(out.Entries, Entry{Key: key.Value, Line: key.Line, Value: value})
	}
	return nil
}
