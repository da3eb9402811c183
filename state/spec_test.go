package state_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/selvagehq/selvage/state"
)

func specs(t testing.TB, list ...state.Spec) *state.Specs {
	t.Helper()
	s, err := state.NewSpecs(list...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSpecs(t *testing.T) {
	t.Parallel()
	keep := func(current state.Value, ok bool, delta state.Value) (state.Value, error) { return delta, nil }
	same := func(v state.Value) (state.Value, error) { return v, nil }
	tests := []struct {
		name  string
		specs []state.Spec
		ok    bool
	}{
		{"none", nil, true},
		{"siblings", []state.Spec{{Name: "a", Path: "/x/a"}, {Name: "b", Path: "/x/b"}}, true},
		{"text prefix is not nesting", []state.Spec{{Name: "a"}, {Name: "ab"}}, true},
		{"func", []state.Spec{{Name: "a", Func: keep}}, true},
		{"call and thread are apart", []state.Spec{{Name: "a", Path: "/x"}, {Name: "b", Path: "/x", Scope: state.ScopeToolCall}}, true},
		{"reserved key for text", []state.Spec{{Name: "a", Path: "/__callsign"}}, true},
		{"same name", []state.Spec{{Name: "a", Path: "/x"}, {Name: "a", Path: "/y"}}, false},
		{"same path", []state.Spec{{Name: "a", Path: "/x"}, {Name: "b", Path: "/x", Scope: state.ScopeRun}}, false},
		{"same default path", []state.Spec{{Name: "a"}, {Name: "b", Path: "/a"}}, false},
		{"nested", []state.Spec{{Name: "a", Path: "/x"}, {Name: "b", Path: "/x/y"}}, false},
		{"nested the other way", []state.Spec{{Name: "a", Path: "/x/y"}, {Name: "b", Path: "/x"}}, false},
		{"nested in a call", []state.Spec{{Name: "a", Scope: state.ScopeToolCall}, {Name: "b", Path: "/a/b", Scope: state.ScopeToolCall}}, false},
		{"no name", []state.Spec{{Path: "/x"}}, false},
		{"name that is not UTF-8", []state.Spec{{Name: "\xff"}}, false},
		{"bad pointer", []state.Spec{{Name: "a", Path: "x"}}, false},
		{"bad escape", []state.Spec{{Name: "a", Path: "/~"}}, false},
		{"reserved key", []state.Spec{{Name: "a", Path: "/__calls"}}, false},
		{"under the reserved key", []state.Spec{{Name: "a", Path: "/__calls/x", Scope: state.ScopeToolCall}}, false},
		{"reserved key as a name", []state.Spec{{Name: state.CallsKey}}, false},
		{"unknown scope", []state.Spec{{Name: "a", Scope: "forever"}}, false},
		{"unknown reducer", []state.Spec{{Name: "a", Reducer: "product"}}, false},
		{"two reducers", []state.Spec{{Name: "a", Reducer: state.ReduceSum, Func: keep}}, false},
		{"lattice", []state.Spec{{Name: "a", Lattice: state.LatticeORSet}}, true},
		{"lattice with its reducer", []state.Spec{{Name: "a", Lattice: state.LatticeMax, Reducer: state.ReduceJoin}}, true},
		{"lattice with another reducer", []state.Spec{{Name: "a", Lattice: state.LatticeMax, Reducer: state.ReduceMax}}, false},
		{"lattice with a func", []state.Spec{{Name: "a", Lattice: state.LatticeMax, Func: keep}}, false},
		{"join without a lattice", []state.Spec{{Name: "a", Reducer: state.ReduceJoin}}, false},
		{"unknown lattice", []state.Spec{{Name: "a", Lattice: "gset"}}, false},
		{"migrations", []state.Spec{{Name: "a", Version: 2, Migrations: map[int]state.MigrateFunc{1: same}}}, true},
		{"migration to a later version", []state.Spec{{Name: "a", Version: 1, Migrations: map[int]state.MigrateFunc{1: same}}}, false},
		{"migration from a negative version", []state.Spec{{Name: "a", Version: 1, Migrations: map[int]state.MigrateFunc{-1: same}}}, false},
		{"nil migration", []state.Spec{{Name: "a", Version: 1, Migrations: map[int]state.MigrateFunc{0: nil}}}, false},
		{"the other reserved key", []state.Spec{{Name: "a", Path: "/__specs/a"}}, false},
		{"negative version", []state.Spec{{Name: "a", Version: -1}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := state.NewSpecs(tt.specs...)
			if (err == nil) != tt.ok || err != nil && !errors.Is(err, state.ErrSpec) {
				t.Errorf("NewSpecs = %v; want ok %v", err, tt.ok)
			}
		})
	}
	_, err := state.NewSpecs(state.Spec{Name: "a", Path: "x"})
	if !errors.Is(err, state.ErrPointer) {
		t.Errorf("bad pointer = %v; want ErrPointer too", err)
	}
}

func TestReduce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reducer    state.Reducer
		doc, delta string
		want       any // patch as text, "" for none, or the class of the error
	}{
		{state.ReduceReplace, `{}`, `1`, `[{"op":"set","path":"/k","value":1}]`},
		{state.ReduceReplace, `{"k":1}`, `2`, `[{"op":"set","path":"/k","value":2}]`},
		{state.ReduceReplace, `{"k":{"a":[1]}}`, `{"a":[1.0]}`, ``},
		{state.ReduceReplace, `{"k":null}`, `null`, ``},
		{state.ReduceReplace, `{}`, `null`, `[{"op":"set","path":"/k","value":null}]`},
		{state.ReduceAppend, `{}`, `[1,2]`, `[{"op":"append","path":"/k","value":1},{"op":"append","path":"/k","value":2}]`},
		{state.ReduceAppend, `{}`, `[]`, `[{"op":"set","path":"/k","value":[]}]`},
		{state.ReduceAppend, `{"k":[1]}`, `[]`, ``},
		{state.ReduceAppend, `{"k":[1]}`, `[[2]]`, `[{"op":"append","path":"/k","value":[2]}]`},
		{state.ReduceAppend, `{"k":[1]}`, `2`, state.ErrTypeMismatch},
		{state.ReduceAppend, `{"k":null}`, `[2]`, state.ErrTypeMismatch},
		{state.ReduceMerge, `{}`, `{"a/b":1}`, `[{"op":"set","path":"/k/a~1b","value":1}]`},
		{state.ReduceMerge, `{}`, `{}`, `[{"op":"set","path":"/k","value":{}}]`},
		{state.ReduceMerge, `{"k":{"a":1,"b":2}}`, `{"a":1.0,"b":3,"c":null}`, `[{"op":"set","path":"/k/b","value":3},{"op":"set","path":"/k/c","value":null}]`},
		{state.ReduceMerge, `{"k":{"a":1}}`, `{"a":1}`, ``},
		{state.ReduceMerge, `{"k":[]}`, `{"a":1}`, state.ErrTypeMismatch},
		{state.ReduceMerge, `{"k":{}}`, `[]`, state.ErrTypeMismatch},
		{state.ReduceSum, `{}`, `5`, `[{"op":"set","path":"/k","value":5}]`},
		{state.ReduceSum, `{"k":1}`, `5`, `[{"op":"increment","path":"/k","value":5}]`},
		{state.ReduceSum, `{"k":1}`, `0.0`, ``},
		{state.ReduceSum, `{"k":9223372036854775807}`, `1`, state.ErrOverflow},
		{state.ReduceSum, `{"k":"1"}`, `1`, state.ErrNotANumber},
		{state.ReduceSum, `{}`, `"1"`, state.ErrNotANumber},
		{state.ReduceMax, `{}`, `1e400`, `[{"op":"set","path":"/k","value":1e400}]`},
		{state.ReduceMax, `{"k":9007199254740992}`, `9007199254740993`, `[{"op":"set","path":"/k","value":9007199254740993}]`},
		{state.ReduceMax, `{"k":2}`, `1`, ``},
		{state.ReduceMax, `{"k":2}`, `2.0`, ``},
		{state.ReduceMax, `{"k":[]}`, `2`, state.ErrNotANumber},
		{state.ReduceMin, `{}`, `1`, `[{"op":"set","path":"/k","value":1}]`},
		{state.ReduceMin, `{"k":2}`, `-1e400`, `[{"op":"set","path":"/k","value":-1e400}]`},
		{state.ReduceMin, `{"k":2}`, `3`, ``},
		{state.ReduceMin, `{"k":2}`, `null`, state.ErrNotANumber},
		{state.ReduceUnion, `{}`, `[1,1.0,"1",[1],[1e0]]`, `[{"op":"set","path":"/k","value":[1,"1",[1]]}]`},
		{state.ReduceUnion, `{}`, `[]`, `[{"op":"set","path":"/k","value":[]}]`},
		{state.ReduceUnion, `{"k":[1,{"a":[0]}]}`, `[{"a":[-0.0]},2]`, `[{"op":"set","path":"/k","value":[1,{"a":[0]},2]}]`},
		{state.ReduceUnion, `{"k":[1,2]}`, `[2,1]`, ``},
		{state.ReduceUnion, `{"k":{}}`, `[2,1]`, state.ErrTypeMismatch},
		{state.ReduceUnion, `{"k":[]}`, `{}`, state.ErrTypeMismatch},
		{state.ReduceJoin, `{}`, `{"a":1}`, `[{"op":"join","path":"/k","lattice":"counter","value":{"a":1}}]`},
		{state.ReduceJoin, `{}`, `{}`, `[{"op":"join","path":"/k","lattice":"counter","value":{}}]`},
		{state.ReduceJoin, `{"k":{"a":1,"b":1}}`, `{"a":2,"b":0}`, `[{"op":"join","path":"/k","lattice":"counter","value":{"a":2,"b":0}}]`},
		{state.ReduceJoin, `{"k":{"a":1}}`, `{"a":1}`, ``},
		{state.ReduceJoin, `{"k":{"a":1}}`, `{"a":-1}`, state.ErrTypeMismatch},
		{state.ReduceJoin, `{"k":1}`, `{"a":1}`, state.ErrTypeMismatch},
	}
	for _, tt := range tests {
		t.Run(string(tt.reducer)+" "+tt.doc+" "+tt.delta, func(t *testing.T) {
			t.Parallel()
			spec := state.Spec{Name: "k", Reducer: tt.reducer}
			if tt.reducer == state.ReduceJoin {
				spec.Lattice = state.LatticeCounter
			}
			s := specs(t, spec)
			doc := parse(t, tt.doc)
			p, err := s.Reduce(doc, "k", "", value(t, tt.delta))
			if class, ok := tt.want.(error); ok {
				if !errors.Is(err, class) || p != nil || !strings.HasPrefix(err.Error(), "reduce k: ") {
					t.Fatalf("Reduce = %v, %v; want %v", p, err, class)
				}
				return
			}
			if err != nil || (p == nil) != (tt.want == "") {
				t.Fatalf("Reduce = %v, %v; want %s", p, err, tt.want)
			}
			if p != nil && string(p.AppendJSON(nil)) != tt.want {
				t.Errorf("Reduce = %s; want %s", p.AppendJSON(nil), tt.want)
			}
			apply(t, doc, p)
		})
	}
}

