package state_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

func canonical(v state.Value) string { return string(v.AppendCanonical(nil)) }

func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	nines := strings.Repeat("9", 30)
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "-0e5": "0",
		"1": "1", "1.0": "1", "10e-1": "1", "-1.50": "-1.5", "100": "100", "1e2": "100",
		"9007199254740993": "9007199254740993", "9007199254740993.0": "9007199254740993",
		"12345678901234567890123":     "1.2345678901234567890123e+22",
		"123456789012345678901":       "123456789012345678901",
		"-123456789012345678901":      "-123456789012345678901",
		"1234567890123456789012":      "1.234567890123456789012e+21",
		"1e20":                        "100000000000000000000",
		"1e21":                        "1e+21",
		"1e400":                       "1e+400",
		"1E+400":                      "1e+400",
		"0.001e403":                   "1e+400",
		"0.000001":                    "0.000001",
		"0.0000001":                   "1e-7",
		"123e-7":                      "0.0000123",
		"0.1234567890123456789":       "0.1234567890123456789",
		"1e99999999999999999":         "1e+99999999999999999",
		"1e100000000000000000":        "1e+100000000000000000",
		"10e99999999999999999":        "1e+100000000000000000",
		"0.1e100000000000000000":      "1e+99999999999999999",
		"1e-" + nines:                 "1e-" + nines,
		"10e" + nines:                 "1e+1" + strings.Repeat("0", 30),
		"0.1e10000000000000000000":    "1e+9999999999999999999",
		"0.01e1000000000000000000000": "1e+999999999999999999998",
		"10e-1000000000000000000000":  "1e-999999999999999999999",
		"12.5e1000000000000000000":    "1.25e+1000000000000000001",
	} {
		if got := canonical(value(t, in)); got != want {
			t.Errorf("canonical %s = %s; want %s", in, got, want)
		}
	}
}

// Canonical encodings are equal exactly when values are, read back as an equal
// value, and are their own canonical encodings.
func TestCanonicalIsEquality(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v, w := genValue(2).Draw(t, "v"), genValue(2).Draw(t, "w")
		if rapid.Bool().Draw(t, "numbers") {
			v, w = drawNumber(t), drawNumber(t)
		}
		a, b := canonical(v), canonical(w)
		if (a == b) != v.Equal(w) {
			t.Fatalf("%v and %v: canonical %s and %s", v, w, a, b)
		}
		if again := value(t, a); !again.Equal(v) || canonical(again) != a {
			t.Fatalf("%v has canonical %s, and that %s", v, a, canonical(again))
		}
	})
}

// What a float64 holds exactly is spelled as encoding/json and ECMAScript do.
func TestCanonicalAgreesWithFloats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		text, err := json.Marshal(f)
		if err != nil || f == 0 {
			return
		}
		want := strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e+0", "e+", 1)
		want = strings.Replace(want, "e-0", "e-", 1)
		if !strings.ContainsAny(string(text), "e") {
			want = string(text)
		}
		if got := canonical(value(t, strconv.FormatFloat(f, 'f', -1, 64))); got != want {
			t.Fatalf("canonical %v = %s; want %s", f, got, want)
		}
	})
}

func TestCanonicalDocument(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"b":[1.0,{"é":2e0,"~/":"\u0000\"<"}],"a":null}`)
	want := `{"a":null,"b":[1,{"~/":"\u0000\"<","é":2}]}`
	if got := string(doc.AppendCanonical([]byte("x"))); got != "x"+want {
		t.Errorf("canonical = %s; want %s", got, want)
	}
}
