package state_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/selvagehq/selvage/state"
)

func TestKey(t *testing.T) {
	t.Parallel()
	tags := state.NewKey[[]string](state.Spec{Name: "tags", Reducer: state.ReduceUnion})
	doc := state.Document{}

	if got, ok, err := tags.Get(doc); got != nil || ok || err != nil {
		t.Errorf("Get of nothing = %v, %v, %v", got, ok, err)
	}
	for _, delta := range [][]string{{"a"}, {"a", "b"}} {
		p, err := tags.Update(doc, delta)
		if err != nil {
			t.Fatal(err)
		}
		doc = apply(t, doc, p)
	}
	if got, ok, err := tags.Get(doc); !slices.Equal(got, []string{"a", "b"}) || !ok || err != nil {
		t.Errorf("Get = %v, %v, %v", got, ok, err)
	}
	if p, err := tags.Update(doc, []string{"b"}); p != nil || err != nil {
		t.Errorf("Update without change = %v, %v", p, err)
	}
	op, err := tags.Set([]string{"z"})
	if err != nil {
		t.Fatal(err)
	}
	if doc = apply(t, doc, state.Patch{op}); doc.String() != `{"tags":["z"]}` {
		t.Errorf("document = %v", doc)
	}
	doc = apply(t, doc, state.Patch{state.Set("/tags", state.Int(1))})
	if got, ok, err := tags.Get(doc); got != nil || ok || err == nil {
		t.Errorf("Get of another type = %v, %v, %v", got, ok, err)
	}
}

func TestKeyForCall(t *testing.T) {
	t.Parallel()
	tries := state.NewKey[int](state.Spec{Name: "tries", Scope: state.ScopeToolCall, Reducer: state.ReduceSum})
	doc := state.Document{}
	for _, call := range []string{"1", "2", "1"} {
		p, err := tries.For(call).Update(doc, 1)
		if err != nil {
			t.Fatal(err)
		}
		doc = apply(t, doc, p)
	}
	if doc.String() != `{"__calls":{"1":{"tries":2},"2":{"tries":1}}}` {
		t.Errorf("document = %v", doc)
	}
	if n, ok, err := tries.For("1").Get(doc); n != 2 || !ok || err != nil {
		t.Errorf("Get = %d, %v, %v", n, ok, err)
	}

	title := state.NewKey[string](state.Spec{Name: "title"})
	_, _, err1 := tries.Get(doc)
	_, err2 := tries.Set(1)
	_, err3 := tries.Update(doc, 1)
	_, _, err4 := title.For("1").Get(doc)
	for i, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, state.ErrCallID) {
			t.Errorf("error %d = %v; want ErrCallID", i+1, err)
		}
	}
}

func TestKeyErrors(t *testing.T) {
	t.Parallel()
	ratio := state.NewKey[float64](state.Spec{Name: "ratio"})
	if _, err := ratio.Set(math.NaN()); err == nil {
		t.Error("NaN is stored")
	}
	if _, err := ratio.Update(state.Document{}, math.Inf(1)); err == nil {
		t.Error("Inf is stored")
	}
	bad := state.NewKey[int](state.Spec{Name: "x", Reducer: "product"})
	if _, err := bad.Update(state.Document{}, 1); !errors.Is(err, state.ErrSpec) {
		t.Errorf("Update with an unknown reducer = %v; want ErrSpec", err)
	}
	if got := ratio.Spec(); got.Path != "/ratio" || got.Reducer != state.ReduceReplace {
		t.Errorf("Spec = %+v", got)
	}
}
