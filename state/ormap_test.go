package state_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/selvagehq/selvage/state"
)

func orMap(t tb, v state.Value) state.ORMap {
	t.Helper()
	m, err := state.ORMapOf(v)
	if err != nil {
		t.Fatalf("ORMapOf(%v): %v", v, err)
	}
	return m
}

func put(t tb, m state.ORMap, key string, l state.Lattice, text string) state.ORMap {
	t.Helper()
	m, err := m.Put(key, l, value(t, text))
	if err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
	return m
}

func TestORMap(t *testing.T) {
	t.Parallel()
	base := put(t, state.ORMap{}, "hits", state.LatticeCounter, `{"a":1}`)
	left := put(t, orMap(t, base.Value()), "hits", state.LatticeCounter, `{"a":2}`)
	right, err := orMap(t, base.Value()).Remove("hits", "nobody")
	if err != nil || right.Keys() != nil || right.Delta().String() != `{"hits":{"removed":2}}` {
		t.Fatalf("Remove = %v, %v", right.Delta(), err)
	}
	both := orMap(t, join(t, state.LatticeORMap, left.Value(), right.Value()))
	if v, ok := both.Get("hits"); !ok || v.String() != `{"a":2}` {
		t.Errorf("put and removed at once = %v, %v; want the put to win", v, ok)
	}

	if v, ok := right.Get("hits"); ok || !v.IsNull() || right.Lattice("hits") != state.LatticeCounter {
		t.Errorf("removed key = %v, %v, %q", v, ok, right.Lattice("hits"))
	}
	back := put(t, orMap(t, right.Value()), "hits", state.LatticeCounter, `{"b":5}`)
	if v, ok := back.Get("hits"); !ok || v.String() != `{"a":1,"b":5}` {
		t.Errorf("key that came back = %v, %v; want what it had too", v, ok)
	}

	inner := put(t, state.ORMap{}, "é~/", state.LatticeRegister, `{"clock":1,"value":9007199254740993}`)
	outer := put(t, both, "inner", state.LatticeORMap, inner.Delta().String())
	doc := apply(t, state.Document{}, state.Patch{state.Join("/m", state.LatticeORMap, outer.Delta())})
	v, _ := parse(t, doc.String()).Get("/m")
	got, _ := orMap(t, v).Get("inner")
	got, _ = orMap(t, got).Get("é~/")
	if r, err := state.RegisterOf(got); err != nil {
		t.Error(err)
	} else if v, ok := r.Get(); !ok || v.String() != "9007199254740993" {
		t.Errorf("nested register = %v, %v", v, ok)
	}
	if keys := outer.Keys(); !slices.Equal(keys, []string{"hits", "inner"}) {
		t.Errorf("Keys = %q", keys)
	}
}

func TestORMapFailures(t *testing.T) {
	t.Parallel()
	m := put(t, state.ORMap{}, "a", state.LatticeMax, `1`)
	if next, err := m.Put("a", state.LatticeMin, state.Int(1)); !errors.Is(err, state.ErrTypeMismatch) || next.Value().String() != m.Value().String() {
		t.Errorf("Put of another lattice = %v", err)
	}
	if _, err := m.Put("b", state.LatticeMax, state.Bool(true)); !errors.Is(err, state.ErrTypeMismatch) {
		t.Errorf("Put of another form = %v", err)
	}
	if _, err := m.Put("b", "gset", state.Bool(true)); !errors.Is(err, state.ErrUnknownLattice) {
		t.Errorf("Put of an unknown lattice = %v", err)
	}
	if _, err := state.ORMapOf(state.Bool(true)); !errors.Is(err, state.ErrTypeMismatch) {
		t.Errorf("ORMapOf(true) = %v", err)
	}
	last := orMap(t, object(t, "b", object(t, "removed", state.Int(math.MaxInt64))))
	if _, err := last.Put("a", state.LatticeMax, state.Int(1)); !errors.Is(err, state.ErrOverflow) {
		t.Errorf("Put after the last clock = %v", err)
	}
	last = orMap(t, value(t, `{"b":{"added":9223372036854775807,"lattice":"flag","value":true}}`))
	if next, err := last.Remove("b"); !errors.Is(err, state.ErrOverflow) || len(next.Keys()) != 1 {
		t.Errorf("Remove after the last clock = %v", err)
	}
	var empty state.ORMap
	if empty.Keys() != nil || empty.Lattice("a") != "" || empty.Value().String() != `{}` || empty.Delta().String() != `{}` {
		t.Errorf("the zero map is %v", empty.Value())
	}
}
