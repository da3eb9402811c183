package state

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// intSize says how a number relates to the 64-bit integers.
type intSize uint8

const (
	notInteger  intSize = iota // it has a fraction
	fitsInt64                  // it is one of them
	beyondInt64                // it is an integer outside their range
)

// integerOf returns the value of a literal that is a 64-bit integer by value,
// such as 10, 10.0 and 1e1.
func integerOf(literal string) (int64, intSize) {
	if !strings.ContainsAny(literal, ".eE") {
		n, err := strconv.ParseInt(literal, 10, 64)
		if err != nil {
			return 0, beyondInt64
		}
		return n, fitsInt64
	}
	d := newDecimal(literal)
	if d.digits == "" {
		return 0, fitsInt64
	}
	point := gap(d, decimal{})
	if point < len(d.digits) {
		return 0, notInteger
	}
	if point > len("9223372036854775807") {
		return 0, beyondInt64
	}
	whole := d.digits + strings.Repeat("0", point-len(d.digits))
	if d.neg {
		whole = "-" + whole
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, beyondInt64
	}
	return n, fitsInt64
}

// decimal is a number literal taken apart without losing anything. Its value is
// 0.digits × 10^(exp+shift). The exponent stays text because a literal such as
// 1e999999999999999999999 is valid JSON.
type decimal struct {
	neg    bool
	digits string // significant digits, no zero at either end; "" is zero
	shift  int
	expNeg bool
	exp    string // no leading zeros
}

func newDecimal(literal string) decimal {
	var d decimal
	literal, d.neg = strings.CutPrefix(literal, "-")
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		var exp string
		exp, d.expNeg = strings.CutPrefix(literal[i+1:], "-")
		d.exp = strings.TrimLeft(strings.TrimPrefix(exp, "+"), "0")
		literal = literal[:i]
	}
	whole, fraction, _ := strings.Cut(literal, ".")
	all := whole + fraction
	trimmed := strings.TrimLeft(all, "0")
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}
	}
	d.shift = len(whole) - (len(all) - len(trimmed))
	return d
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// expDigit returns digit i of the signed exponent written with width digits.
func (d decimal) expDigit(i, width int) int {
	i -= width - len(d.exp)
	if i < 0 {
		return 0
	}
	n := int(d.exp[i] - '0')
	if d.expNeg {
		return -n
	}
	return n
}

// gap returns how many places the decimal point of x is to the right of that of
// y, exactly as long as that is below 2^40. It subtracts the exponents digit by
// digit: once their difference is large it can only grow.
func gap(x, y decimal) int {
	const far = 1 << 50
	diff := 0
	width := max(len(x.exp), len(y.exp))
	for i := range width {
		diff = diff*10 + x.expDigit(i, width) - y.expDigit(i, width)
		if diff > far || diff < -far {
			break
		}
	}
	return diff + x.shift - y.shift
}

// compareNumbers orders two number literals by exact value.
func compareNumbers(a, b string) int {
	if a == b {
		return 0
	}
	x, y := newDecimal(a), newDecimal(b)
	if c := cmp.Compare(x.sign(), y.sign()); c != 0 || x.sign() == 0 {
		return c
	}
	c := gap(x, y)
	if c == 0 {
		c = strings.Compare(x.digits, y.digits)
	}
	if x.neg {
		c = -c
	}
	return cmp.Compare(c, 0)
}

// addNumbers adds two number literals. Integers, by value, add exactly in 64
// bits. If either has a fraction the sum is that of float64; an integer that
// float64 cannot hold exactly is then refused rather than rounded.
func addNumbers(a, b string) (string, error) {
	i, sizeA := integerOf(a)
	j, sizeB := integerOf(b)
	if sizeA == beyondInt64 || sizeB == beyondInt64 {
		return "", failf(ErrOverflow, "%s + %s is beyond 64-bit integers", brief(a), brief(b))
	}
	if sizeA == fitsInt64 && sizeB == fitsInt64 {
		sum := i + j
		if (sum > i) != (j > 0) {
			return "", failf(ErrOverflow, "%s + %s is beyond 64-bit integers", a, b)
		}
		return strconv.FormatInt(sum, 10), nil
	}
	f, okA := exactFloat(a, i, sizeA)
	g, okB := exactFloat(b, j, sizeB)
	sum := f + g
	if !okA || !okB || math.IsInf(sum, 0) {
		return "", failf(ErrOverflow, "%s + %s does not fit a float64", brief(a), brief(b))
	}
	return formatFloat(sum), nil
}

func exactFloat(literal string, n int64, size intSize) (float64, bool) {
	if size == fitsInt64 {
		f := float64(n)
		return f, f < 1<<63 && int64(f) == n
	}
	f, err := strconv.ParseFloat(literal, 64)
	return f, err == nil
}

// formatFloat writes a finite float64 the way encoding/json does.
func formatFloat(f float64) string {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, 64)
	if n := len(s); format == 'e' && n >= 4 && s[n-4:n-1] == "e-0" {
		s = s[:n-2] + s[n-1:] // e-09 is e-9
	}
	return s
}

// brief shortens a literal for an error message.
func brief(literal string) string {
	if len(literal) <= 40 {
		return literal
	}
	return literal[:37] + "..."
}
