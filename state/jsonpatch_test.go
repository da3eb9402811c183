package state_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

func TestFromJSONPatch(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", state.MaxDepth-1) + strings.Repeat("]", state.MaxDepth-1)
	tests := []struct {
		doc, patch string
		want       any // document, or class of the error
	}{
		// RFC 6902, appendix A
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"baz":"qux","foo":"bar"}`},
		{`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{`{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`, `{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		{`{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{`{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{`{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, state.ErrTestFailed},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"child":{"grandchild":{}},"foo":"bar"}`},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123}]`, `{"baz":"qux","foo":"bar"}`},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, state.ErrPathNotFound},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","op":"remove"}]`, state.ErrSyntax},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, state.ErrTestFailed},
		{`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
		// add
		{`{"a":1}`, `[{"op":"add","path":"/a","value":null}]`, `{"a":null}`},
		{`{"a":[1]}`, `[{"op":"add","path":"/a/1","value":2}]`, `{"a":[1,2]}`},
		{`{"a":[]}`, `[{"op":"add","path":"/a/0","value":2}]`, `{"a":[2]}`},
		{`{"a":[1]}`, `[{"op":"add","path":"/a/2","value":2}]`, state.ErrIndexOutOfRange},
		{`{"a":[1]}`, `[{"op":"add","path":"/a/01","value":2}]`, state.ErrTypeMismatch},
		{`{"a":{}}`, `[{"op":"add","path":"/a/-","value":1},{"op":"add","path":"/a/0","value":2}]`, `{"a":{"-":1,"0":2}}`},
		{`{"a":"x"}`, `[{"op":"add","path":"/a/b","value":2}]`, state.ErrTypeMismatch},
		{`{"a":1}`, `[{"op":"add","path":"","value":{"b":2}}]`, `{"b":2}`},
		{`{"a":1}`, `[{"op":"add","path":"","value":[]}]`, state.ErrTypeMismatch},
		{`{"a":[]}`, `[{"op":"add","path":"/a/-","value":` + deep + `}]`, state.ErrTooDeep},
		// remove and replace
		{`{"a":1}`, `[{"op":"remove","path":"/b"}]`, state.ErrPathNotFound},
		{`{"a":1}`, `[{"op":"remove","path":""}]`, state.ErrTypeMismatch},
		{`{"a":[1]}`, `[{"op":"remove","path":"/a/-"}]`, state.ErrPathNotFound},
		{`{"a":[1]}`, `[{"op":"remove","path":"/a/1"}]`, state.ErrPathNotFound},
		{`{"a":[1,2]}`, `[{"op":"replace","path":"/a/1","value":9007199254740993}]`, `{"a":[1,9007199254740993]}`},
		{`{"a":1}`, `[{"op":"replace","path":"/b","value":1}]`, state.ErrPathNotFound},
		{`{"a":1}`, `[{"op":"replace","path":"","value":{}}]`, `{}`},
		{`{"a":1}`, `[{"op":"replace","path":"","value":null}]`, state.ErrTypeMismatch},
		// move and copy
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, state.ErrTypeMismatch},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"a":{"b":1}}`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":""}]`, `{"b":1}`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"","path":"/a"}]`, state.ErrTypeMismatch},
		{`{"a":1,"b":2}`, `[{"op":"move","from":"/c","path":"/b"}]`, state.ErrPathNotFound},
		{`{"a":[1,2,3]}`, `[{"op":"move","from":"/a/0","path":"/a/-"}]`, `{"a":[2,3,1]}`},
		{`{"a":[1,2,3]}`, `[{"op":"move","from":"/a/0","path":"/a/3"}]`, state.ErrIndexOutOfRange},
		{`{"a":[1]}`, `[{"op":"copy","from":"/a","path":"/a/0"}]`, `{"a":[[1],1]}`},
		{`{"a":1}`, `[{"op":"copy","from":"","path":"/b"},{"op":"replace","path":"/b/a","value":2}]`, `{"a":1,"b":{"a":2}}`},
		{`{"a":1}`, `[{"op":"copy","from":"/b","path":"/a"}]`, state.ErrPathNotFound},
		// test
		{`{"a":1}`, `[{"op":"test","path":"/a","value":1.0}]`, `{"a":1}`},
		{`{"a":9007199254740993}`, `[{"op":"test","path":"/a","value":9007199254740992}]`, state.ErrTestFailed},
		{`{"a":1e400}`, `[{"op":"test","path":"/a","value":10e399},{"op":"test","path":"","value":{"a":1e400}}]`, `{"a":1e400}`},
		{`{"a":1}`, `[{"op":"test","path":"/b","value":null}]`, state.ErrPathNotFound},
		{`{"a":null}`, `[{"op":"test","path":"/a","value":null}]`, `{"a":null}`},
		// later operations see what earlier ones did
		{`{}`, `[{"op":"add","path":"/é~1","value":[]},{"op":"add","path":"/é~1/-","value":1},{"op":"add","path":"/é~1/0","value":0},{"op":"test","path":"/é~1","value":[0,1]}]`, `{"é/":[0,1]}`},
		{`{}`, `[]`, `{}`},
		// malformed
		{`{}`, `{}`, state.ErrTypeMismatch},
		{`{}`, `[`, state.ErrSyntax},
		{`{}`, `[1]`, state.ErrTypeMismatch},
		{`{}`, `[{"path":"/a","value":1}]`, state.ErrTypeMismatch},
		{`{}`, `[{"op":1,"path":"/a","value":1}]`, state.ErrTypeMismatch},
		{`{}`, `[{"op":"set","path":"/a","value":1}]`, state.ErrUnknownOp},
		{`{}`, `[{"op":"add","value":1}]`, state.ErrTypeMismatch},
		{`{}`, `[{"op":"add","path":"/a"}]`, state.ErrTypeMismatch},
		{`{}`, `[{"op":"add","path":"a","value":1}]`, state.ErrPointer},
		{`{}`, `[{"op":"add","path":"/~2","value":1}]`, state.ErrPointer},
		{`{"a":1}`, `[{"op":"copy","path":"/b"}]`, state.ErrTypeMismatch},
		{`{"a":1}`, `[{"op":"move","from":"a","path":"/b"}]`, state.ErrPointer},
	}
	for _, tt := range tests {
		t.Run(tt.doc+" "+tt.patch[:min(len(tt.patch), 120)], func(t *testing.T) {
			t.Parallel()
			doc := parse(t, tt.doc)
			p, err := state.FromJSONPatch(doc, []byte(tt.patch))
			if class, ok := tt.want.(error); ok {
				if !errors.Is(err, class) || p != nil {
					t.Fatalf("FromJSONPatch = %v, %v; want %v", p, err, class)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := apply(t, doc, p)
			if got.String() != tt.want {
				t.Fatalf("%v leads to %v; want %v", p, got, tt.want)
			}
			if (p == nil) != (tt.doc == tt.want) {
				t.Errorf("patch = %v", p)
			}
		})
	}
}

// The error names the operation, its kind and its path.
func TestFromJSONPatchError(t *testing.T) {
	t.Parallel()
	_, err := state.FromJSONPatch(parse(t, `{"a":1}`), []byte(`[{"op":"test","path":"/a","value":1},{"op":"move","from":"/x~1y","path":"/b"}]`))
	var op *state.OpError
	if !errors.As(err, &op) || op.Index != 1 || op.Kind != "move" || op.Path != "/b" || op.Err != state.ErrPathNotFound || !strings.Contains(op.Reason, "/x~1y") {
		t.Errorf("FromJSONPatch = %v, %+v", err, op)
	}
	_, err = state.FromJSONPatch(parse(t, `{"a":1}`), []byte(`[{"op":"add","path":"/a/b","value":1}]`))
	if !errors.As(err, &op) || op.Kind != "add" || op.Err != state.ErrTypeMismatch || strings.Count(err.Error(), "op 0") != 1 {
		t.Errorf("FromJSONPatch = %v", err)
	}
}

// Copies of copies would grow beyond any bound.
func TestFromJSONPatchBoundsCopies(t *testing.T) {
	t.Parallel()
	var patch strings.Builder
	patch.WriteString(`[{"op":"add","path":"/x0","value":"0123456789"}`)
	for i := range 64 {
		fmt.Fprintf(&patch, `,{"op":"copy","from":"","path":"/x%d"}`, i+1)
	}
	p, err := state.FromJSONPatch(state.Document{}, []byte(patch.String()+"]"))
	if !errors.Is(err, state.ErrTooLarge) || p != nil {
		t.Errorf("FromJSONPatch = %d ops, %v", len(p), err)
	}
	doc := apply(t, state.Document{}, state.Patch{state.Set("/mib", state.String(strings.Repeat("x", 1<<20-2)))})
	for copies, want := range map[int]error{8: nil, 9: state.ErrTooLarge} {
		var list []string
		for i := range copies {
			list = append(list, fmt.Sprintf(`{"op":"copy","from":"/mib","path":"/x%d"}`, i))
		}
		if _, err := state.FromJSONPatch(doc, []byte("["+strings.Join(list, ",")+"]")); !errors.Is(err, want) {
			t.Errorf("%d copies of 1 MiB: %v; want %v", copies, err, want)
		}
	}
}

func TestToJSONPatch(t *testing.T) {
	t.Parallel()
	tests := []struct{ doc, patch, want string }{
		{`{}`, `[]`, `[]`},
		{`{"a":1}`, `[{"op":"set","path":"/a","value":9007199254740993}]`, `[{"op":"replace","path":"/a","value":9007199254740993}]`},
		{`{"a":1}`, `[{"op":"set","path":"","value":{}}]`, `[{"op":"replace","path":"","value":{}}]`},
		{`{"a":{}}`, `[{"op":"set","path":"/a/b~1/c","value":1e400}]`, `[{"op":"add","path":"/a/b~1","value":{"c":1e400}}]`},
		{`{"a":[1]}`, `[{"op":"set","path":"/a/0","value":2},{"op":"insert","path":"/a/0","value":1}]`, `[{"op":"replace","path":"/a/0","value":2},{"op":"add","path":"/a/0","value":1}]`},
		{`{"a":[1]}`, `[{"op":"delete","path":"/a/0"},{"op":"delete","path":"/a/0"},{"op":"delete","path":"/b/c"}]`, `[{"op":"remove","path":"/a/0"}]`},
		{`{"a":[1]}`, `[{"op":"delete","path":""}]`, `[{"op":"replace","path":"","value":{}}]`},
		{`{"a":[]}`, `[{"op":"append","path":"/a","value":2},{"op":"append","path":"/b/c","value":2}]`, `[{"op":"add","path":"/a/-","value":2},{"op":"add","path":"/b","value":{"c":[2]}}]`},
		{`{"a":{"b":1}}`, `[{"op":"merge","path":"/a","value":{"b":null,"/":[]}},{"op":"merge","path":"/c","value":{}}]`, `[{"op":"add","path":"/a/~1","value":[]},{"op":"add","path":"/a/b","value":null},{"op":"add","path":"/c","value":{}}]`},
		{`{"n":9007199254740993}`, `[{"op":"increment","path":"/n","value":1}]`, `[{"op":"replace","path":"/n","value":9007199254740994}]`},
		{`{"l":["a",2.0,2]}`, `[{"op":"remove","path":"/l","value":2},{"op":"remove","path":"/l","value":"b"}]`, `[{"op":"remove","path":"/l/1"}]`},
		{`{"l":[2,1]}`, `[{"op":"remove","path":"/l","value":2}]`, `[{"op":"remove","path":"/l/0"}]`},
		{`{"f":false}`, `[{"op":"join","path":"/f","lattice":"flag","value":true},{"op":"join","path":"/s/x","lattice":"set","value":[1]}]`, `[{"op":"replace","path":"/f","value":true},{"op":"add","path":"/s","value":{"x":[1]}}]`},
	}
	for _, tt := range tests {
		t.Run(tt.doc+" "+tt.patch, func(t *testing.T) {
			t.Parallel()
			p, err := state.ParsePatch([]byte(tt.patch))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.ToJSONPatch(parse(t, tt.doc))
			if err != nil || string(got) != tt.want {
				t.Errorf("ToJSONPatch = %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	p := state.Patch{state.Set("/a", state.Int(1)), state.Increment("/b", state.Int(1))}
	text, err := p.ToJSONPatch(state.Document{})
	var op *state.OpError
	if text != nil || !errors.As(err, &op) || op.Index != 1 || op.Kind != state.OpIncrement || op.Err != state.ErrPathNotFound {
		t.Errorf("ToJSONPatch = %s, %v; want the error of Apply", text, err)
	}
}

// What leaves as a JSON patch comes back with the same meaning.
func TestJSONPatchRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := genDocument().Draw(t, "doc")
		p := genPatch(doc, 5, opKinds...).Draw(t, "patch")
		want, err := p.Apply(doc)
		text, textErr := p.ToJSONPatch(doc)
		if (err == nil) != (textErr == nil) || err != nil && err.Error() != textErr.Error() {
			t.Fatalf("ToJSONPatch of %v on %v = %s, %v; Apply %v", p, doc, text, textErr, err)
		}
		if err != nil {
			return
		}
		back, err := state.FromJSONPatch(doc, text)
		if err != nil {
			t.Fatalf("%s on %v: %v", text, doc, err)
		}
		if got := apply(t, doc, back); got.String() != want.String() {
			t.Fatalf("%v on %v leads to %v; %s to %v", p, doc, want, text, got)
		}
	})
}
