package state_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

func genLiteral() *rapid.Generator[string] {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?`)
}

// Comparison is that of exact rationals.
func TestCompareNumbersExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := genLiteral().Draw(t, "a")
		b := genLiteral().Draw(t, "b")
		if rapid.Bool().Draw(t, "same value") {
			b = a + "0"
			if !strings.Contains(a, ".") || strings.ContainsAny(a, "eE") {
				b = a
			}
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := state.CompareNumbers(a, b), x.Cmp(y); got != want {
			t.Fatalf("compare %s and %s = %d; want %d", a, b, got, want)
		}
	})
}

// The sum of integers is exact or refused, however they are written.
func TestAddIntegersExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		suffix := rapid.SampledFrom([]string{"", ".0", "e0", ".000E+0"}).Draw(t, "suffix")
		want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		got, err := state.AddNumbers(state.Int(a).Literal()+suffix, state.Int(b).Literal())
		if !want.IsInt64() {
			if !errors.Is(err, state.ErrOverflow) {
				t.Fatalf("%d + %d = %s, %v; want ErrOverflow", a, b, got, err)
			}
		} else if err != nil || got != want.String() {
			t.Fatalf("%d + %d = %s, %v; want %s", a, b, got, err, want)
		}
	})
}

func TestAddNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want string // "": overflow
	}{
		{"1", "0.5", "1.5"},
		{"0.5", "0.5", "1"},
		{"0.1", "0.2", "0.30000000000000004"},
		{"1e3", "1", "1001"},
		{"1.0", "9007199254740993", "9007199254740994"},
		{"1e-7", "0.5e-8", "1.05e-7"},
		{"0.5", "1e300", ""}, // an integer beyond 64 bits
		{"0.5", "9007199254740993", ""},
		{"0.5", "9007199254740992", "9007199254740992"},
		{"0.5", "9223372036854775807", ""},
		{"9223372036854775807", "1", ""},
		{"-9223372036854775808", "-1", ""},
		{"-9223372036854775808", "0", "-9223372036854775808"},
		{"12345678901234567890123", "1", ""},
		{"1", "1e400", ""},
		{"1", "1e999999999999999999999", ""},
		{"1", "1e-999999999999999999999", "1"},
		{"1" + strings.Repeat("0", 400) + ".5", "0.5", ""},
	}
	for _, tt := range tests {
		got, err := state.AddNumbers(tt.a, tt.b)
		if got != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.Is(err, state.ErrOverflow) {
			t.Errorf("%s + %s = %q, %v; want %q", tt.a, tt.b, got, err, tt.want)
		}
	}
}

// Neither a huge exponent nor a huge literal may cost more than reading it.
func TestHugeNumbersAreCheap(t *testing.T) {
	t.Parallel()
	nines := strings.Repeat("9", 1_000_000)
	for _, literal := range []string{"1e" + nines, "1e-" + nines, nines, "0." + nines, nines + "e-" + nines} {
		v := value(t, literal)
		if !v.Equal(value(t, literal)) || v.Equal(state.Int(1)) || v.Literal() != literal {
			t.Errorf("%.10s... is wrong", literal)
		}
		if _, ok := v.Int64(); ok {
			t.Errorf("%.10s... is an int64", literal)
		}
		_, err := state.AddNumbers(literal, "1")
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("error has %d bytes", len(err.Error()))
		}
	}
}
