package state

import (
	"errors"
	"fmt"
)

// Check reports the first broken invariant of the tree a document is made of.
func Check(d Document) error { return checkContainer(d.Root()) }

// CheckValue is [Check] for a value.
func CheckValue(v Value) error { return checkContainer(v) }

// Leaves is how many leaves the tree of a container has.
func Leaves(v Value) int { return len(v.node.leaves(nil)) }

// CompareNumbers gives tests access to compareNumbers.
func CompareNumbers(a, b string) int { return compareNumbers(a, b) }

// AddNumbers gives tests access to addNumbers.
func AddNumbers(a, b string) (string, error) { return addNumbers(a, b) }

// Fanout gives tests access to fanout.
const Fanout = fanout

func checkContainer(v Value) error {
	if v.kind < KindArray {
		if v.node != nil {
			return errors.New("a scalar has a node")
		}
		return nil
	}
	if v.node == nil {
		return nil
	}
	if len(v.node.kids) == 1 {
		return errors.New("the root has a single kid")
	}
	last := ""
	_, err := v.node.check(v.kind == KindObject, &last)
	return err
}

// check returns the height of the node.
func (n *node) check(keyed bool, last *string) (int, error) {
	fresh := &node{keys: n.keys, items: n.items, kids: n.kids}
	fresh.measure()
	switch {
	case n.len() == 0 || n.len() > fanout:
		return 0, fmt.Errorf("node has %d entries", n.len())
	case (n.kids != nil) == (n.items != nil):
		return 0, errors.New("node is neither leaf nor inner")
	case keyed && len(n.keys) != n.len() || !keyed && n.keys != nil:
		return 0, fmt.Errorf("node has %d keys for %d entries", len(n.keys), n.len())
	case fresh.count != n.count || fresh.bytes != n.bytes:
		return 0, fmt.Errorf("node says %d items, %d bytes; has %d and %d", n.count, n.bytes, fresh.count, fresh.bytes)
	}
	for i, item := range n.items {
		if keyed {
			if n.keys[i] <= *last && *last != "" {
				return 0, fmt.Errorf("key %q after %q", n.keys[i], *last)
			}
			*last = n.keys[i]
		}
		if err := checkContainer(item); err != nil {
			return 0, err
		}
	}
	height := 0
	for i, kid := range n.kids {
		if keyed && *last != "" && n.keys[i] <= *last {
			return 0, fmt.Errorf("bound %q is not above %q", n.keys[i], *last)
		}
		if keyed && kid.firstKey() < n.keys[i] {
			return 0, fmt.Errorf("bound %q above %q", n.keys[i], kid.firstKey())
		}
		h, err := kid.check(keyed, last)
		if err != nil {
			return 0, err
		}
		if i > 0 && h != height {
			return 0, errors.New("leaves at different depths")
		}
		height = h
	}
	return height + 1, nil
}

func (n *node) firstKey() string {
	for n.kids != nil {
		n = n.kids[0]
	}
	return n.keys[0]
}

// CommonRuns gives tests access to commonRuns: where runs begin on either side,
// and their lengths. It reports false if the search was given up.
func CommonRuns(a, b []int) ([][3]int, bool) {
	found := commonRuns(a, b)
	var runs [][3]int
	for _, r := range found {
		runs = append(runs, [3]int{r.a, r.b, r.length})
	}
	return runs, found != nil || len(a)+len(b) <= diffEditsMax
}
