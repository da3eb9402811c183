package state_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage/state"
)

// value parses JSON that is known to be valid.
func value(t tb, text string) state.Value {
	t.Helper()
	v, err := state.ParseValue([]byte(text))
	if err != nil {
		t.Fatalf("ParseValue(%s): %v", text, err)
	}
	return v
}

func TestValueEqual(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true},
		{`1`, `1e0`, true},
		{`1`, `0.1E+1`, true},
		{`100`, `1e2`, true},
		{`0`, `-0.0e5`, true},
		{`0`, `0e999999999999999999999`, true},
		{`1`, `-1`, false},
		{`9007199254740992`, `9007199254740993`, false},
		{`9007199254740993`, `9007199254740993.0`, true},
		{`0.1`, `0.10000000000000000555`, false},
		{`1e400`, `10e399`, true},
		{`1e400`, `1e401`, false},
		{`1e999999999`, `1e999999998`, false},
		{`1e9999999999999999999999`, `10e9999999999999999999998`, true},
		{`1e-9999999999999999999999`, `0.1e-9999999999999999999998`, true},
		{`1e10000000000000000000000`, `10e9999999999999999999999`, true},
		{`1e10000000000000000000000`, `1e-10000000000000000000000`, false},
		{`1e99999999999999999999`, `1e9`, false},
		{`1`, `"1"`, false},
		{`null`, `false`, false},
		{`null`, `null`, true},
		{`true`, `false`, false},
		{`"a"`, `"\u0061"`, true},
		{`"a"`, `"b"`, false},
		{`[]`, `{}`, false},
		{`[]`, `null`, false},
		{`[1,2]`, `[1.0,2e0]`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{"a":1,"b":1}`, false},
		{`{"a":{"b":[1]}}`, `{"a":{"b":[1.0]}}`, true},
		{`{"a":{"b":[1]}}`, `{"a":{"b":[2]}}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.a+" "+tt.b, func(t *testing.T) {
			t.Parallel()
			a, b := value(t, tt.a), value(t, tt.b)
			if a.Equal(b) != tt.want || b.Equal(a) != tt.want {
				t.Errorf("Equal = %v, %v; want %v", a.Equal(b), b.Equal(a), tt.want)
			}
		})
	}
}

