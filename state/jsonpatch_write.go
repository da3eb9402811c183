package state

import "strconv"

// ToJSONPatch returns an RFC 6902 JSON patch that does to doc what the patch
// does, in any implementation of the RFC. It is meant for doc alone: it says what
// comes of an increment, a join or a remove there, and makes the parents that a
// set would. It has no tests. If the patch does not apply to doc the error is
// that of [Patch.Apply].
//
// Its numbers have every digit; a reader that takes them for float64 rounds what
// is beyond 2^53.
func (p Patch) ToJSONPatch(doc Document) ([]byte, error) {
	w := jsonPatchWriter{text: []byte{'['}}
	for i, op := range p {
		next, err := op.applyTo(doc)
		if err != nil {
			return nil, opError(i, op, err)
		}
		w.write(op, doc, next)
		doc = next
	}
	return append(w.text, ']'), nil
}

type jsonPatchWriter struct{ text []byte }

// write appends the operations that lead from one document to the next, as op
// did.
func (w *jsonPatchWriter) write(op Op, before, after Document) {
	old, ok := before.Get(op.Path)
	switch op.Kind {
	case OpDelete:
		if op.Path == "" {
			w.operation(jsonReplace, "", after.Root())
		} else if ok {
			w.operation(jsonRemove, op.Path, Null())
		}
		return
	case OpInsert:
		w.operation(jsonAdd, op.Path, op.Value)
		return
	case OpRemove:
		if i := old.indexOf(op.Value); i >= 0 {
			w.operation(jsonRemove, op.Path.Join(strconv.Itoa(i)), Null())
		}
		return
	}
	if !ok {
		w.create(op.Path, before, after)
		return
	}
	switch op.Kind {
	case OpAppend:
		w.operation(jsonAdd, op.Path.Join("-"), op.Value)
	case OpMerge:
		for key, member := range op.Value.Members() {
			w.operation(jsonAdd, op.Path.Join(key), member)
		}
	default:
		v, _ := after.Get(op.Path)
		w.operation(jsonReplace, op.Path, v)
	}
}

// create adds the first thing on a path that was not there before.
func (w *jsonPatchWriter) create(path Pointer, before, after Document) {
	for rest := string(path); rest != ""; {
		_, rest = cutToken(rest)
		part := path[:len(path)-len(rest)]
		if _, ok := before.Get(part); !ok {
			v, _ := after.Get(part)
			w.operation(jsonAdd, part, v)
			return
		}
	}
}

func (w *jsonPatchWriter) operation(kind OpKind, path Pointer, v Value) {
	if len(w.text) > 1 {
		w.text = append(w.text, ',')
	}
	w.text = append(w.text, `{"op":"`...)
	w.text = append(w.text, kind...)
	w.text = append(w.text, `","path":`...)
	w.text = appendString(w.text, string(path))
	if kind != jsonRemove {
		w.text = append(w.text, `,"value":`...)
		w.text = v.AppendJSON(w.text)
	}
	w.text = append(w.text, '}')
}
