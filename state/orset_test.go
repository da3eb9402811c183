package state_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

func orSet(t tb, v state.Value) state.ORSet {
	t.Helper()
	s, err := state.ORSetOf(v)
	if err != nil {
		t.Fatalf("ORSetOf(%v): %v", v, err)
	}
	return s
}

// A set that was written out and read again goes on after every clock in it, so
// what it does next prevails.
func TestORSetClockAfterReload(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"tags":{"a":{"added":3,"removed":9},"b":{"added":7}}}`)
	tags, _ := doc.Get("/tags")
	s, err := orSet(t, tags).Add("a")
	if err != nil || s.Delta().String() != `{"a":{"added":10}}` {
		t.Fatalf("Add = %v, %v; want a clock of 10", s.Delta(), err)
	}
	if s, err = s.Remove("b", "nobody"); err != nil || s.Delta().String() != `{"a":{"added":10},"b":{"removed":11}}` {
		t.Fatalf("Remove = %v, %v; want a clock of 11 for b alone", s.Delta(), err)
	}
	doc = apply(t, doc, state.Patch{state.Join("/tags", state.LatticeORSet, s.Delta())})
	tags, _ = doc.Get("/tags")
	if again := orSet(t, tags); again.Value().String() != s.Value().String() || !slices.Equal(again.Elements(), []string{"a"}) {
		t.Errorf("document has %v; the set %v", again.Value(), s.Value())
	}
}

func TestORSetAddWins(t *testing.T) {
	t.Parallel()
	base, _ := orSet(t, state.Null()).Add("a", "\xff/~")
	adds, err := orSet(t, base.Value()).Add("a")
	if err != nil {
		t.Fatal(err)
	}
	removes, err := orSet(t, base.Value()).Remove("a", "\xff/~")
	if err != nil {
		t.Fatal(err)
	}
	joined := orSet(t, join(t, state.LatticeORSet, adds.Value(), removes.Value()))
	if !joined.Has("a") || joined.Has("\xff/~") || !base.Has("\uFFFD/~") {
		t.Errorf("joined = %v", joined.Value())
	}
}

func TestORSetLimits(t *testing.T) {
	t.Parallel()
	var empty state.ORSet
	if empty.Has("a") || empty.Elements() != nil || empty.Delta().String() != `{}` || empty.Value().String() != `{}` {
		t.Errorf("the zero set is %v, %v", empty.Value(), empty.Delta())
	}
	if s, err := empty.Remove("a"); err != nil || s.Delta().Len() != 0 {
		t.Errorf("Remove of nothing = %v, %v", s.Delta(), err)
	}
	if _, err := state.ORSetOf(state.Int(1)); !errors.Is(err, state.ErrTypeMismatch) {
		t.Errorf("ORSetOf(1) = %v", err)
	}
	last := orSet(t, object(t, "a", object(t, "added", state.Int(math.MaxInt64))))
	if s, err := last.Remove("a"); !errors.Is(err, state.ErrOverflow) || !s.Has("a") {
		t.Errorf("Remove after the last clock = %v, %v", s.Value(), err)
	}
}

// Replicas that change their own copy and join those of others behave like sets
// as far as each can see, and agree in the end.
func TestORSetAgreesWithModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var replicas [3]state.Value
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			i := rapid.IntRange(0, 2).Draw(t, "replica")
			s := orSet(t, replicas[i])
			model := make(map[string]bool)
			for _, text := range s.Elements() {
				model[text] = true
			}
			for range rapid.IntRange(1, 3).Draw(t, "changes") {
				text := genToken().Draw(t, "text")
				var err error
				if model[text] = rapid.Bool().Draw(t, "add"); model[text] {
					s, err = s.Add(text)
				} else {
					s, err = s.Remove(text)
				}
				if err != nil || s.Has(text) != model[text] {
					t.Fatalf("after add %v of %q: %v, %v", model[text], text, s.Value(), err)
				}
			}
			next := join(t, state.LatticeORSet, state.ORSet{}.Value(), s.Delta())
			if replicas[i].Kind() == state.KindObject {
				next = join(t, state.LatticeORSet, replicas[i], s.Delta())
			}
			if next.String() != s.Value().String() {
				t.Fatalf("the delta leads to %v, not %v", next, s.Value())
			}
			for text, want := range model {
				if orSet(t, next).Has(text) != want {
					t.Fatalf("%q: %v; want %v", text, next, want)
				}
			}
			replicas[i] = next
			if rapid.Bool().Draw(t, "meet") {
				replicas[(i+1)%3] = join(t, state.LatticeORSet, orSet(t, replicas[(i+1)%3]).Value(), next)
			}
		}
		a, b := state.ORSet{}.Value(), state.ORSet{}.Value()
		for i := range replicas {
			a = join(t, state.LatticeORSet, a, orSet(t, replicas[i]).Value())
			b = join(t, state.LatticeORSet, orSet(t, replicas[2-i]).Value(), b)
		}
		if a.String() != b.String() {
			t.Fatalf("replicas disagree: %v, %v", a, b)
		}
	})
}
