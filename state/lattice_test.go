package state_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

func join(t tb, l state.Lattice, v, w state.Value) state.Value {
	t.Helper()
	before := v.String() + w.String()
	joined, err := l.Join(v, w)
	if err != nil {
		t.Fatalf("%s: join %v and %v: %v", l, v, w, err)
	}
	if err := state.CheckValue(joined); err != nil {
		t.Fatalf("%s: join %v and %v: %v", l, v, w, err)
	}
	if v.String()+w.String() != before {
		t.Fatalf("%s: join changed %s to %v %v", l, before, v, w)
	}
	return joined
}

// Joins are commutative, associative and idempotent, to the byte, and stay in
// the form of their lattice, also when they are read again.
func TestLatticeLaws(t *testing.T) {
	t.Parallel()
	for _, l := range lattices {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				a := genForm(l, 2).Draw(t, "a")
				b := genForm(l, 2).Draw(t, "b")
				c := genForm(l, 2).Draw(t, "c")
				ab := join(t, l, a, b)
				for law, pair := range map[string][2]state.Value{
					"commutative": {ab, join(t, l, b, a)},
					"associative": {join(t, l, ab, c), join(t, l, a, join(t, l, b, c))},
					"idempotent":  {join(t, l, a, a), a},
					"absorbing":   {join(t, l, ab, b), ab},
					"reloadable":  {join(t, l, value(t, ab.String()), c), join(t, l, ab, c)},
				} {
					if pair[0].String() != pair[1].String() {
						t.Fatalf("not %s:\n a %v\n b %v\n c %v\n   %v\n   %v", law, a, b, c, pair[0], pair[1])
					}
				}
				if err := l.Check(ab); err != nil {
					t.Fatalf("join of %v and %v: %v", a, b, err)
				}
				if want := modelText(modelJoin(l, generic(a), generic(b))); ab.String() != want {
					t.Fatalf("join of %v and %v = %v; model has %s", a, b, ab, want)
				}
			})
		})
	}
}

