package selvage

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readerDepth bounds how deep a value may nest that a jsonReader takes. It is
// far below what encoding/json takes, so that the two never disagree about it.
const readerDepth = 100

// jsonReader reads JSON as encodeJSON writes it: without white space, valid
// UTF-8, members in a known order. What looks different makes it fail, which
// means "ask encoding/json", never "this is wrong": whatever it accepts,
// encoding/json accepts with the same result.
//
// A failure is kept, and moves the reader to the end, where nothing matches.
// So only the end of a read has to look for one; see done.
type jsonReader struct {
	data   []byte
	at     int
	failed bool
	// inside says that the object being read had a member already, so that a
	// comma leads to the next one.
	inside bool
}

func (r *jsonReader) fail() { r.failed, r.at = true, len(r.data) }

// done reports whether everything was read and understood.
func (r *jsonReader) done() bool { return !r.failed && r.at == len(r.data) }

// peek returns the next byte, and 0, which begins nothing, at the end.
func (r *jsonReader) peek() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

// skip goes past c if it comes next, and reports whether it did.
func (r *jsonReader) skip(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.at++
	return true
}

// expect goes past text, or fails.
func (r *jsonReader) expect(text string) {
	if len(r.data)-r.at < len(text) || string(r.data[r.at:r.at+len(text)]) != text {
		r.fail()
		return
	}
	r.at += len(text)
}

// open begins an object, close ends it. An object is always a member or an
// element of what is around it, which therefore had one when it is over.
func (r *jsonReader) open()  { r.expect("{"); r.inside = false }
func (r *jsonReader) close() { r.expect("}"); r.inside = true }

// member goes past the name of the next member and reports true if it is name,
// which is given as it is written: quoted, with its colon.
func (r *jsonReader) member(name string) bool {
	at := r.at
	if r.inside {
		if r.peek() != ',' {
			return false
		}
		at++
	}
	if len(r.data)-at < len(name) || string(r.data[at:at+len(name)]) != name {
		return false
	}
	r.at, r.inside = at+len(name), true
	return true
}

// text reads a string.
func (r *jsonReader) text() string {
	inner, plain := r.quoted()
	switch {
	case !utf8.Valid(inner): // encoding/json replaces what is not
		r.fail()
		return ""
	case plain:
		return string(inner)
	default:
		return r.unescape(inner)
	}
}

// quoted goes past a string, returns what stands between its quotes, and
// reports whether that is free of escapes.
func (r *jsonReader) quoted() (inner []byte, plain bool) {
	r.expect(`"`)
	from := r.at
	plain = true
	for r.at < len(r.data) {
		switch c := r.data[r.at]; {
		case c == '"':
			inner = r.data[from:r.at]
			r.at++
			return inner, plain
		case c == '\\':
			plain = false
			r.escape()
		case c < ' ':
			r.fail()
		default:
			r.at++
		}
	}
	r.fail()
	return nil, false
}

// escape goes past a backslash and what it escapes.
func (r *jsonReader) escape() {
	left := r.data[r.at+1:]
	switch {
	case len(left) >= 1 && strings.IndexByte(`"\/bfnrt`, left[0]) >= 0:
		r.at += 2
	case len(left) >= 5 && left[0] == 'u' && isHex(left[1:5]):
		r.at += 6
	default:
		r.fail()
	}
}

func isHex(digits []byte) bool {
	for _, c := range digits {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return false
		}
	}
	return true
}

// unescaped are the bytes that the letters of short escapes stand for.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape returns what the inside of a string says, all escapes of which are
// known to be well-formed. It fails on halves of surrogate pairs, which
// encodeJSON never writes.
func (r *jsonReader) unescape(inner []byte) string {
	var b strings.Builder
	b.Grow(len(inner))
	for {
		i := bytes.IndexByte(inner, '\\')
		if i < 0 {
			b.Write(inner)
			return b.String()
		}
		b.Write(inner[:i])
		if inner[i+1] != 'u' {
			b.WriteByte(unescaped[inner[i+1]])
			inner = inner[i+2:]
			continue
		}
		code, err := strconv.ParseUint(string(inner[i+2:i+6]), 16, 16)
		if err != nil || !utf8.ValidRune(rune(code)) {
			r.fail()
			return ""
		}
		b.WriteRune(rune(code))
		inner = inner[i+6:]
	}
}

// count reads an integer of 1 to 9 digits that is not 0: it fits an int
// everywhere, and 0 is not written.
func (r *jsonReader) count() (n int) {
	from := r.at
	for c := r.peek(); '0' <= c && c <= '9' && r.at-from < 9; c = r.peek() {
		n = 10*n + int(c-'0')
		r.at++
	}
	if r.at == from || r.data[from] == '0' {
		r.fail()
	}
	return n
}

// raw returns a copy of any value, as it is written.
func (r *jsonReader) raw() json.RawMessage {
	from := r.at
	if r.value(readerDepth); r.failed {
		return nil
	}
	return bytes.Clone(r.data[from:r.at])
}

// value goes past any value that nests no deeper than depth.
func (r *jsonReader) value(depth int) {
	switch r.peek() {
	case '{':
		r.list('}', true, depth-1)
	case '[':
		r.list(']', false, depth-1)
	case '"':
		r.quoted()
	case 't':
		r.expect("true")
	case 'f':
		r.expect("false")
	case 'n':
		r.expect("null")
	default:
		r.number()
	}
}

// list goes past an object or array, whose values nest no deeper than depth.
func (r *jsonReader) list(end byte, named bool, depth int) {
	if depth < 0 {
		r.fail()
		return
	}
	r.at++
	if r.skip(end) {
		return
	}
	for more := true; more; more = r.skip(',') {
		if named {
			r.quoted()
			r.expect(":")
		}
		r.value(depth)
	}
	if !r.skip(end) {
		r.fail()
	}
}

// number goes past a number.
func (r *jsonReader) number() {
	r.skip('-')
	if !r.skip('0') {
		r.digits()
	}
	if r.skip('.') {
		r.digits()
	}
	if r.skip('e') || r.skip('E') {
		if !r.skip('+') {
			r.skip('-')
		}
		r.digits()
	}
}

// digits goes past one or more digits.
func (r *jsonReader) digits() {
	from := r.at
	for c := r.peek(); '0' <= c && c <= '9'; c = r.peek() {
		r.at++
	}
	if r.at == from {
		r.fail()
	}
}
