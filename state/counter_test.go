package state_test

import (
	"errors"
	"math"
	"testing"

	"github.com/selvagehq/selvage/state"
)

func TestCounter(t *testing.T) {
	t.Parallel()
	c, err := state.CounterOf(value(t, `{"a":9007199254740993,"b":1e0}`))
	if err != nil {
		t.Fatal(err)
	}
	total := func(want int64) {
		t.Helper()
		if got, err := c.Total(); got != want || err != nil {
			t.Errorf("Total of %v = %d, %v; want %d", c.Value(), got, err, want)
		}
	}
	total(9007199254740994)
	for _, n := range []int64{2, 0, 3} {
		if c, err = c.Add("b", n); err != nil {
			t.Fatal(err)
		}
	}
	total(9007199254740999)
	if got := c.Delta().String(); got != `{"b":6}` || c.Node("b") != 6 || c.Node("nobody") != 0 {
		t.Errorf("Delta = %s", got)
	}
	if _, err := c.Add("b", -1); !errors.Is(err, state.ErrTypeMismatch) {
		t.Errorf("Add(-1) = %v", err)
	}
	if _, err := c.Add("b", math.MaxInt64); !errors.Is(err, state.ErrOverflow) {
		t.Errorf("Add beyond 64 bits = %v", err)
	}
	if c, err = c.Add("c", math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Total(); !errors.Is(err, state.ErrOverflow) {
		t.Errorf("Total beyond 64 bits = %d, %v", got, err)
	}
	if _, err := state.CounterOf(state.Int(1)); !errors.Is(err, state.ErrTypeMismatch) {
		t.Errorf("CounterOf(1) = %v", err)
	}
	var empty state.Counter
	if n, err := empty.Total(); n != 0 || err != nil || empty.Value().String() != `{}` || empty.Delta().String() != `{}` {
		t.Errorf("the zero counter is %v", empty.Value())
	}
}

// Two branches count from the same document; each node's greater count is kept.
func TestCounterBranches(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"hits":{"a":1,"b":1}}`)
	branch := func(node string, n int64) state.Op {
		hits, _ := doc.Get("/hits")
		c, err := state.CounterOf(hits)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = c.Add(node, n); err != nil {
			t.Fatal(err)
		}
		return state.Join("/hits", state.LatticeCounter, c.Delta())
	}
	left, right := branch("a", 2), branch("b", 5)
	for _, p := range []state.Patch{{left, right}, {right, left, left}} {
		if got := apply(t, doc, p).String(); got != `{"hits":{"a":3,"b":6}}` {
			t.Errorf("%v leads to %s", p, got)
		}
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	r, err := state.RegisterOf(state.Null())
	if v, ok := r.Get(); ok || err != nil || !v.IsNull() || !r.Value().IsNull() {
		t.Errorf("empty register = %v, %v, %v", v, ok, err)
	}
	if r, err = r.Set(state.Null()); err != nil || r.Value().String() != `{"clock":1,"value":null}` {
		t.Errorf("Set = %v, %v", r.Value(), err)
	}
	r, err = state.RegisterOf(value(t, `{"clock":41,"value":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if r, err = r.Set(state.Int(0)); err != nil || r.Value().String() != `{"clock":42,"value":0}` {
		t.Errorf("Set = %v, %v", r.Value(), err)
	}
	if _, err := state.RegisterOf(state.Int(1)); !errors.Is(err, state.ErrTypeMismatch) {
		t.Errorf("RegisterOf(1) = %v", err)
	}
	r, _ = state.RegisterOf(value(t, `{"clock":9223372036854775807,"value":1}`))
	if _, err := r.Set(state.Int(0)); !errors.Is(err, state.ErrOverflow) {
		t.Errorf("Set after the last clock = %v", err)
	}
}

func TestGrowSet(t *testing.T) {
	t.Parallel()
	got := state.GrowSet(value(t, `"b"`), value(t, `1.0`), value(t, `{}`), value(t, `1`), value(t, `null`), value(t, `"a"`), value(t, `[true,false]`))
	if got.String() != `[null,1,"a","b",[true,false],{}]` {
		t.Errorf("GrowSet = %v", got)
	}
	if err := state.LatticeSet.Check(got); err != nil {
		t.Error(err)
	}
}
