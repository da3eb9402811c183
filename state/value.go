package state

import (
	"iter"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is how many arrays and objects may be nested in one value or
// document, the outermost included.
const MaxDepth = 512

// Kind is the JSON type of a [Value].
type Kind uint8

// The JSON types. The zero Kind is null.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

var kindNames = [...]string{"null", "boolean", "number", "string", "array", "object"}

// String returns the JSON name of the type.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Value is an immutable JSON value; the zero Value is null. Copying one is
// cheap, and values derived from each other share their common parts. A number
// keeps its literal verbatim, at any size. Objects are ordered by key, in byte
// order.
//
// Values cannot be compared with ==; use [Value.Equal].
type Value struct {
	_    [0]func() // == would compare identities
	kind Kind
	text string // decoded string, number literal, "true" or "false"
	node *node  // content of a container; nil when empty
}

// Null is the JSON null, the same as the zero Value.
func Null() Value { return Value{} }

// Bool returns a JSON boolean.
func Bool(b bool) Value { return Value{kind: KindBool, text: strconv.FormatBool(b)} }

// Int returns a JSON number.
func Int(n int64) Value { return Value{kind: KindNumber, text: strconv.FormatInt(n, 10)} }

// String returns a JSON string. Each byte of s that is not part of valid UTF-8
// becomes U+FFFD, as in encoding/json.
func String(s string) Value { return Value{kind: KindString, text: validText(s)} }

func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// Kind returns the type of the value.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Bool returns the value of a boolean, and false for any other type.
func (v Value) Bool() bool { return v.kind == KindBool && v.text == "true" }

// Int64 returns the value of a number that is exactly a 64-bit integer, however
// it is written: 1, 1.0 and 1e0 are all one.
func (v Value) Int64() (int64, bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	n, size := integerOf(v.text)
	return n, size == fitsInt64
}

// Float64 returns the float64 nearest to a number. It reports false for any
// other type, and for a number beyond the range of float64.
func (v Value) Float64() (float64, bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// Text returns the content of a string, and "" for any other type.
func (v Value) Text() string {
	if v.kind != KindString {
		return ""
	}
	return v.text
}

// Literal returns a number exactly as it was written, and "" for any other type.
func (v Value) Literal() string {
	if v.kind != KindNumber {
		return ""
	}
	return v.text
}

// Len returns the number of elements or members of a container, else 0.
func (v Value) Len() int {
	if v.node == nil {
		return 0
	}
	return v.node.count
}

// Index returns element i of an array. It reports false when there is none, or
// the value is not an array.
func (v Value) Index(i int) (Value, bool) {
	if v.kind != KindArray || i < 0 || i >= v.Len() {
		return Value{}, false
	}
	return v.node.at(i), true
}

// Field returns the member of an object. It reports false when there is none,
// or the value is not an object.
func (v Value) Field(key string) (Value, bool) {
	if v.kind != KindObject {
		return Value{}, false
	}
	return v.node.find(key)
}

// Get returns the value at a path below this one.
func (v Value) Get(p Pointer) (Value, bool) {
	if !p.valid() {
		return Value{}, false
	}
	for rest, ok := string(p), true; rest != ""; {
		var token string
		token, rest = cutToken(rest)
		if v, ok = v.child(token); !ok {
			return Value{}, false
		}
	}
	return v, true
}

// child follows one pointer token.
func (v Value) child(token string) (Value, bool) {
	if v.kind == KindArray {
		i, ok := arrayIndex(token)
		if !ok {
			return Value{}, false
		}
		return v.Index(i)
	}
	return v.Field(token)
}

// Keys returns the keys of an object in order, and nil for any other type.
func (v Value) Keys() []string {
	if v.kind != KindObject {
		return nil
	}
	keys := make([]string, 0, v.Len())
	for k := range v.Members() {
		keys = append(keys, k)
	}
	return keys
}

// Members yields the members of an object in key order, and nothing for any
// other type.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.kind == KindObject {
			v.node.each(func(leaf *node, i int) bool { return yield(leaf.keys[i], leaf.items[i]) })
		}
	}
}

// Elements yields the elements of an array in order, and nothing for any other
// type.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.kind == KindArray {
			v.node.each(func(leaf *node, i int) bool { return yield(leaf.items[i]) })
		}
	}
}

// size is the length of the encoding in bytes, escapes not counted.
func (v Value) size() int {
	switch v.kind {
	case KindNull:
		return len("null")
	case KindString:
		return len(v.text) + len(`""`)
	case KindArray, KindObject:
		if v.node == nil {
			return len("{}")
		}
		return v.node.bytes + len("{}") - len(",")
	}
	return len(v.text)
}

// depth is how many containers are nested in the value, itself included.
func (v Value) depth() int {
	if v.kind < KindArray {
		return 0
	}
	deepest := 0
	v.node.each(func(leaf *node, i int) bool {
		if item := leaf.items[i]; item.kind >= KindArray {
			deepest = max(deepest, item.depth())
		}
		return true
	})
	return deepest + 1
}

// fitsUnder reports whether the value may be nested in n containers. A level of
// nesting takes two bytes, so most values need no walk to be sure.
func (v Value) fitsUnder(n int) bool {
	return n <= MaxDepth && (v.kind < KindArray || n+v.size()/2 <= MaxDepth || n+v.depth() <= MaxDepth)
}
