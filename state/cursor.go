package state

// cursor walks over the items of a container in order.
type cursor struct {
	leaves []*node
	at     int // in the first leaf
	left   int // items not walked over
}

func newCursor(n *node) *cursor {
	c := &cursor{leaves: n.leaves(nil)}
	if n != nil {
		c.left = n.count
	}
	return c
}

func (c *cursor) more() bool  { return c.left > 0 }
func (c *cursor) item() Value { return c.leaves[0].items[c.at] }

// key is "" in an array.
func (c *cursor) key() string {
	if c.leaves[0].keys == nil {
		return ""
	}
	return c.leaves[0].keys[c.at]
}

func (c *cursor) step() {
	c.left--
	if c.at++; c.at == len(c.leaves[0].items) {
		c.leaves, c.at = c.leaves[1:], 0
	}
}

// onSameLeaf reports whether two cursors are at the beginning of a leaf that
// their containers share.
func (c *cursor) onSameLeaf(d *cursor) bool {
	return c.left > 0 && d.left > 0 && c.at == 0 && d.at == 0 && c.leaves[0] == d.leaves[0]
}

// skipLeaf goes to the next leaf and returns how many items that was.
func (c *cursor) skipLeaf() int {
	count := len(c.leaves[0].items) - c.at
	c.leaves, c.at = c.leaves[1:], 0
	c.left -= count
	return count
}
