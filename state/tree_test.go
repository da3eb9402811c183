package state_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

// numbers returns an object with n members.
func numbers(t testing.TB, n int) state.Value {
	t.Helper()
	m := make(map[string]int, n)
	for i := range n {
		m[fmt.Sprintf("key%06d", i)] = i
	}
	v, err := state.ValueOf(m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A large object behaves like a map, and every version of it stays what it was.
func TestObjectIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model := make(map[string]string)
		var doc state.Document
		var kept state.Document
		var keptText string
		keys := rapid.Custom(func(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(0, 400).Draw(t, "key")) })
		for round := range rapid.IntRange(1, 12).Draw(t, "rounds") {
			grow := rapid.Bool().Draw(t, "grow")
			var p state.Patch
			for range rapid.IntRange(1, 120).Draw(t, "ops") {
				key := keys.Draw(t, "key")
				if grow || rapid.IntRange(0, 4).Draw(t, "set") == 0 {
					text := strings.Repeat("x", rapid.IntRange(0, 20).Draw(t, "length"))
					model[key] = text
					p = append(p, state.Set(state.At(key), state.String(text)))
				} else {
					delete(model, key)
					p = append(p, state.Delete(state.At(key)))
				}
			}
			doc = apply(t, doc, p)
			got := make(map[string]string)
			for k, v := range doc.Root().Members() {
				got[k] = v.Text()
			}
			if !maps.Equal(got, model) || doc.Len() != len(model) {
				t.Fatalf("document is %v; want %v", got, model)
			}
			if n := len(doc.AppendJSON(nil)); doc.Size() != n {
				t.Fatalf("Size = %d; encoding has %d bytes", doc.Size(), n)
			}
			if parsed := parse(t, doc.String()); !parsed.Equal(doc) || !doc.Equal(parsed) {
				t.Fatal("document does not equal itself read again")
			}
			if round == 3 {
				kept, keptText = doc, doc.String()
			}
		}
		if keptText != "" && kept.String() != keptText {
			t.Fatal("an old version changed")
		}
	})
}

// A large array behaves like a slice.
func TestArrayIsASlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var model []int64
		doc := parse(t, `{"a":[]}`)
		next := int64(0)
		for range rapid.IntRange(1, 10).Draw(t, "rounds") {
			kind := rapid.SampledFrom([]state.OpKind{
				state.OpAppend, state.OpAppend, state.OpInsert, state.OpInsert, state.OpDelete, state.OpRemove, state.OpSet,
			}).Draw(t, "kind")
			var p state.Patch
			for range rapid.IntRange(1, 150).Draw(t, "ops") {
				next++
				v := state.Int(next)
				at := rapid.IntRange(0, len(model)).Draw(t, "index")
				path := state.At("a", strconv.Itoa(at))
				switch {
				case kind == state.OpAppend:
					model = append(model, next)
					p = append(p, state.Append("/a", v))
				case kind == state.OpInsert:
					model = slices.Insert(model, at, next)
					p = append(p, state.Insert(path, v))
				case at == len(model): // nothing there
					p = append(p, state.Delete(path))
				case kind == state.OpDelete:
					model = slices.Delete(model, at, at+1)
					p = append(p, state.Delete(path))
				case kind == state.OpRemove:
					p = append(p, state.Remove("/a", state.Int(model[at])))
					model = slices.Delete(model, at, at+1)
				case kind == state.OpSet:
					model[at] = next
					p = append(p, state.Set(path, v))
				}
			}
			doc = apply(t, doc, p)
			array, _ := doc.Get("/a")
			if array.Len() != len(model) {
				t.Fatalf("array has %d elements; want %d", array.Len(), len(model))
			}
			for i, want := range model {
				if v, ok := array.Index(i); !ok || !v.Equal(state.Int(want)) {
					t.Fatalf("element %d = %v; want %d", i, v, want)
				}
			}
			if n := len(doc.AppendJSON(nil)); doc.Size() != n {
				t.Fatalf("Size = %d; encoding has %d bytes", doc.Size(), n)
			}
		}
	})
}