func TestLatticeForms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		lattice state.Lattice
		value   string
		flaw    string // part of the error; "" is none
	}{
		{"flag", `true`, ""},
		{"flag", `1`, "want a boolean"},
		{"max", `1e999999999999999999999`, ""},
		{"max", `"1"`, "want a number"},
		{"min", `null`, "want a number"},
		{"counter", `{}`, ""},
		{"counter", `{"é/~":9223372036854775807,"b":1.0}`, ""},
		{"counter", `7`, "want an object"},
		{"counter", `{"a":-1}`, `at "a": want an integer from 0`},
		{"counter", `{"a":0.5}`, `at "a": want an integer`},
		{"counter", `{"a":9223372036854775808}`, `at "a": want an integer`},
		{"set", `[]`, ""},
		{"set", `[null,false,true,-1,1,"","B","a","é",[],[1],[1,0],[2],{},{"a":1},{"a":1,"b":0},{"a":2},{"b":0}]`, ""},
		{"set", `["b","a"]`, "elements 0 and 1"},
		{"set", `[0,1,1.0]`, "elements 1 and 2"},
		{"set", `{}`, "want an array"},
		{"register", `{"clock":1,"value":null}`, ""},
		{"register", `{"clock":1}`, "want an object with exactly"},
		{"register", `{"clock":1,"value":1,"by":1}`, "want an object with exactly"},
		{"register", `{"clock":"1","value":1}`, "want an integer"},
		{"register", `null`, "want an object with exactly"},
		{"or_set", `{"a":{"added":1},"b":{"removed":0},"c":{"added":1,"removed":2}}`, ""},
		{"or_set", `["a"]`, "want an object"},
		{"or_set", `{"a":{}}`, `at "a": want an object with added`},
		{"or_set", `{"a":1}`, `at "a": want an object with added`},
		{"or_set", `{"a":{"added":-1}}`, `at "a": at "added": want an integer`},
		{"or_set", `{"a":{"added":1,"value":1}}`, `at "a": want an object with added or removed or both, and nothing else`},
		{"or_map", `{"a":{"added":1,"lattice":"max","value":1},"b":{"removed":1}}`, ""},
		{"or_map", `{"a":{"added":1,"lattice":"or_map","value":{"b":{"added":1,"removed":2,"lattice":"flag","value":true}}}}`, ""},
		{"or_map", `{"a":{"added":1}}`, `at "a": want a lattice and a value exactly where`},
		{"or_map", `{"a":{"removed":1,"lattice":"max","value":1}}`, `at "a": want a lattice and a value exactly where`},
		{"or_map", `{"a":{"added":1,"lattice":"max"}}`, `at "a": want a lattice and a value`},
		{"or_map", `{"a":{"added":1,"value":1}}`, `at "a": want a lattice and a value`},
		{"or_map", `{"a":{"added":1,"lattice":"gset","value":1}}`, `at "a": unknown lattice "gset"`},
		{"or_map", `{"a":{"added":1,"lattice":1,"value":1}}`, `at "a": unknown lattice 1`},
		{"or_map", `{"a":{"added":1,"lattice":"max","value":true}}`, `at "a": at "value": want a number`},
		{"or_map", `{"a":{"added":0.5,"lattice":"max","value":1}}`, `at "a": at "added": want an integer`},
		{"or_map", `{"a":{"added":1,"lattice":"max","value":1,"x":1}}`, `nothing else`},
		{"or_map", `{"a":[]}`, `at "a": want an object`},
	}
	for _, tt := range tests {
		t.Run(string(tt.lattice)+" "+tt.value, func(t *testing.T) {
			t.Parallel()
			err := tt.lattice.Check(value(t, tt.value))
			if tt.flaw == "" {
				if err != nil {
					t.Errorf("Check = %v", err)
				}
				return
			}
			if !errors.Is(err, state.ErrTypeMismatch) || !strings.Contains(err.Error(), tt.flaw) {
				t.Errorf("Check = %v; want a type mismatch with %q", err, tt.flaw)
			}
			doc := apply(t, state.Document{}, state.Patch{state.Set("/x/y", value(t, tt.value))})
			good := apply(t, state.Document{}, state.Patch{state.Join("/x/y", tt.lattice, bottom(t, tt.lattice))})
			_, err = state.Patch{state.Join("/x/y", tt.lattice, bottom(t, tt.lattice))}.Apply(doc)
			if !errors.Is(err, state.ErrTypeMismatch) || !strings.Contains(err.Error(), "/x/y is ") || !strings.Contains(err.Error(), tt.flaw) {
				t.Errorf("join into it = %v; want a type mismatch that names /x/y, with %q", err, tt.flaw)
			}
			_, err = state.Patch{state.Join("/x/y", tt.lattice, value(t, tt.value))}.Apply(good)
			if !errors.Is(err, state.ErrTypeMismatch) || !strings.Contains(err.Error(), `"/x/y"`) {
				t.Errorf("join of it = %v; want a type mismatch that names /x/y", err)
			}
		})
	}
	for _, l := range []state.Lattice{"", "gset", "OR_SET"} {
		if err := l.Check(state.Null()); !errors.Is(err, state.ErrUnknownLattice) {
			t.Errorf("%q: Check = %v", l, err)
		}
		if _, err := l.Join(state.Int(1), state.Int(1)); !errors.Is(err, state.ErrUnknownLattice) {
			t.Errorf("%q: Join = %v", l, err)
		}
	}
}

// bottom is a small value in the form of a lattice.
func bottom(t tb, l state.Lattice) state.Value {
	switch l {
	case state.LatticeFlag:
		return state.Bool(false)
	case state.LatticeMax, state.LatticeMin:
		return state.Int(0)
	case state.LatticeSet:
		return state.GrowSet()
	case state.LatticeRegister:
		return value(t, `{"clock":0,"value":null}`)
	}
	return value(t, `{}`)
}