func TestReduceScopes(t *testing.T) {
	t.Parallel()
	s := specs(t,
		state.Spec{Name: "thread", Path: "/t"},
		state.Spec{Name: "run", Scope: state.ScopeRun, Path: "/r/x"},
		state.Spec{Name: "call", Scope: state.ScopeToolCall, Path: "/c/x"},
	)
	doc := parse(t, `{"t":1,"r":{"x":1,"other":1},"free":1}`)
	one := state.Int(2)

	for _, tt := range []struct {
		name, call string
		want       error
	}{
		{"thread", "call-1", state.ErrCallID},
		{"run", "call-1", state.ErrCallID},
		{"call", "", state.ErrCallID},
		{"call", "\xff", state.ErrCallID},
		{"nobody", "", state.ErrUnknownSpec},
	} {
		if p, err := s.Reduce(doc, tt.name, tt.call, one); p != nil || !errors.Is(err, tt.want) {
			t.Errorf("Reduce(%s, %q) = %v, %v; want %v", tt.name, tt.call, p, err, tt.want)
		}
	}

	const id = "a/b~c"
	p, err := s.Reduce(doc, "call", id, one)
	if err != nil || len(p) != 1 || p[0].Path != "/__calls/a~1b~0c/c/x" {
		t.Fatalf("Reduce for a call = %v, %v", p, err)
	}
	if path, err := s.Path("call", id); err != nil || path != p[0].Path {
		t.Errorf("Path = %q, %v", path, err)
	}
	doc = apply(t, doc, p)

	if got := doc.String(); got != `{"__calls":{"a/b~c":{"c":{"x":2}}},"free":1,"r":{"other":1,"x":1},"t":1}` {
		t.Errorf("document = %s", got)
	}
	if p := s.CallCleanup(doc, "other"); p != nil {
		t.Errorf("CallCleanup of a call without state = %v", p)
	}
	doc = apply(t, doc, s.CallCleanup(doc, id))
	doc = apply(t, doc, s.RunCleanup(doc))
	if got := doc.String(); got != `{"__calls":{},"free":1,"r":{"other":1},"t":1}` {
		t.Errorf("document after cleanup = %s", got)
	}
	if p := s.RunCleanup(doc); p != nil {
		t.Errorf("second RunCleanup = %v", p)
	}
}

