package state_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/selvagehq/selvage/state"
)

func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		`null`, `{"a":[1,2.50,-0,1e400,"\ud83d\ude00\u0000<>"],"b":{"":true}}`, `"\ud800"`, `{"a":1,"a":2}`,
		`[9007199254740993,12345678901234567890123,1e999999999999999999999]`, "\"\xff\"", `[[[[[]]]]]`, `01`, `{"b":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := state.ParseValue(data)
		if err != nil {
			if !errors.Is(err, state.ErrSyntax) {
				t.Fatalf("error %v is of no class", err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is not JSON", data)
		}
		text := v.String()
		again, err := state.ParseValue([]byte(text))
		if err != nil || again.String() != text || !again.Equal(v) {
			t.Fatalf("%q became %q, %v", text, again, err)
		}
		if err := state.CheckValue(v); err != nil {
			t.Fatal(err)
		}
		if n, ok := v.Int64(); ok && !v.Equal(state.Int(n)) {
			t.Fatalf("%v is not %d", v, n)
		}
	})
}

func FuzzPointer(f *testing.F) {
	for _, seed := range []string{"", "/", "/a/b", "/~0~1", "/~", "a", "//", "/0/-/01", "/é"} {
		f.Add(seed, "/a")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		p, err := state.ParsePointer(text)
		if err != nil {
			if !errors.Is(err, state.ErrPointer) {
				t.Fatalf("error %v is of no class", err)
			}
			_, _ = state.Pointer(text).Tokens(), state.Pointer(text).Contains("/a") // no panic
			return
		}
		if back := state.At(p.Tokens()...); back != p {
			t.Fatalf("%q became %q", p, back)
		}
		q := p.Join(other)
		if !p.Contains(q) || q.Contains(p) || !p.Contains(p) || len(q.Tokens()) != len(p.Tokens())+1 {
			t.Fatalf("%q joined with %q is %q", p, other, q)
		}
		doc, err := state.Patch{state.Set(q, state.Int(1))}.Apply(state.Document{})
		if errors.Is(err, state.ErrTooDeep) {
			return
		}
		if v, ok := doc.Get(q); err != nil || !ok || !v.Equal(state.Int(1)) {
			t.Fatalf("set at %q: %v, %v", q, doc, err)
		}
	})
}

func FuzzPatchApply(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":2}],"n":1}`), []byte(`[{"op":"set","path":"/a/1/b","value":3},{"op":"increment","path":"/n","value":1}]`))
	f.Add([]byte(`{"a":[1,2,3]}`), []byte(`[{"op":"delete","path":"/a/0"},{"op":"insert","path":"/a/2","value":[]},{"op":"remove","path":"/a","value":2.0}]`))
	f.Add([]byte(`{}`), []byte(`[{"op":"append","path":"/x/y","value":1},{"op":"merge","path":"/x","value":{"y":null}},{"op":"delete","path":""}]`))
	f.Add([]byte(`{"a":1}`), []byte(`[{"op":"set","path":"/a","value":{}},{"op":"set","path":"/a","value":1},{"op":"delete","path":"/a"}]`))
	f.Add([]byte(`{"s":{"a":{"added":1}},"n":[1]}`), []byte(`[{"op":"join","path":"/s","lattice":"or_set","value":{"a":{"removed":2}}},{"op":"join","path":"/n","lattice":"set","value":[0,2]},{"op":"join","path":"/x/y","lattice":"or_map","value":{"k":{"added":1,"lattice":"max","value":1.0}}}]`))
	f.Add([]byte(`{"n":1}`), []byte(`[{"op":"join","path":"/n","lattice":"max","value":1e0},{"op":"join","path":"/n","lattice":"max","value":2},{"op":"join","path":"/r","lattice":"register","value":{"clock":1,"value":[]}}]`))
	f.Fuzz(func(t *testing.T, docText, patchText []byte) {
		doc, err := state.Parse(docText)
		if err != nil {
			return
		}
		p, err := state.ParsePatch(patchText)
		if err != nil {
			return
		}
		before := doc.String()
		got, err := p.Apply(doc)
		if doc.String() != before {
			t.Fatalf("%s changed %s to %v", patchText, before, doc)
		}
		var op *state.OpError
		if err != nil && (!errors.As(err, &op) || op.Err == nil || got.String() != before) {
			t.Fatalf("%s on %s = %v, %v", patchText, before, got, err)
		}
		if err == nil {
			if err := state.Check(got); err != nil {
				t.Fatal(err)
			}
			parse(t, got.String())
		}
		if want, at, class := applyModel(doc, p); class == nil != (err == nil) ||
			err == nil && got.String() != want || err != nil && (op.Index != at || op.Err != class) {
			t.Fatalf("%s on %s = %v, %v; model has %s, op %d, %v", patchText, before, got, err, want, at, class)
		}
		short, shortErr := p.Canonicalize().Apply(doc)
		if (shortErr == nil) != (err == nil) || short.String() != got.String() {
			t.Fatalf("%s on %s = %v, %v; canonical %v, %v", patchText, before, got, err, short, shortErr)
		}
		half := len(p) / 2
		state.Conflicts(p[:half], p[half:])
	})
}

