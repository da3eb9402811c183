package state_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/selvagehq/selvage/state"
)

// modelForm says if a generic value is in the form of a lattice.
func modelForm(l state.Lattice, x any) bool {
	object, isObject := x.(map[string]any)
	switch l {
	case state.LatticeFlag:
		_, ok := x.(bool)
		return ok
	case state.LatticeMax, state.LatticeMin:
		_, ok := x.(json.Number)
		return ok
	case state.LatticeSet:
		array, ok := x.([]any)
		return ok && slices.IsSortedFunc(array, modelCompare) &&
			len(slices.CompactFunc(slices.Clone(array), func(a, b any) bool { return modelCompare(a, b) == 0 })) == len(array)
	case state.LatticeRegister:
		_, hasValue := object["value"]
		return isObject && len(object) == 2 && hasValue && modelClock(object["clock"])
	}
	for _, m := range object {
		entry, isEntry := m.(map[string]any)
		if l == state.LatticeCounter && !modelClock(m) || l != state.LatticeCounter && (!isEntry || len(entry) == 0) {
			return false
		}
		_, added := entry["added"]
		for name, x := range entry {
			inner, _ := entry["lattice"].(string)
			ok := l == state.LatticeORMap && added && len(entry) >= 3
			switch name {
			case "added":
				ok = modelClock(x) && (l == state.LatticeORSet || ok)
			case "removed":
				ok = modelClock(x)
			case "lattice":
				ok = ok && slices.Contains(lattices, state.Lattice(inner))
			case "value":
				ok = ok && modelForm(state.Lattice(inner), x)
			default:
				ok = false
			}
			if !ok {
				return false
			}
		}
		_, hasLattice := entry["lattice"]
		_, hasValue := entry["value"]
		if l == state.LatticeORMap && (hasLattice != added || hasValue != added) {
			return false
		}
	}
	return isObject
}

func modelClock(x any) bool {
	n, ok := x.(json.Number)
	if !ok {
		return false
	}
	v, err := state.ParseValue([]byte(n))
	clock, isInt := v.Int64()
	return err == nil && isInt && clock >= 0
}

// modelCompare orders generic values.
func modelCompare(a, b any) int {
	rank := func(x any) int {
		switch x.(type) {
		case nil:
			return 0
		case bool:
			return 1
		case json.Number:
			return 2
		case string:
			return 3
		case []any:
			return 4
		}
		return 5
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case bool:
		return strings.Compare(modelText(a), modelText(b))
	case json.Number:
		return state.CompareNumbers(string(a), string(b.(json.Number)))
	case string:
		return strings.Compare(a, b.(string))
	case []any:
		return slices.CompareFunc(a, b.([]any), modelCompare)
	case map[string]any:
		return slices.CompareFunc(modelMembers(a), modelMembers(b.(map[string]any)), func(x, y []any) int {
			return slices.CompareFunc(x, y, modelCompare)
		})
	}
	return 0
}

func modelMembers(m map[string]any) [][]any {
	var list [][]any
	for k, v := range m {
		list = append(list, []any{k, v})
	}
	slices.SortFunc(list, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	return list
}

func modelText(x any) string {
	v, err := state.ValueOf(x)
	if err != nil {
		panic(err)
	}
	return v.String()
}

// modelGreater returns the greater of two values, of equal ones the one that is
// spelled shorter or first.
func modelGreater(a, b any) any {
	c := modelCompare(b, a)
	if s, u := modelText(a), modelText(b); c == 0 && (len(u) < len(s) || len(u) == len(s) && u < s) {
		c = 1
	}
	if c > 0 {
		return b
	}
	return a
}

func modelJoin(l state.Lattice, a, b any) any {
	switch l {
	case state.LatticeFlag:
		return a.(bool) || b.(bool)
	case state.LatticeMin:
		if modelCompare(a, b) < 0 {
			return a
		}
		if modelCompare(a, b) > 0 {
			return b
		}
		return modelGreater(a, b)
	case state.LatticeMax:
		return modelGreater(a, b)
	case state.LatticeRegister:
		x, y := a.(map[string]any), b.(map[string]any)
		if c := modelCompare([]any{x["clock"], x["value"]}, []any{y["clock"], y["value"]}); c > 0 {
			return a
		} else if c < 0 {
			return b
		}
		return modelGreater(a, b)
	case state.LatticeSet:
		all := append(slices.Clone(a.([]any)), b.([]any)...)
		slices.SortStableFunc(all, modelCompare)
		var set []any = []any{}
		for _, x := range all {
			if n := len(set); n > 0 && modelCompare(set[n-1], x) == 0 {
				set[n-1] = modelGreater(set[n-1], x)
			} else {
				set = append(set, x)
			}
		}
		return set
	case state.LatticeCounter:
		return modelJoinMembers(a, b, modelGreater)
	}
	return modelJoinMembers(a, b, modelJoinEntry)
}

func modelJoinMembers(a, b any, join func(a, b any) any) any {
	joined := map[string]any{}
	for k, x := range a.(map[string]any) {
		joined[k] = x
	}
	for k, y := range b.(map[string]any) {
		if x, ok := joined[k]; ok {
			y = join(x, y)
		}
		joined[k] = y
	}
	return joined
}

func modelJoinEntry(a, b any) any {
	x, y := a.(map[string]any), b.(map[string]any)
	joined := map[string]any{}
	for _, name := range []string{"added", "removed"} {
		if p, ok := x[name]; ok {
			joined[name] = p
		}
		if q, ok := y[name]; ok {
			joined[name] = q
			if p, ok := x[name]; ok {
				joined[name] = modelGreater(p, q)
			}
		}
	}
	p, _ := x["lattice"].(string)
	q, _ := y["lattice"].(string)
	switch {
	case p == "" && q == "":
	case p > q:
		joined["lattice"], joined["value"] = p, x["value"]
	case p < q:
		joined["lattice"], joined["value"] = q, y["value"]
	default:
		joined["lattice"], joined["value"] = p, modelJoin(state.Lattice(p), x["value"], y["value"])
	}
	return joined
}