// A patch that Reduce returns is sure to apply.
func TestReduceChecksTheWay(t *testing.T) {
	t.Parallel()
	s := specs(t, state.Spec{Name: "k", Path: "/a/b"})
	_, err := s.Reduce(parse(t, `{"a":1}`), "k", "", state.Int(1))
	if !errors.Is(err, state.ErrTypeMismatch) {
		t.Errorf("Reduce through a number = %v; want ErrTypeMismatch", err)
	}
}

func TestReduceFunc(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	longest := func(current state.Value, ok bool, delta state.Value) (state.Value, error) {
		if delta.Kind() != state.KindString {
			return state.Value{}, boom
		}
		if ok && len(current.Text()) >= len(delta.Text()) {
			return current, nil
		}
		return delta, nil
	}
	s := specs(t, state.Spec{Name: "k", Func: longest})
	doc := state.Document{}
	for _, step := range []struct {
		delta string
		ops   int
	}{{"bb", 1}, {"a", 0}, {"ccc", 1}} {
		p, err := s.Reduce(doc, "k", "", state.String(step.delta))
		if err != nil || len(p) != step.ops {
			t.Fatalf("Reduce(%s) = %v, %v; want %d ops", step.delta, p, err, step.ops)
		}
		doc = apply(t, doc, p)
	}
	if doc.String() != `{"k":"ccc"}` {
		t.Errorf("document = %v", doc)
	}
	if _, err := s.Reduce(doc, "k", "", state.Null()); !errors.Is(err, boom) {
		t.Errorf("Reduce = %v; want the error of the func", err)
	}
}

