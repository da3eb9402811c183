package state

// Equal reports whether two values are the same JSON value. Numbers are equal
// when their exact values are: 1, 1.0 and 10e-1 are, 9007199254740992 and
// 9007199254740993 are not.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case KindNull:
		return true
	case KindNumber:
		return compareNumbers(v.text, w.text) == 0
	case KindArray, KindObject:
		return v.node.equal(w.node)
	}
	return v.text == w.text
}

// equal compares two trees, whose items may be spread differently over their
// leaves. What they share is not looked at.
func (n *node) equal(m *node) bool {
	if n == m {
		return true
	}
	if n == nil || m == nil || n.count != m.count {
		return false
	}
	left, right := n.leaves(nil), m.leaves(nil)
	i, j := 0, 0 // position in the first leaf of each
	for len(left) > 0 {
		a, b := left[0], right[0]
		common := min(len(a.items)-i, len(b.items)-j)
		if (a != b || i != j) && !equalItems(a, b, i, j, common) {
			return false
		}
		if i += common; i == len(a.items) {
			left, i = left[1:], 0
		}
		if j += common; j == len(b.items) {
			right, j = right[1:], 0
		}
	}
	return true
}

// equalItems compares count items of two leaves, from i and from j on.
func equalItems(a, b *node, i, j, count int) bool {
	for k := range count {
		if a.keys != nil && a.keys[i+k] != b.keys[j+k] {
			return false
		}
		if !a.items[i+k].Equal(b.items[j+k]) {
			return false
		}
	}
	return true
}
