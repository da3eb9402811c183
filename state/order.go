package state

import (
	"cmp"
	"strings"
)

// compareValues is a total order of JSON values in which exactly equal values,
// in the sense of [Value.Equal], are level: by type in the order of the kinds,
// false before true, numbers by exact value, strings by their bytes, arrays and
// objects by their first difference, the shorter of two that have none first.
func compareValues(v, w Value) int {
	if c := cmp.Compare(v.kind, w.kind); c != 0 {
		return c
	}
	switch v.kind {
	case KindNumber:
		return compareNumbers(v.text, w.text)
	case KindArray, KindObject:
		return compareContainers(v.node, w.node)
	}
	return strings.Compare(v.text, w.text) // "false" is before "true"
}

func compareContainers(n, m *node) int {
	if n == m {
		return 0
	}
	x, y := newCursor(n), newCursor(m)
	for ; x.more() && y.more(); x.step() {
		if c := strings.Compare(x.key(), y.key()); c != 0 {
			return c
		}
		if c := compareValues(x.item(), y.item()); c != 0 {
			return c
		}
		y.step()
	}
	return cmp.Compare(x.left, y.left)
}

// identical reports whether values are the same without a look into containers.
func (v Value) identical(w Value) bool {
	return v.kind == w.kind && v.text == w.text && v.node == w.node
}

// compareSpelling orders equal values by how they are written: the shorter
// encoding first, then by its bytes. It makes the choice between 1 and 1.0 the
// same in every process.
func compareSpelling(v, w Value) int {
	if v.identical(w) {
		return 0
	}
	a, b := v.String(), w.String()
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}
