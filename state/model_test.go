package state_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"github.com/selvagehq/selvage/state"
)

// applyModel applies a patch by plain recursion over generic Go values. It
// returns the document as text, or which op failed and the class of its error.
func applyModel(doc state.Document, p state.Patch) (text string, failed int, class error) {
	var root any = generic(doc.Root())
	for i, op := range p {
		next, err := modelOp(root, op)
		if err != nil {
			return "", i, err
		}
		root = next
	}
	v, err := state.ValueOf(root)
	if err != nil {
		return "", 0, err
	}
	return v.String(), 0, nil
}

func generic(v state.Value) any {
	d := json.NewDecoder(bytes.NewReader(v.AppendJSON(nil)))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		panic(err)
	}
	return x
}

func modelOp(root any, op state.Op) (any, error) {
	tokens := op.Path.Tokens()
	if len(tokens) == 0 {
		switch op.Kind {
		case state.OpDelete:
			return map[string]any{}, nil
		case state.OpInsert:
			return nil, state.ErrTypeMismatch
		case state.OpSet:
			if op.Value.Kind() != state.KindObject {
				return nil, state.ErrTypeMismatch
			}
		}
	}
	last := ""
	if op.Kind == state.OpInsert {
		last, tokens = tokens[len(tokens)-1], tokens[:len(tokens)-1]
	}
	return modelWalk(root, true, tokens, last, op)
}

var modelIndex = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

func modelWalk(x any, ok bool, tokens []string, last string, op state.Op) (any, error) {
	if len(tokens) == 0 {
		return modelTarget(x, ok, last, op)
	}
	if !ok {
		switch op.Kind {
		case state.OpSet, state.OpAppend, state.OpMerge, state.OpJoin:
			x = map[string]any{}
		case state.OpDelete:
			return nil, nil
		default:
			return nil, state.ErrPathNotFound
		}
	}
	drop := op.Kind == state.OpDelete && len(tokens) == 1
	switch c := x.(type) {
	case map[string]any:
		item, found := c[tokens[0]]
		if drop || op.Kind == state.OpDelete && !found {
			delete(c, tokens[0])
			return c, nil
		}
		next, err := modelWalk(item, found, tokens[1:], last, op)
		c[tokens[0]] = next
		return c, err
	case []any:
		i, err := strconv.Atoi(tokens[0])
		isIndex := modelIndex.MatchString(tokens[0]) && err == nil
		if op.Kind == state.OpDelete && (!isIndex || i >= len(c)) {
			return c, nil
		}
		if !isIndex {
			return nil, state.ErrTypeMismatch
		}
		if i >= len(c) {
			return nil, state.ErrIndexOutOfRange
		}
		if drop {
			return slices.Delete(c, i, i+1), nil
		}
		c[i], err = modelWalk(c[i], true, tokens[1:], last, op)
		return c, err
	}
	if op.Kind == state.OpDelete {
		return x, nil
	}
	return nil, state.ErrTypeMismatch
}

func modelTarget(x any, ok bool, last string, op state.Op) (any, error) {
	v := generic(op.Value)
	array, isArray := x.([]any)
	switch op.Kind {
	case state.OpSet:
		return v, nil
	case state.OpAppend:
		if ok && !isArray {
			return nil, state.ErrTypeMismatch
		}
		return append(array, v), nil
	case state.OpJoin:
		if !modelForm(op.Lattice, v) || ok && !modelForm(op.Lattice, x) {
			return nil, state.ErrTypeMismatch
		}
		if !ok {
			return v, nil
		}
		return modelJoin(op.Lattice, x, v), nil
	case state.OpMerge:
		object, isObject := x.(map[string]any)
		members, valid := v.(map[string]any)
		if !valid || ok && !isObject {
			return nil, state.ErrTypeMismatch
		}
		if !ok {
			object = map[string]any{}
		}
		for k, m := range members {
			object[k] = m
		}
		return object, nil
	}
	if !ok {
		return nil, state.ErrPathNotFound
	}
	if op.Kind == state.OpIncrement {
		a, okA := x.(json.Number)
		b, okB := v.(json.Number)
		if !okA || !okB {
			return nil, state.ErrNotANumber
		}
		sum, err := state.AddNumbers(string(a), string(b))
		if err != nil {
			return nil, state.ErrOverflow
		}
		return json.Number(sum), nil
	}
	if !isArray {
		return nil, state.ErrTypeMismatch
	}
	if op.Kind == state.OpInsert {
		i, err := strconv.Atoi(last)
		if !modelIndex.MatchString(last) || err != nil {
			return nil, state.ErrTypeMismatch
		}
		if i > len(array) {
			return nil, state.ErrIndexOutOfRange
		}
		return slices.Insert(array, i, v), nil
	}
	for i := range array {
		item, err := state.ValueOf(array[i])
		if err == nil && item.Equal(op.Value) {
			return slices.Delete(array, i, i+1), nil
		}
	}
	return array, nil
}
