package state

// Counter is a value of [LatticeCounter] being read and added to. It is
// immutable; the zero Counter is empty.
type Counter struct{ all, delta Value }

// CounterOf reads a counter. A null, which [Document.Get] returns where there is
// nothing, is the empty one; other errors are those of [Lattice.Check].
func CounterOf(v Value) (Counter, error) {
	v = asObject(v)
	if err := LatticeCounter.Check(v); err != nil {
		return Counter{}, err
	}
	return Counter{all: v}, nil
}

// Node returns how much a node has added.
func (c Counter) Node(node string) int64 {
	return max(0, clockOf(c.all, validText(node)))
}

// Total returns the sum over all nodes. It is [ErrOverflow] if that is no int64.
func (c Counter) Total() (int64, error) {
	var total int64
	for _, count := range c.all.Members() {
		n, _ := count.Int64()
		if total += n; total < 0 {
			return 0, failf(ErrOverflow, "the counts add up to more than 64 bits")
		}
	}
	return total, nil
}

// Add returns the counter after a node added n. A negative n is
// [ErrTypeMismatch], a count beyond 64 bits [ErrOverflow].
func (c Counter) Add(node string, n int64) (Counter, error) {
	node = validText(node)
	if n < 0 {
		return c, failf(ErrTypeMismatch, "a counter only grows, %q adds %d", node, n)
	}
	count := c.Node(node) + n
	if count < 0 {
		return c, failf(ErrOverflow, "the count of %q is beyond 64 bits", node)
	}
	c.all = objectWith(c.all, node, Int(count))
	c.delta = objectWith(c.delta, node, Int(count))
	return c, nil
}

// Value returns the whole counter.
func (c Counter) Value() Value { return asObject(c.all) }

// Delta returns what was added since [CounterOf], as the value of a [Join].
func (c Counter) Delta() Value { return asObject(c.delta) }