func FuzzFromJSONPatch(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":9007199254740993}]}`), []byte(`[{"op":"add","path":"/a/-","value":1e400},{"op":"move","from":"/a/1/b","path":"/b~1"},{"op":"copy","from":"","path":"/c"}]`))
	f.Add([]byte(`{"~":{"é":null}}`), []byte(`[{"op":"test","path":"/~0","value":{"é":null}},{"op":"remove","path":"/~0/é"},{"op":"replace","path":"","value":{}}]`))
	f.Add([]byte(`{}`), []byte(`[{"op":"add","path":"","value":[],"from":1}]`))
	f.Fuzz(func(t *testing.T, docText, patchText []byte) {
		doc, err := state.Parse(docText)
		if err != nil {
			return
		}
		p, err := state.FromJSONPatch(doc, patchText)
		var op *state.OpError
		if err != nil {
			if p != nil || !errors.As(err, &op) && !errors.Is(err, state.ErrSyntax) && !errors.Is(err, state.ErrTypeMismatch) {
				t.Fatalf("%s on %v = %v, %v", patchText, doc, p, err)
			}
			return
		}
		want := apply(t, doc, p)
		text, err := p.ToJSONPatch(doc)
		if err != nil {
			t.Fatal(err)
		}
		again, err := state.FromJSONPatch(doc, text)
		if err != nil {
			t.Fatalf("%s became %s: %v", patchText, text, err)
		}
		if got := apply(t, doc, again); got.String() != want.String() {
			t.Fatalf("%s leads to %v; %s to %v", patchText, want, text, got)
		}
	})
}

func FuzzFromMergePatch(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1,"c":[null]}}`), []byte(`{"a":{"b":null,"d":{"e":null,"f":9007199254740993}}}`))
	f.Add([]byte(`{"a":[1]}`), []byte(`{"a":{"":1e400},"é":null}`))
	f.Add([]byte(`{}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, docText, patchText []byte) {
		doc, err := state.Parse(docText)
		if err != nil {
			return
		}
		p, err := state.FromMergePatch(doc, patchText)
		if err != nil {
			if p != nil || !errors.Is(err, state.ErrSyntax) && !errors.Is(err, state.ErrTypeMismatch) {
				t.Fatalf("%s = %v, %v", patchText, p, err)
			}
			return
		}
		want := value(t, modelText(modelMerge(generic(doc.Root()), generic(value(t, string(patchText))))))
		if got := apply(t, doc, p); !got.Root().Equal(want) {
			t.Fatalf("%s into %v leads to %v; want %v", patchText, doc, got, want)
		}
	})
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,3,4],"b":{"c":1}}`), []byte(`{"a":[0,1,3,4,5],"b":{"c":1.0,"~/":null}}`))
	f.Add([]byte(`{"a":[{"x":[1,1]},[],[]]}`), []byte(`{"a":[[],{"x":[1]},[]]}`))
	f.Add([]byte(`{"a":9007199254740993}`), []byte(`{"a":9007199254740992}`))
	f.Fuzz(func(t *testing.T, left, right []byte) {
		a, err := state.Parse(left)
		if err != nil {
			return
		}
		b, err := state.Parse(right)
		if err != nil {
			return
		}
		diff(t, a, b)
		diff(t, b, a)
		if equal := string(a.AppendCanonical(nil)) == string(b.AppendCanonical(nil)); equal != a.Equal(b) {
			t.Fatalf("%v and %v: equal %v, canonical %v", a, b, a.Equal(b), equal)
		}
		if !parse(t, string(a.AppendCanonical(nil))).Equal(a) {
			t.Fatalf("canonical %v is %s", a, a.AppendCanonical(nil))
		}
	})
}
