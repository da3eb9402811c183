package state

import "slices"

// Bounds of the search for a common subsequence: how many elements may be
// missing from it, at least and at most, and about how many steps it may take.
const (
	diffEditsMin = 32
	diffEditsMax = 1024
	diffSteps    = 1 << 24
)

// hunks returns where two arrays differ, in order.
func (d *differ) hunks(v, w Value) []hunk {
	head := d.commonHead(v, w)
	tail := d.commonTail(v, w, min(v.Len(), w.Len())-head)
	old, new := span{head, v.Len() - tail}, span{head, w.Len() - tail}
	if old.from == old.to && new.from == new.to {
		return nil
	}
	if old.to-old.from <= 1 && new.to-new.from <= 1 || old.from == old.to || new.from == new.to {
		return []hunk{{old, new}}
	}
	numbers := newElementSet(d.hasher)
	a, b := numbers.addAll(v, old), numbers.addAll(w, new)
	var hunks []hunk
	from := hunk{old: span{from: head}, new: span{from: head}}
	for _, m := range append(commonRuns(a, b), run{len(a), len(b), 0}) {
		from.old.to, from.new.to = head+m.a, head+m.b
		if from.old.from < from.old.to || from.new.from < from.new.to {
			hunks = append(hunks, from)
		}
		from.old.from, from.new.from = from.old.to+m.length, from.new.to+m.length
	}
	return hunks
}

// commonHead is how many elements two arrays have in common at their beginning.
func (d *differ) commonHead(v, w Value) int {
	x, y := newCursor(v.node), newCursor(w.node)
	count := 0
	for x.more() && y.more() {
		if x.onSameLeaf(y) {
			count += x.skipLeaf()
			y.skipLeaf()
			continue
		}
		if !d.same(x.item(), y.item()) {
			break
		}
		count++
		x.step()
		y.step()
	}
	return count
}

// commonTail is how many elements, of most, two arrays have in common at their
// end.
func (d *differ) commonTail(v, w Value, most int) int {
	for i := range most {
		if !d.same(v.node.at(v.Len()-1-i), w.node.at(w.Len()-1-i)) {
			return i
		}
	}
	return most
}

// addAll returns the numbers of some elements of an array.
func (s *elementSet) addAll(v Value, of span) []int {
	numbers := make([]int, 0, of.to-of.from)
	for i := of.from; i < of.to; i++ {
		n, _ := s.add(v.node.at(i))
		numbers = append(numbers, n)
	}
	return numbers
}

// run is a run of equal elements, by where it begins on either side.
type run struct{ a, b, length int }

// commonRuns returns a longest common subsequence of two sequences in runs, or
// nil if that would be too far to search. It is the greedy algorithm of Myers,
// "An O(ND) Difference Algorithm and Its Variations": reach[k] is how far into a
// one gets on the diagonal k, where a is k ahead of b, with a number of edits.
func commonRuns(a, b []int) []run {
	most := min(len(a)+len(b), diffEditsMax, max(diffEditsMin, diffSteps/max(1, len(a)+len(b))))
	reach := make([]int, 2*most+3)
	center := most + 1
	var history [][]int // reach before each number of edits, for its diagonals
	for edits := 0; edits <= most; edits++ {
		history = append(history, slices.Clone(reach[center-edits-1:center+edits+2]))
		for k := -edits; k <= edits; k += 2 {
			x := furthest(reach, center+k, k == -edits, k == edits)
			for y := x - k; x < len(a) && y < len(b) && a[x] == b[y]; y++ {
				x++
			}
			reach[center+k] = x
			if x >= len(a) && x-k >= len(b) {
				return runsBack(history, len(a), len(b))
			}
		}
	}
	return nil
}

// furthest returns where the better of the two neighbours of a diagonal leads: an
// insertion from the one above, or a deletion from the one below.
func furthest(reach []int, at int, lowest, highest bool) int {
	if lowest || !highest && reach[at-1] < reach[at+1] {
		return reach[at+1]
	}
	return reach[at-1] + 1
}

// runsBack follows the way back from the end.
func runsBack(history [][]int, x, y int) []run {
	var runs []run
	for edits := len(history) - 1; edits >= 0; edits-- {
		reach, k := history[edits], x-y
		start := 0
		if edits > 0 {
			start = furthest(reach, edits+1+k, k == -edits, k == edits)
		}
		if start < x {
			runs = append(runs, run{start, start - k, x - start})
		}
		if x, y = start, start-k; edits > 0 {
			if k == -edits || k != edits && reach[edits+k] < reach[edits+2+k] {
				y--
			} else {
				x--
			}
		}
	}
	slices.Reverse(runs)
	return runs
}
