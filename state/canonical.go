package state

import (
	"strconv"
	"strings"
)

// AppendCanonical appends the canonical encoding of the value to dst: the same
// bytes for exactly those values that are equal in the sense of [Value.Equal]. It
// is the encoding of [Value.AppendJSON], in which keys are in byte order, with
// each number in one spelling. That is the one of ECMAScript and RFC 8785, but of
// the exact value, whatever its size: plain digits up to 21 of them before the
// point and from 1e-6 on, else one digit before the point and an exponent.
func (v Value) AppendCanonical(dst []byte) []byte {
	first := true
	switch v.kind {
	case KindNumber:
		return appendCanonicalNumber(dst, v.text)
	case KindArray:
		dst = append(dst, '[')
		for item := range v.Elements() {
			dst = appendComma(dst, &first)
			dst = item.AppendCanonical(dst)
		}
		return append(dst, ']')
	case KindObject:
		dst = append(dst, '{')
		for key, member := range v.Members() {
			dst = appendComma(dst, &first)
			dst = appendString(dst, key)
			dst = append(dst, ':')
			dst = member.AppendCanonical(dst)
		}
		return append(dst, '}')
	}
	return v.AppendJSON(dst)
}

// AppendCanonical appends the canonical encoding of the document to dst; see
// [Value.AppendCanonical].
func (d Document) AppendCanonical(dst []byte) []byte { return d.Root().AppendCanonical(dst) }

func appendComma(dst []byte, first *bool) []byte {
	if !*first {
		dst = append(dst, ',')
	}
	*first = false
	return dst
}

// maxPlain is how many digits a canonical number has before its point at most.
const maxPlain = 21

func appendCanonicalNumber(dst []byte, literal string) []byte {
	if len(literal) <= maxPlain && !strings.ContainsAny(literal, ".eE") && literal != "-0" {
		return append(dst, literal...)
	}
	d := newDecimal(literal)
	if d.digits == "" {
		return append(dst, '0')
	}
	if d.neg {
		dst = append(dst, '-')
	}
	point, ok := d.point()
	switch {
	case !ok || point > maxPlain || point <= -6:
		return d.appendScientific(dst)
	case point >= len(d.digits):
		dst = append(dst, d.digits...)
		return append(dst, strings.Repeat("0", point-len(d.digits))...)
	case point > 0:
		dst = append(dst, d.digits[:point]...)
		dst = append(dst, '.')
		return append(dst, d.digits[point:]...)
	}
	dst = append(dst, "0."...)
	dst = append(dst, strings.Repeat("0", -point)...)
	return append(dst, d.digits...)
}

// point returns where the decimal point is among the digits. It reports false if
// that is too far away for an int.
func (d decimal) point() (int, bool) {
	if len(d.exp) > 17 {
		return 0, false
	}
	exp, _ := strconv.Atoi(d.exp) // "" is 0
	if d.expNeg {
		exp = -exp
	}
	return exp + d.shift, true
}

// appendScientific appends the digits with an exponent.
func (d decimal) appendScientific(dst []byte) []byte {
	dst = append(dst, d.digits[0])
	if len(d.digits) > 1 {
		dst = append(dst, '.')
		dst = append(dst, d.digits[1:]...)
	}
	dst = append(dst, 'e')
	if point, ok := d.point(); ok {
		if point > 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(point-1), 10)
	}
	if d.expNeg {
		return append(append(dst, '-'), addToDigits(d.exp, 1-d.shift)...)
	}
	return append(append(dst, '+'), addToDigits(d.exp, d.shift-1)...)
}

// addToDigits adds a small n to a number of 18 digits or more.
func addToDigits(digits string, n int) string {
	const width, limit = 18, 1_000_000_000_000_000_000
	head, tail := []byte(digits[:len(digits)-width]), digits[len(digits)-width:]
	low, _ := strconv.Atoi(tail)
	low += n
	step := byte(0)
	switch {
	case low < 0:
		low, step = low+limit, 0xff // minus one
	case low >= limit:
		low, step = low-limit, 1
	}
	for i := len(head) - 1; step != 0 && i >= 0; i-- {
		switch head[i] += step; {
		case head[i] < '0':
			head[i] = '9'
		case head[i] > '9':
			head[i] = '0'
		default:
			step = 0
		}
	}
	if step == 1 {
		head = append([]byte{'1'}, head...)
	}
	text := strconv.Itoa(low)
	return strings.TrimLeft(string(head)+strings.Repeat("0", width-len(text))+text, "0")
}
