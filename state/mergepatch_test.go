package state_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

func TestFromMergePatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		doc, patch string
		want       any // document, or class of the error
	}{
		// RFC 7386, appendix A, as far as documents are objects
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"a":"foo"}`, `null`, state.ErrTypeMismatch},
		{`{"a":"foo"}`, `"bar"`, state.ErrTypeMismatch},
		{`{"a":"foo"}`, `["c"]`, state.ErrTypeMismatch},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		// more
		{`{"a":1}`, `{"a":{"b":null,"c":[null,{"d":null}]}}`, `{"a":{"c":[null,{"d":null}]}}`},
		{`{"a":1}`, `{"b":null,"a":1.0}`, `{"a":1}`},
		{`{"a":{"b":{}}}`, `{"a":{"b":{}}}`, `{"a":{"b":{}}}`},
		{`{"a":[]}`, `{"a":{}}`, `{"a":{}}`},
		{`{"é":{"~/":1}}`, `{"é":{"~/":9007199254740993,"":1e400}}`, `{"é":{"":1e400,"~/":9007199254740993}}`},
		{`{}`, `{"a":1,"a":2}`, state.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.doc+" "+tt.patch, func(t *testing.T) {
			t.Parallel()
			doc := parse(t, tt.doc)
			p, err := state.FromMergePatch(doc, []byte(tt.patch))
			if class, ok := tt.want.(error); ok {
				if !errors.Is(err, class) || p != nil {
					t.Fatalf("FromMergePatch = %v, %v; want %v", p, err, class)
				}
				return
			}
			if err != nil || (p == nil) != (tt.doc == tt.want) {
				t.Fatalf("FromMergePatch = %v, %v", p, err)
			}
			if got := apply(t, doc, p); got.String() != tt.want {
				t.Errorf("%v leads to %v; want %v", p, got, tt.want)
			}
		})
	}
}

// modelMerge is the algorithm of RFC 7386, section 2.
func modelMerge(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, v := range members {
		if v == nil {
			delete(object, name)
		} else {
			object[name] = modelMerge(object[name], v)
		}
	}
	return object
}

func TestFromMergePatchAgreesWithModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc, patch := genDocument().Draw(t, "doc"), genDocument().Draw(t, "patch")
		p, err := state.FromMergePatch(doc, patch.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		want := value(t, modelText(modelMerge(generic(doc.Root()), generic(patch.Root()))))
		if got := apply(t, doc, p); !got.Root().Equal(want) {
			t.Fatalf("%v merged into %v by %v is %v; want %v", patch, doc, p, got, want)
		}
	})
}
