package state

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// AppendJSON appends the compact JSON encoding of the value to dst. Members are
// in key order; text is escaped only where JSON demands it.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.kind {
	case KindNull:
		return append(dst, "null"...)
	case KindString:
		return appendString(dst, v.text)
	case KindArray:
		dst = append(dst, '[')
		dst = v.node.appendItems(dst)
		return append(dst, ']')
	case KindObject:
		dst = append(dst, '{')
		dst = v.node.appendItems(dst)
		return append(dst, '}')
	}
	return append(dst, v.text...)
}

// appendItems appends the items with commas between them.
func (n *node) appendItems(dst []byte) []byte {
	if n == nil {
		return dst
	}
	for i, kid := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = kid.appendItems(dst)
	}
	for i := range n.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.keys != nil {
			dst = appendString(dst, n.keys[i])
			dst = append(dst, ':')
		}
		dst = n.items[i].AppendJSON(dst)
	}
	return dst
}

// appendString appends s as a JSON string. All strings in a Value are UTF-8.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// MarshalJSON returns the encoding of [Value.AppendJSON]. It never fails. Inside
// [json.Marshal] the result is escaped for HTML, which changes the text but not
// the value.
func (v Value) MarshalJSON() ([]byte, error) {
	return v.AppendJSON(make([]byte, 0, v.size())), nil
}

// UnmarshalJSON replaces the variable by the value [ParseValue] reads.
func (v *Value) UnmarshalJSON(data []byte) error {
	parsed, err := ParseValue(data)
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// String returns the encoding of the value, for people.
func (v Value) String() string { return string(v.AppendJSON(nil)) }

// Decode stores the value in what into points to, by the rules of
// [json.Unmarshal], except that a number decoded into an interface is a
// [json.Number], so that none of its digits are lost.
func (v Value) Decode(into any) error {
	d := json.NewDecoder(bytes.NewReader(v.AppendJSON(nil)))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode state value: %w", err)
	}
	return nil
}

// ValueOf converts a Go value by the rules of [json.Marshal]. Integers stay
// exact; a [Value] and a [Document] are taken as they are. It fails when the
// conversion does, or when its result is not acceptable to [ParseValue].
func ValueOf(x any) (Value, error) {
	switch x := x.(type) {
	case nil:
		return Null(), nil
	case Value:
		return x, nil
	case Document:
		return x.Root(), nil
	case bool:
		return Bool(x), nil
	case string:
		return String(x), nil
	case int:
		return Int(int64(x)), nil
	case int64:
		return Int(x), nil
	case json.RawMessage:
		return ParseValue(x)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		return Value{}, fmt.Errorf("state value of %T: %w", x, err)
	}
	return ParseValue(b.Bytes())
}
