package state

import "slices"

// GrowSet returns the values as a value of [LatticeSet]: in order, each once.
// Give it what is to be added, and the result to [Join].
func GrowSet(values ...Value) Value {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, func(v, w Value) int {
		if c := compareValues(v, w); c != 0 {
			return c
		}
		return compareSpelling(v, w)
	})
	sorted = slices.CompactFunc(sorted, Value.Equal)
	return Value{kind: KindArray, node: newNode(nil, sorted)}
}
