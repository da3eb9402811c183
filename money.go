package selvage

import (
	"fmt"
	"strconv"
	"strings"
)

// Money is an amount of US dollars in billionths (nano-dollars), so that sums
// are exact. In JSON it is a decimal string, "0.000012", never a float.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000_000

// ParseMoney reads a decimal amount of dollars with at most nine fractional
// digits, such as "0.50" or "-3". Anything else matches [ErrInvalid].
func ParseMoney(s string) (Money, error) {
	bad := func() (Money, error) {
		return 0, &InvalidError{Field: "money", Reason: fmt.Sprintf("%q is not an amount of dollars such as 0.50 (nine digits after the point at most)", s)}
	}
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, pointed := strings.Cut(digits, ".")
	if whole == "" || pointed && fraction == "" || len(fraction) > 9 || strings.ContainsAny(digits, "+-_eE") {
		return bad()
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 9-len(fraction)), 10, 64)
	if err != nil {
		return bad()
	}
	if negative {
		n = -n
	}
	return Money(n), nil
}

// String returns m in dollars without trailing zeros, such as "0.000012".
func (m Money) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	whole, fraction := n/uint64(Dollar), n%uint64(Dollar)
	if fraction == 0 {
		return sign + strconv.FormatUint(whole, 10)
	}
	return sign + strconv.FormatUint(whole, 10) + "." + strings.TrimRight(fmt.Sprintf("%09d", fraction), "0")
}

// MarshalText implements [encoding.TextMarshaler].
func (m Money) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (m *Money) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMoney(string(text))
	return err
}
