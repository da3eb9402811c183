package state

import "slices"

// own returns the node itself if the edit made it, else a copy that belongs to
// the edit, with room for one more entry.
func (n *node) own(e *edit) *node {
	if n.owner == e {
		return n
	}
	c := &node{owner: e, count: n.count, bytes: n.bytes}
	if n.keys != nil {
		c.keys = append(make([]string, 0, len(n.keys)+1), n.keys...)
	}
	if n.kids != nil {
		c.kids = append(make([]*node, 0, len(n.kids)+1), n.kids...)
	} else {
		c.items = append(make([]Value, 0, len(n.items)+1), n.items...)
	}
	return c
}

// replace puts v in the place of an item that exists and had the size before.
// The item cannot tell: v may be the same node, changed in place.
func (n *node) replace(e *edit, p place, v Value, before int) *node {
	n = n.own(e)
	n.bytes += v.size() - before
	if n.kids == nil {
		n.items[n.slot(p)] = v
		return n
	}
	i, p := n.step(p)
	n.kids[i] = n.kids[i].replace(e, p, v, before)
	return n
}

// insert adds v at a place: under a key that is not there yet, or before the
// element that has the index. A second node, if any, follows the first.
func (n *node) insert(e *edit, p place, v Value) (*node, *node) {
	n = n.own(e)
	n.count++
	if n.kids == nil {
		i := n.slot(p)
		n.items = slices.Insert(n.items, i, v)
		if n.keys != nil {
			n.keys = slices.Insert(n.keys, i, p.key)
		}
		n.bytes += n.cost(i)
		return n, n.split(e, i)
	}
	i, p := n.step(p)
	before := n.kids[i].bytes
	kid, next := n.kids[i].insert(e, p, v)
	n.kids[i] = kid
	n.bytes += kid.bytes - before
	if n.keys != nil {
		n.keys[i] = min(n.keys[i], p.key)
	}
	if next == nil {
		return n, nil
	}
	n.bytes += next.bytes
	n.kids = slices.Insert(n.kids, i+1, next)
	if n.keys != nil {
		n.keys = slices.Insert(n.keys, i+1, next.keys[0])
	}
	return n, n.split(e, i+1)
}

// split moves entries of an overfull node to a new one and returns that. When
// the newest entry is the last, only that one moves, so that appending fills
// nodes completely.
func (n *node) split(e *edit, newest int) *node {
	if n.len() <= fanout {
		return nil
	}
	at := n.len() / 2
	if newest == n.len()-1 {
		at = newest
	}
	next := &node{owner: e}
	next.keys, n.keys = cut(n.keys, at)
	next.items, n.items = cut(n.items, at)
	next.kids, n.kids = cut(n.kids, at)
	next.measure()
	n.count -= next.count
	n.bytes -= next.bytes
	return next
}

// cut divides a slice; the head is cleared behind its end to free what moved.
func cut[T any](s []T, at int) (tail, head []T) {
	if s == nil {
		return nil, nil
	}
	tail = slices.Clone(s[at:])
	clear(s[at:])
	return tail, s[:at]
}

// remove takes an item that exists out of the tree, and returns nil when it was
// the last.
func (n *node) remove(e *edit, p place) *node {
	if n.count == 1 {
		return nil
	}
	n = n.own(e)
	n.count--
	if n.kids == nil {
		i := n.slot(p)
		n.bytes -= n.cost(i)
		n.items = slices.Delete(n.items, i, i+1)
		n.dropKey(i)
		return n
	}
	i, p := n.step(p)
	n.bytes -= n.kids[i].bytes
	kid := n.kids[i].remove(e, p)
	if kid == nil {
		n.kids = slices.Delete(n.kids, i, i+1)
		n.dropKey(i)
		return n
	}
	n.kids[i] = kid
	n.bytes += kid.bytes
	n.mergeAround(e, i)
	return n
}

func (n *node) dropKey(i int) {
	if n.keys != nil {
		n.keys = slices.Delete(n.keys, i, i+1)
	}
}

// mergeAround joins kid i with a neighbour when both fit well into one node.
func (n *node) mergeAround(e *edit, i int) {
	if i == len(n.kids)-1 {
		i--
	}
	if i < 0 || n.kids[i].len()+n.kids[i+1].len() > fanout/2 {
		return
	}
	left, right := n.kids[i].own(e), n.kids[i+1]
	left.count += right.count
	left.bytes += right.bytes
	left.keys = append(left.keys, right.keys...)
	left.items = append(left.items, right.items...)
	left.kids = append(left.kids, right.kids...)
	n.kids[i] = left
	n.kids = slices.Delete(n.kids, i+1, i+2)
	n.dropKey(i + 1)
}

// with returns the container with an item in place of the one at p, which had
// the size before.
func (v Value) with(e *edit, p place, item Value, before int) Value {
	v.node = v.node.replace(e, p, item, before)
	return v
}

// adding returns the container with an item more.
func (v Value) adding(e *edit, p place, item Value) Value {
	if v.node == nil {
		leaf := &node{owner: e, items: []Value{item}}
		if v.kind == KindObject {
			leaf.keys = []string{p.key}
		}
		leaf.measure()
		v.node = leaf
		return v
	}
	n, next := v.node.insert(e, p, item)
	if next != nil {
		n = newInner([]*node{n, next})
		n.owner = e
	}
	v.node = n
	return v
}

// putting returns the object with a member set. The item must not be the member
// that is there, changed in place.
func (v Value) putting(e *edit, key string, item Value) Value {
	if old, ok := v.node.find(key); ok {
		return v.with(e, place{key: key}, item, old.size())
	}
	return v.adding(e, place{key: key}, item)
}

// without returns the container without what is at p.
func (v Value) without(e *edit, p place) Value {
	n := v.node.remove(e, p)
	for n != nil && len(n.kids) == 1 {
		n = n.kids[0]
	}
	v.node = n
	return v
}
