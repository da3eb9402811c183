package rules

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/selvagehq/selvage/state"
)

// lookUp returns a fact, null if there is none.
func lookUp(facts state.Document, path state.Pointer) state.Value {
	v, _ := facts.Get(path)
	return v
}

// compare reports whether a fact stands to a value as an operator says.
func compare(op Op, fact, want state.Value, pattern *regexp.Regexp) bool {
	switch op {
	case Eq:
		return fact.Equal(want)
	case Ne:
		return !fact.Equal(want)
	case In:
		return has(want, fact)
	case Contains:
		return contains(fact, want)
	case Regex:
		return fact.Kind() == state.KindString && pattern.MatchString(fact.Text())
	case Exists:
		return fact.IsNull() == (want.Kind() == state.KindBool && !want.Bool())
	}
	order, comparable := order(fact, want)
	if !comparable {
		return false
	}
	switch op {
	case Gt:
		return order > 0
	case Gte:
		return order >= 0
	case Lt:
		return order < 0
	default:
		return order <= 0
	}
}

// order compares two numbers or two texts; of anything else it reports that
// it does not compare. Numbers that are not 64-bit integers count as the
// nearest float64.
func order(a, b state.Value) (int, bool) {
	if a.Kind() == state.KindString && b.Kind() == state.KindString {
		return strings.Compare(a.Text(), b.Text()), true
	}
	x, whole := a.Int64()
	y, both := b.Int64()
	if whole && both {
		return cmp.Compare(x, y), true
	}
	f, ok := a.Float64()
	g, too := b.Float64()
	return cmp.Compare(f, g), ok && too
}

// has reports whether a list has a value in it.
func has(list, value state.Value) bool {
	for v := range list.Elements() {
		if v.Equal(value) {
			return true
		}
	}
	return false
}

// contains reports whether a text has a text in it, a list a value, or an
// object a key.
func contains(fact, want state.Value) bool {
	switch {
	case fact.Kind() == state.KindArray:
		return has(fact, want)
	case want.Kind() != state.KindString:
		return false
	case fact.Kind() == state.KindObject:
		_, ok := fact.Field(want.Text())
		return ok
	}
	return fact.Kind() == state.KindString && strings.Contains(fact.Text(), want.Text())
}
