package state_test

import (
	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

var lattices = []state.Lattice{
	state.LatticeFlag, state.LatticeMax, state.LatticeMin, state.LatticeCounter, state.LatticeSet,
	state.LatticeRegister, state.LatticeORSet, state.LatticeORMap,
}

// genForm draws a value in the form of a lattice. OR-maps have OR-maps in them at
// most depth deep.
func genForm(l state.Lattice, depth int) *rapid.Generator[state.Value] {
	return rapid.Custom(func(t *rapid.T) state.Value { return drawForm(t, l, depth) })
}

func drawForm(t *rapid.T, l state.Lattice, depth int) state.Value {
	switch l {
	case state.LatticeFlag:
		return state.Bool(rapid.Bool().Draw(t, "flag"))
	case state.LatticeMax, state.LatticeMin:
		return drawNumber(t)
	case state.LatticeSet:
		return state.GrowSet(rapid.SliceOfN(genValue(1), 0, 5).Draw(t, "elements")...)
	case state.LatticeRegister:
		return object(t, "clock", drawClock(t), "value", genValue(1).Draw(t, "value"))
	}
	var members []any
	for _, key := range rapid.SliceOfNDistinct(genToken(), 0, 4, rapid.ID).Draw(t, "keys") {
		switch l {
		case state.LatticeCounter:
			members = append(members, key, drawClock(t))
		case state.LatticeORSet:
			members = append(members, key, drawEntry(t, nil))
		default:
			members = append(members, key, drawMapEntry(t, depth))
		}
	}
	return object(t, members...)
}

// drawNumber draws from few numbers with several spellings each.
func drawNumber(t *rapid.T) state.Value {
	text := rapid.SampledFrom([]string{
		"0", "-0", "1", "1.0", "10e-1", "9007199254740992", "9007199254740993", "1e400", "10e399", "-1e400", "0.5",
	}).Draw(t, "number")
	return value(t, text)
}

func drawClock(t *rapid.T) state.Value {
	return value(t, rapid.SampledFrom([]string{"0", "0.0", "1", "1.0", "2", "3", "30e-1", "9223372036854775807"}).Draw(t, "clock"))
}

// drawEntry draws what an OR-set has for a text, with more members if it has the
// clock of an addition.
func drawEntry(t *rapid.T, more []any) state.Value {
	has := rapid.IntRange(1, 3).Draw(t, "clocks")
	var members []any
	if has&1 != 0 {
		members = append(more, "added", drawClock(t))
	}
	if has&2 != 0 {
		members = append(members, "removed", drawClock(t))
	}
	return object(t, members...)
}

func drawMapEntry(t *rapid.T, depth int) state.Value {
	among := lattices
	if depth == 0 {
		among = lattices[:len(lattices)-1]
	}
	l := rapid.SampledFrom(among).Draw(t, "lattice")
	return drawEntry(t, []any{"lattice", state.String(string(l)), "value", drawForm(t, l, depth-1)})
}

// object makes an object of keys and values in turn.
func object(t tb, members ...any) state.Value {
	t.Helper()
	m := make(map[string]any, len(members)/2)
	for i := 0; i < len(members); i += 2 {
		m[members[i].(string)] = members[i+1]
	}
	v, err := state.ValueOf(m)
	if err != nil {
		t.Fatalf("object: %v", err)
	}
	return v
}