func TestLatticeJoin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		lattice    state.Lattice
		a, b, want string
	}{
		{"flag", `true`, `false`, `true`},
		{"flag", `false`, `false`, `false`},
		{"max", `9007199254740992`, `9007199254740993`, `9007199254740993`},
		{"max", `1e400`, `9223372036854775807`, `1e400`},
		{"max", `10e-1`, `1.0`, `1.0`},
		{"min", `-1e400`, `0`, `-1e400`},
		{"min", `2.0`, `2`, `2`},
		{"counter", `{"a":1,"b":9007199254740993}`, `{"b":9007199254740992,"c":2}`, `{"a":1,"b":9007199254740993,"c":2}`},
		{"set", `[1.0,"a"]`, `[0,1,"é"]`, `[0,1,"a","é"]`},
		{"register", `{"clock":2,"value":"old"}`, `{"clock":3,"value":"new"}`, `{"clock":3,"value":"new"}`},
		{"register", `{"clock":2,"value":"b"}`, `{"clock":2,"value":"a"}`, `{"clock":2,"value":"b"}`},
		{"register", `{"clock":2,"value":[]}`, `{"clock":2,"value":"z"}`, `{"clock":2,"value":[]}`},
		{"or_set", `{"a":{"added":1,"removed":3}}`, `{"a":{"added":2},"b":{"removed":1}}`, `{"a":{"added":2,"removed":3},"b":{"removed":1}}`},
		{"or_map", `{"k":{"added":1,"lattice":"counter","value":{"a":1}}}`, `{"k":{"added":2,"removed":3,"lattice":"counter","value":{"b":1}}}`,
			`{"k":{"added":2,"lattice":"counter","removed":3,"value":{"a":1,"b":1}}}`},
		{"or_map", `{"k":{"added":9,"lattice":"counter","value":{"a":1}}}`, `{"k":{"added":2,"lattice":"max","value":1}}`,
			`{"k":{"added":9,"lattice":"max","value":1}}`},
		{"or_map", `{"k":{"removed":9}}`, `{"k":{"added":2,"lattice":"max","value":1}}`,
			`{"k":{"added":2,"lattice":"max","removed":9,"value":1}}`},
	}
	for _, tt := range tests {
		t.Run(string(tt.lattice)+" "+tt.a+" "+tt.b, func(t *testing.T) {
			t.Parallel()
			for _, pair := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
				if got := join(t, tt.lattice, value(t, pair[0]), value(t, pair[1])); got.String() != tt.want {
					t.Errorf("join of %s and %s = %v; want %s", pair[0], pair[1], got, tt.want)
				}
			}
		})
	}
}

// A reducer by a lattice leaves no op where a join would change nothing.
func TestReduceByLattice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(lattices).Draw(t, "lattice")
		v, delta := genForm(l, 1).Draw(t, "value"), genForm(l, 1).Draw(t, "delta")
		if rapid.Bool().Draw(t, "known") {
			v = join(t, l, v, delta)
		}
		s, err := state.NewSpecs(state.Spec{Name: "k", Lattice: l})
		if err != nil {
			t.Fatal(err)
		}
		doc := apply(t, state.Document{}, state.Patch{state.Set("/k", v)})
		p, err := s.Reduce(doc, "k", "", delta)
		if err != nil {
			t.Fatal(err)
		}
		want := join(t, l, v, delta)
		if got, _ := apply(t, doc, p).Get("/k"); got.String() != want.String() || (p == nil) != (want.String() == v.String()) {
			t.Fatalf("Reduce of %v by %s with %v = %v, which leads to %v; want %v", v, l, delta, p, got, want)
		}
	})
}

// A document that many writers join into is the same in whatever order, and
// however often, their ops arrive.
func TestJoinsConverge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(lattices).Draw(t, "lattice")
		deltas := rapid.SliceOfN(genForm(l, 1), 1, 6).Draw(t, "deltas")
		var once, often state.Patch
		for _, d := range deltas {
			once = append(once, state.Join("/é~1/x", l, d))
		}
		for range 3 {
			often = append(often, rapid.Permutation(once).Draw(t, "order")...)
		}
		want := apply(t, state.Document{}, once)
		if got := apply(t, state.Document{}, often); got.String() != want.String() {
			t.Fatalf("%v gives %v; %v gives %v", once, want, often, got)
		}
		short := often.Canonicalize()
		if len(short) != 1 || apply(t, state.Document{}, short).String() != want.String() {
			t.Fatalf("canonical %v of %v; want one op that gives %v", short, often, want)
		}
		if c, ok := state.Conflicts(once, often); ok {
			t.Fatalf("joins of one lattice: %v", c)
		}
	})
}
