package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// modelOp is a patch op in the model's own words: one key of the document.
type modelOp struct {
	kind  state.OpKind
	key   string
	value any // int64 or string
}

// fold is the state document at a version. It reports false if an op of it
// does not apply.
func (t *modelThread) fold(v selvage.Version, more ...modelOp) (map[string]any, bool) {
	doc := make(map[string]any)
	maps.Copy(doc, t.past[v].doc)
	ok := true
	for _, op := range more {
		ok = op.apply(doc) && ok
	}
	return doc, ok
}

// apply changes the document, or reports that the op does not apply.
func (op modelOp) apply(doc map[string]any) bool {
	old, there := doc[op.key]
	switch op.kind {
	case state.OpSet:
		doc[op.key] = op.value
	case state.OpDelete:
		delete(doc, op.key)
	case state.OpIncrement:
		n, isNumber := old.(int64)
		if !isNumber {
			return false
		}
		doc[op.key] = n + op.value.(int64)
	case state.OpAppend:
		list, isList := old.([]any)
		if there && !isList {
			return false
		}
		doc[op.key] = append(slices.Clone(list), op.value)
	}
	return true
}

func (op modelOp) real() state.Op {
	real := state.Op{Kind: op.kind, Path: state.At(op.key)}
	switch v := op.value.(type) {
	case int64:
		real.Value = state.Int(v)
	case string:
		real.Value = state.String(v)
	}
	return real
}

// describe is the model's document as JSON, keys in order.
func describe(doc map[string]any) string {
	text := "{"
	for i, key := range slices.SortedFunc(maps.Keys(doc), cmp.Compare[string]) {
		if i > 0 {
			text += ","
		}
		value, err := json.Marshal(doc[key])
		if err != nil {
			return err.Error() // never: there are only numbers, strings and lists
		}
		text += fmt.Sprintf("%q:%s", key, value)
	}
	return text + "}"
}