func TestInt64(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want int64
		ok   bool
	}{
		{`0`, 0, true},
		{`-0`, 0, true},
		{`-0.0`, 0, true},
		{`1.0`, 1, true},
		{`1e3`, 1000, true},
		{`-12.50e1`, -125, true},
		{`1.5`, 0, false},
		{`1e-1`, 0, false},
		{`9007199254740993`, 9007199254740993, true},
		{`9223372036854775807`, math.MaxInt64, true},
		{`9223372036854775807.0`, math.MaxInt64, true},
		{`9223372036854775808`, 0, false},
		{`-9223372036854775808`, math.MinInt64, true},
		{`-9.223372036854775808e18`, math.MinInt64, true},
		{`9.223372036854775808e18`, 0, false},
		{`1e999999999999999999999`, 0, false},
		{`1e-999999999999999999999`, 0, false},
		{`"1"`, 0, false},
		{`null`, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, ok := value(t, tt.in).Int64()
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("Int64 = %d, %v; want %d, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestValueAccessors(t *testing.T) {
	t.Parallel()
	v := value(t, `{"b":true,"n":1.50,"s":"<é>","a":[1,2],"z":null,"huge":1e999}`)
	get := func(key string) state.Value { f, _ := v.Field(key); return f }

	if got := v.Keys(); !slices.Equal(got, []string{"a", "b", "huge", "n", "s", "z"}) {
		t.Errorf("Keys = %q", got)
	}
	if got := maps.Collect(v.Members()); len(got) != 6 || got["s"].Text() != "<é>" {
		t.Errorf("Members = %v", got)
	}
	if !get("b").Bool() || get("n").Bool() || get("s").Bool() {
		t.Error("Bool is wrong")
	}
	if f, ok := get("n").Float64(); f != 1.5 || !ok || get("n").Literal() != "1.50" {
		t.Errorf("number = %v, %v, %q", f, ok, get("n").Literal())
	}
	if _, ok := get("huge").Float64(); ok {
		t.Error("1e999 is a float64")
	}
	if _, ok := get("s").Float64(); ok {
		t.Error("a string is a float64")
	}
	if get("n").Text() != "" || get("s").Literal() != "" {
		t.Error("accessors of the wrong type answer")
	}
	if e, ok := get("a").Index(1); !ok || e.Literal() != "2" || get("a").Len() != 2 {
		t.Errorf("Index(1) = %v, %v", e, ok)
	}
	for _, i := range []int{-1, 2} {
		if _, ok := get("a").Index(i); ok {
			t.Errorf("Index(%d) exists", i)
		}
	}
	if _, ok := v.Index(0); ok {
		t.Error("an object has an index")
	}
	if _, ok := get("a").Field("0"); ok {
		t.Error("an array has a field")
	}
	if got := slices.Collect(get("a").Elements()); len(got) != 2 {
		t.Errorf("Elements = %v", got)
	}
	for range v.Elements() {
		t.Error("an object has elements")
	}
	for range get("a").Members() {
		t.Error("an array has members")
	}
	if get("a").Keys() != nil || !get("z").IsNull() || v.Kind() != state.KindObject {
		t.Error("Keys, IsNull or Kind is wrong")
	}
	if got := state.KindArray.String() + state.Kind(9).String(); got != "arraykind(9)" {
		t.Errorf("names = %q", got)
	}
}

func TestMembersStopsEarly(t *testing.T) {
	t.Parallel()
	v := numbers(t, 3*state.Fanout)
	seen := 0
	for range v.Members() {
		if seen++; seen == state.Fanout+1 {
			break
		}
	}
	if seen != state.Fanout+1 {
		t.Errorf("saw %d members", seen)
	}
}

func TestValueOf(t *testing.T) {
	t.Parallel()
	type point struct {
		X int     `json:"x"`
		S string  `json:"s,omitempty"`
		F float64 `json:"f"`
	}
	tests := []struct {
		in   any
		want string // "": must fail
	}{
		{nil, `null`},
		{true, `true`},
		{"a<b", `"a<b"`},
		{"\xffa\xfe", `"` + "\uFFFDa\uFFFD" + `"`},
		{[]string{"\xff\xfe"}, `["` + "\uFFFD\uFFFD" + `"]`},
		{"\xff\xfe", `"` + "\uFFFD\uFFFD" + `"`},
		{1, `1`},
		{int64(math.MinInt64), `-9223372036854775808`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{json.Number("1e400"), `1e400`},
		{json.RawMessage(`{"b":1.0,"a":2}`), `{"a":2,"b":1.0}`},
		{point{X: 1, F: 0.5}, `{"f":0.5,"x":1}`},
		{&point{S: "<"}, `{"f":0,"s":"<","x":0}`},
		{map[string]any{"n": int64(9007199254740993)}, `{"n":9007199254740993}`},
		{[]state.Value{state.Int(1), state.Null(), state.Bool(false)}, `[1,null,false]`},
		{state.String("x"), `"x"`},
		{state.Document{}, `{}`},
		{math.NaN(), ``},
		{make(chan int), ``},
		{json.RawMessage(`{"a":1,"a":2}`), ``},
		{json.RawMessage(`{`), ``},
	}
	for _, tt := range tests {
		got, err := state.ValueOf(tt.in)
		if (err == nil) != (tt.want != "") || err == nil && got.String() != tt.want {
			t.Errorf("ValueOf(%#v) = %v, %v; want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	var loose any
	if err := value(t, `{"n":9007199254740993,"s":"<"}`).Decode(&loose); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"n": json.Number("9007199254740993"), "s": "<"}
	if diff := cmp.Diff(want, loose); diff != "" {
		t.Errorf("Decode into an interface (-want +got):\n%s", diff)
	}
	var n int8
	if err := value(t, `300`).Decode(&n); err == nil {
		t.Error("300 decodes into an int8")
	}
	var v state.Value
	if err := value(t, `[1.0]`).Decode(&v); err != nil || v.String() != `[1.0]` {
		t.Errorf("Decode into a Value = %v, %v", v, err)
	}
}

func TestJSONInterfaces(t *testing.T) {
	t.Parallel()
	type record struct {
		V state.Value    `json:"v"`
		D state.Document `json:"d"`
		P state.Patch    `json:"p"`
		O state.Op       `json:"o"`
		A state.Pointer  `json:"a"`
	}
	const text = `{"v":1.0,"d":{"a":[]},"p":[{"op":"delete","path":"/a"}],"o":{"op":"set","path":"","value":{}},"a":"/~0"}`
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(r); err != nil || string(got) != text {
		t.Errorf("round trip = %s, %v", got, err)
	}
	for _, bad := range []string{
		`{"v":"\ud800"}`, `{"v":{"a":1,"a":1}}`, `{"d":[]}`, `{"d":null}`, `{"p":{}}`, `{"p":[1]}`, `{"o":[]}`,
		`{"o":{"op":"set","path":"/a","value":"\ud800"}}`, `{"a":"a"}`, `{"d":{"a":"\ud800"}}`,
	} {
		if err := json.Unmarshal([]byte(bad), &r); err == nil {
			t.Errorf("%s decodes", bad)
		}
	}
	if err := json.Unmarshal([]byte(`{"p":null}`), &r); err != nil || r.P != nil {
		t.Errorf("null patch = %v, %v", r.P, err)
	}
	if got, err := json.Marshal(state.Patch(nil)); err != nil || string(got) != `[]` {
		t.Errorf("nil patch = %s, %v", got, err)
	}
}
