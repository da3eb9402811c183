package state

import "slices"

// fanout is the most entries a node holds.
const fanout = 32

// node is a persistent B+ tree holding the content of one container: a sequence
// of items that, in an object, is sorted by its keys. Containers of up to
// [fanout] items are a single leaf. All leaves are at the same depth and none is
// empty; an empty container has no node at all.
//
// A node may be changed only under the edit that made it, and only until that
// edit is over; to everybody else it is immutable.
type node struct {
	owner *edit
	count int      // items in this subtree
	bytes int      // their encoded size with keys, colons and one comma each
	keys  []string // objects: key of each item, or a lower bound of each kid's keys
	items []Value  // leaves
	kids  []*node  // inner nodes
}

// edit is the identity of one change in progress. It must not be of size zero:
// only then does every edit have its own address.
type edit struct{ _ byte }

// place is where in a container an item is: by key in an object, by index in an
// array.
type place struct {
	key   string
	index int
}

// newNode returns a tree of the items, which it copies. Keys is nil for an
// array, and else sorted.
func newNode(keys []string, items []Value) *node {
	if len(items) == 0 {
		return nil
	}
	var level []*node
	for part := range evenly(len(items)) {
		leaf := &node{items: slices.Clone(items[part.from:part.to])}
		if keys != nil {
			leaf.keys = slices.Clone(keys[part.from:part.to])
		}
		leaf.measure()
		level = append(level, leaf)
	}
	for len(level) > 1 {
		var above []*node
		for part := range evenly(len(level)) {
			above = append(above, newInner(slices.Clone(level[part.from:part.to])))
		}
		level = above
	}
	return level[0]
}

func newInner(kids []*node) *node {
	n := &node{kids: kids}
	if kids[0].keys != nil {
		n.keys = make([]string, len(kids))
		for i, kid := range kids {
			n.keys[i] = kid.keys[0]
		}
	}
	n.measure()
	return n
}

type span struct{ from, to int }

// evenly cuts n entries into as few parts as fit into nodes.
func evenly(n int) func(yield func(span) bool) {
	parts := (n + fanout - 1) / fanout
	return func(yield func(span) bool) {
		for i := range parts {
			if !yield(span{i * n / parts, (i + 1) * n / parts}) {
				return
			}
		}
	}
}

// measure sets count and bytes from the entries.
func (n *node) measure() {
	n.count, n.bytes = len(n.items), 0
	for i := range n.items {
		n.bytes += n.cost(i)
	}
	for _, kid := range n.kids {
		n.count += kid.count
		n.bytes += kid.bytes
	}
}

// cost is what item i of a leaf adds to bytes.
func (n *node) cost(i int) int {
	size := n.items[i].size() + len(",")
	if n.keys != nil {
		size += len(n.keys[i]) + len(`"":`)
	}
	return size
}

// len is the number of entries of this node alone.
func (n *node) len() int {
	if n.kids != nil {
		return len(n.kids)
	}
	return len(n.items)
}

// find returns the item of a key.
func (n *node) find(key string) (Value, bool) {
	if n == nil {
		return Value{}, false
	}
	for n.kids != nil {
		n = n.kids[n.kidOf(key)]
	}
	i, ok := slices.BinarySearch(n.keys, key)
	if !ok {
		return Value{}, false
	}
	return n.items[i], true
}

// kidOf returns the only kid that can hold the key.
func (n *node) kidOf(key string) int {
	i, ok := slices.BinarySearch(n.keys, key)
	if !ok && i > 0 {
		i--
	}
	return i
}

// at returns item i, which must exist.
func (n *node) at(i int) Value {
	for n.kids != nil {
		kid, p := n.step(place{index: i})
		n, i = n.kids[kid], p.index
	}
	return n.items[i]
}

// step returns the kid a place is in, and the place within it. An index just
// past the end is in the last kid.
func (n *node) step(p place) (int, place) {
	if n.keys != nil {
		return n.kidOf(p.key), p
	}
	for i, kid := range n.kids[:len(n.kids)-1] {
		if p.index < kid.count {
			return i, p
		}
		p.index -= kid.count
	}
	return len(n.kids) - 1, p
}

// slot returns the position of a place in a leaf.
func (n *node) slot(p place) int {
	if n.keys != nil {
		i, _ := slices.BinarySearch(n.keys, p.key)
		return i
	}
	return p.index
}

// each calls yield for every item in order until it returns false, and reports
// whether it never did.
func (n *node) each(yield func(leaf *node, i int) bool) bool {
	if n == nil {
		return true
	}
	for i := range n.items {
		if !yield(n, i) {
			return false
		}
	}
	for _, kid := range n.kids {
		if !kid.each(yield) {
			return false
		}
	}
	return true
}

// leaves appends the leaves of the tree, in order.
func (n *node) leaves(dst []*node) []*node {
	if n == nil {
		return dst
	}
	if n.kids == nil {
		return append(dst, n)
	}
	for _, kid := range n.kids {
		dst = kid.leaves(dst)
	}
	return dst
}
