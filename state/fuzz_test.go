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
