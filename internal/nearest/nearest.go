// Package nearest guesses which name was meant by one that is not known.
package nearest

import "strings"

// Name returns the name that was most likely meant by what was written, or
// "" if none is near: at most a third of its letters differ, and one always may.
func Name(written string, names []string) string {
	best, nearest := max(1, len(written)/3)+1, ""
	for _, name := range names {
		if d := distance(strings.ToLower(written), strings.ToLower(name)); d < best {
			best, nearest = d, name
		}
	}
	return nearest
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