// Nodes that shrink are joined, without a change to those that others hold.
func TestShrunkNodesAreJoined(t *testing.T) {
	t.Parallel()
	key := func(i int) state.Pointer { return state.At(fmt.Sprintf("key%06d", i)) }
	doc, err := state.DocumentOf(numbers(t, state.Fanout+1)) // two leaves
	if err != nil {
		t.Fatal(err)
	}
	var head, tail state.Patch
	for i := range state.Fanout / 4 {
		head = append(head, state.Delete(key(i)))
	}
	for i := state.Fanout * 3 / 4; i <= state.Fanout; i++ {
		tail = append(tail, state.Delete(key(i)))
	}
	for _, patches := range [][]state.Patch{{head, tail}, {tail, head}} {
		d := doc
		for _, p := range patches {
			if state.Leaves(d.Root()) != 2 {
				t.Fatalf("%d leaves before the last patch", state.Leaves(d.Root()))
			}
			d = apply(t, d, p)
		}
		if n := state.Leaves(d.Root()); n != 1 || d.Len() != state.Fanout/2 {
			t.Errorf("%d members in %d leaves", d.Len(), n)
		}
	}
}

// A list that only grows, one patch at a time, fills its nodes.
func TestAppendFillsNodes(t *testing.T) {
	t.Parallel()
	doc := state.Document{}
	for range 10 * state.Fanout {
		doc = apply(t, doc, state.Patch{state.Append("/log", state.Null())})
	}
	log, _ := doc.Get("/log")
	if n := state.Leaves(log); n != 10 {
		t.Errorf("%d elements in %d leaves; want 10", log.Len(), n)
	}
}

// A leaf that two arrays share at different indexes does not make them equal.
func TestEqualOfShiftedLeaves(t *testing.T) {
	t.Parallel()
	const leaf = state.Fanout * 3 / 4
	list := slices.Repeat([]int{0}, leaf)
	for i := range leaf - 1 {
		list = append(list, i)
	}
	list = append(list, slices.Repeat([]int{7}, leaf+1)...)
	v, err := state.ValueOf(list)
	if err != nil || state.Leaves(v) != 3 {
		t.Fatalf("%d leaves, %v", state.Leaves(v), err)
	}
	doc := apply(t, state.Document{}, state.Patch{state.Set("/l", v)})
	moved := apply(t, doc, state.Patch{
		state.Insert("/l/0", state.Int(0)),
		state.Delete(state.At("l", strconv.Itoa(3*leaf))),
	})
	if doc.Equal(moved) {
		t.Error("arrays are equal though one is shifted")
	}
	if !moved.Equal(parse(t, moved.String())) {
		t.Error("array does not equal itself read again")
	}
}

// Every size around the limits of a node parses into a sound tree.
func TestParseSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 31, 32, 33, 64, 65, 1023, 1024, 1025, 33000} {
		v := numbers(t, n)
		if err := state.CheckValue(v); err != nil || v.Len() != n {
			t.Errorf("%d members: %v", n, err)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			if got, ok := v.Field(fmt.Sprintf("key%06d", i)); i >= 0 && i < n && (!ok || !got.Equal(state.Int(int64(i)))) {
				t.Errorf("%d members: member %d = %v, %v", n, i, got, ok)
			}
		}
		if _, ok := v.Field("kez"); ok {
			t.Errorf("%d members: found one that is not there", n)
		}
	}
}

// Parsing and encoding is exact on what encoding produces, and order of keys in
// the source does not matter.
func TestParseEncodeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		text := v.String()
		again, err := state.ParseValue([]byte(text))
		if err != nil || again.String() != text || !again.Equal(v) {
			t.Fatalf("%s became %v, %v", text, again, err)
		}
		if err := state.CheckValue(again); err != nil {
			t.Fatal(err)
		}
	})
}
