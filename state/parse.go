package state

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
)

// ParseValue reads one JSON value. It is stricter than encoding/json: duplicate
// keys, invalid UTF-8, surrogates without their other half and nesting beyond
// [MaxDepth] are errors, as is anything but white space after the value. Any
// error is a [*SyntaxError]. The value does not alias data.
func ParseValue(data []byte) (Value, error) {
	p := parser{data: data}
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	if p.space(); p.pos < len(data) {
		return Value{}, p.fail("unexpected %s after the value", p.here())
	}
	return v, nil
}

// parser is a recursive descent over data. Members and elements of the
// containers that are still open are stacked in keys and items.
type parser struct {
	data  []byte
	pos   int
	keys  []string
	items []Value
	buf   []byte // string being unescaped
	text  arena
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{Offset: p.pos, Reason: fmt.Sprintf(format, args...)}
}

// here describes the next byte for an error message.
func (p *parser) here() string {
	if p.pos >= len(p.data) {
		return "end of input"
	}
	return fmt.Sprintf("%q", p.data[p.pos])
}

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the byte after it, or 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.pos >= len(p.data) {
		return 0
	}
	return p.data[p.pos]
}

// value reads a value that is nested in depth containers.
func (p *parser) value(depth int) (Value, error) {
	switch c := p.next(); c {
	case '{', '[':
		p.makeRoom()
		if depth >= MaxDepth {
			return Value{}, &SyntaxError{Offset: p.pos, Reason: fmt.Sprintf("nested deeper than %d", MaxDepth), tooDeep: true}
		}
		p.pos++
		if c == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case '"':
		s, err := p.str()
		return Value{kind: KindString, text: s}, err
	case 'n':
		return Value{}, p.word("null")
	case 't':
		return Value{kind: KindBool, text: "true"}, p.word("true")
	case 'f':
		return Value{kind: KindBool, text: "false"}, p.word("false")
	default:
		return p.number()
	}
}

// makeRoom gives the stacks a size that does for most inputs.
func (p *parser) makeRoom() {
	if p.items == nil {
		room := min(len(p.data)/16+1, 512)
		p.items, p.keys = make([]Value, 0, room), make([]string, 0, room)
	}
}

func (p *parser) word(word string) error {
	if !bytes.HasPrefix(p.data[p.pos:], []byte(word)) {
		return p.fail("unexpected %s, want %s", p.here(), word)
	}
	p.pos += len(word)
	return nil
}

func (p *parser) array(depth int) (Value, error) {
	base := len(p.items)
	if p.next() == ']' {
		p.pos++
		return Value{kind: KindArray}, nil
	}
	for {
		v, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		p.items = append(p.items, v)
		if more, err := p.more(']'); err != nil {
			return Value{}, err
		} else if !more {
			break
		}
	}
	v := Value{kind: KindArray, node: newNode(nil, p.items[base:])}
	p.items = p.items[:base]
	return v, nil
}

func (p *parser) object(depth int) (Value, error) {
	base, baseKey := len(p.items), len(p.keys)
	if p.next() == '}' {
		p.pos++
		return Value{kind: KindObject}, nil
	}
	for {
		if err := p.member(depth); err != nil {
			return Value{}, err
		}
		if more, err := p.more('}'); err != nil {
			return Value{}, err
		} else if !more {
			break
		}
	}
	m := members{p.keys[baseKey:], p.items[base:]}
	if key, ok := m.sort(); !ok {
		return Value{}, p.fail("duplicate key %q in the object that ends here", key)
	}
	p.keys, p.items = p.keys[:baseKey], p.items[:base]
	return Value{kind: KindObject, node: newNode(m.keys, m.items)}, nil
}

// member reads a key and its value and stacks them.
func (p *parser) member(depth int) error {
	if p.next() != '"' {
		return p.fail("unexpected %s, want a key", p.here())
	}
	key, err := p.str()
	if err != nil {
		return err
	}
	if p.next() != ':' {
		return p.fail("unexpected %s, want a colon", p.here())
	}
	p.pos++
	p.keys = append(p.keys, key)
	v, err := p.value(depth)
	p.items = append(p.items, v)
	return err
}

// more reads what follows an item: a comma, or the end of the container.
func (p *parser) more(end byte) (bool, error) {
	switch p.next() {
	case ',':
		p.pos++
		return true, nil
	case end:
		p.pos++
		return false, nil
	}
	return false, p.fail("unexpected %s, want a comma or %q", p.here(), end)
}

// members sorts keys and their values together.
type members struct {
	keys  []string
	items []Value
}

func (m members) Len() int           { return len(m.keys) }
func (m members) Less(i, j int) bool { return m.keys[i] < m.keys[j] }
func (m members) Swap(i, j int) {
	m.keys[i], m.keys[j] = m.keys[j], m.keys[i]
	m.items[i], m.items[j] = m.items[j], m.items[i]
}

// sort reports false, and the key, if one occurs twice.
func (m members) sort() (string, bool) {
	if !slices.IsSorted(m.keys) {
		sort.Sort(m)
	}
	for i := 1; i < len(m.keys); i++ {
		if m.keys[i-1] == m.keys[i] {
			return m.keys[i], false
		}
	}
	return "", true
}

// number reads a number and keeps its literal.
func (p *parser) number() (Value, error) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return Value{}, p.fail("unexpected %s, want a value", p.here())
	}
	if p.peek() == '.' {
		p.pos++
		if !p.digits() {
			return Value{}, p.fail("unexpected %s, want a digit", p.here())
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return Value{}, p.fail("unexpected %s, want a digit", p.here())
		}
	}
	return Value{kind: KindNumber, text: p.keep(p.data[start:p.pos])}, nil
}

func (p *parser) peek() byte {
	if p.pos >= len(p.data) {
		return 0
	}
	return p.data[p.pos]
}

func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.data) && '0' <= p.data[p.pos] && p.data[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}