func TestNilSpecs(t *testing.T) {
	t.Parallel()
	var s *state.Specs
	if _, err := s.Reduce(state.Document{}, "a", "", state.Null()); !errors.Is(err, state.ErrUnknownSpec) {
		t.Errorf("Reduce = %v", err)
	}
	if s.RunCleanup(state.Document{}) != nil || s.CallCleanup(state.Document{}, "a") != nil || s.All() != nil {
		t.Error("a nil set does something")
	}
}

func TestSpecsLookup(t *testing.T) {
	t.Parallel()
	s := specs(t, state.Spec{Name: "b/c"}, state.Spec{Name: "a", Scope: state.ScopeRun})
	spec, ok := s.Lookup("b/c")
	if !ok || spec.Path != "/b~1c" || spec.Scope != state.ScopeThread || spec.Reducer != state.ReduceReplace {
		t.Errorf("Lookup = %+v, %v", spec, ok)
	}
	if all := s.All(); len(all) != 2 || all[0].Name != "a" {
		t.Errorf("All = %+v", all)
	}
}

// Patches of calls that run at the same time and use append, merge and sum do
// not get in each other's way.
func TestReducersOfParallelCalls(t *testing.T) {
	t.Parallel()
	s := specs(t,
		state.Spec{Name: "log", Reducer: state.ReduceAppend},
		state.Spec{Name: "map", Reducer: state.ReduceMerge},
		state.Spec{Name: "sum", Reducer: state.ReduceSum},
		state.Spec{Name: "own", Scope: state.ScopeToolCall},
		state.Spec{Name: "max", Reducer: state.ReduceMax},
		state.Spec{Name: "top", Lattice: state.LatticeMax},
	)
	doc := parse(t, `{"sum":1}`)
	reduce := func(call, name, delta string) state.Patch {
		if name != "own" {
			call = ""
		}
		p, err := s.Reduce(doc, name, call, value(t, delta))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct {
		name, a, b string
		conflict   bool
	}{
		{"log", `["a"]`, `["b"]`, false},
		{"map", `{"a":1}`, `{"b":1}`, false},
		{"map", `{"a":1}`, `{"a":2}`, true},
		{"sum", `1`, `2`, false},
		{"own", `1`, `2`, false},
		{"max", `1`, `2`, true},
		{"top", `1`, `2`, false},
	} {
		c, ok := state.Conflicts(reduce("1", tt.name, tt.a), reduce("2", tt.name, tt.b))
		if ok != tt.conflict {
			t.Errorf("%s %s and %s: %v, %v; want %v", tt.name, tt.a, tt.b, c, ok, tt.conflict)
		}
	}
}
