package state

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string whose opening quote is next.
func (p *parser) str() (string, error) {
	p.pos++
	start := p.pos
	var high byte
	for ; p.pos < len(p.data); p.pos++ {
		c := p.data[p.pos]
		if c == '"' {
			raw := p.data[start:p.pos]
			if high >= utf8.RuneSelf && !utf8.Valid(raw) {
				return "", p.fail("string that ends here is not valid UTF-8")
			}
			p.pos++
			return p.keep(raw), nil
		}
		if c == '\\' {
			p.buf = append(p.buf[:0], p.data[start:p.pos]...)
			return p.escaped()
		}
		if c < ' ' {
			return "", p.fail("control character %q in string", c)
		}
		high |= c
	}
	return "", p.fail("string is not closed")
}

// escaped reads the rest of a string from its first escape on.
func (p *parser) escaped() (string, error) {
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			if !utf8.Valid(p.buf) {
				return "", p.fail("string that ends here is not valid UTF-8")
			}
			p.pos++
			return p.keep(p.buf), nil
		case c == '\\':
			if err := p.escape(); err != nil {
				return "", err
			}
		case c < ' ':
			return "", p.fail("control character %q in string", c)
		default:
			p.buf = append(p.buf, c)
			p.pos++
		}
	}
	return "", p.fail("string is not closed")
}

// escape reads one escape sequence into buf.
func (p *parser) escape() error {
	p.pos++
	c := p.peek()
	if c == 'u' {
		return p.unicode()
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		return p.fail("unknown escape %s", p.here())
	}
	p.buf = append(p.buf, "\"\\/\b\f\n\r\t"[i])
	p.pos++
	return nil
}

// unicode reads the rest of a \u escape, which may take a second one.
func (p *parser) unicode() error {
	r, ok := p.hex4()
	if !ok {
		return p.fail("want four hexadecimal digits after \\u")
	}
	if utf16.IsSurrogate(r) {
		low := rune(-1)
		if bytes.HasPrefix(p.data[p.pos:], []byte(`\u`)) {
			p.pos++
			low, _ = p.hex4()
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return p.fail("surrogate without its other half")
		}
	}
	p.buf = utf8.AppendRune(p.buf, r)
	return nil
}

// hex4 reads the u of an escape and the four digits after it.
func (p *parser) hex4() (rune, bool) {
	if len(p.data)-p.pos < len("uXXXX") {
		return -1, false
	}
	var r rune
	for _, c := range p.data[p.pos+1 : p.pos+5] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 || c < '0' {
			return -1, false
		}
		r = r<<4 | rune(digit)
	}
	p.pos += len("uXXXX")
	return r, true
}

// keep returns b as a string that does not alias it.
func (p *parser) keep(b []byte) string { return p.text.keep(b, len(p.data)-p.pos) }

// arena makes many short strings from few allocations. A string keeps the block
// it is in alive, so blocks are small.
type arena struct{ block strings.Builder }

const (
	arenaBlock = 4096 // bytes of a block
	arenaMax   = 256  // bytes of the longest string that goes into one
)

// keep copies b. At most left bytes more will be asked for after it.
func (a *arena) keep(b []byte, left int) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > arenaMax {
		return string(b)
	}
	if a.block.Cap()-a.block.Len() < len(b) {
		a.block.Reset()
		a.block.Grow(min(arenaBlock, len(b)+left))
	}
	start := a.block.Len()
	a.block.Write(b)
	return a.block.String()[start:]
}
