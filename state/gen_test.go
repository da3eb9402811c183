package state_test

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

// tb is what helpers need of a test, a fuzz test or a rapid check.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// parse reads a document that is known to be valid.
func parse(t tb, text string) state.Document {
	t.Helper()
	d, err := state.Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return d
}

// apply applies a patch that must apply, and checks that the document it was
// applied to did not change and that the new one is sound.
func apply(t tb, d state.Document, p state.Patch) state.Document {
	t.Helper()
	before := d.String()
	got, err := p.Apply(d)
	if err != nil {
		t.Fatalf("apply %v to %v: %v", p, d, err)
	}
	if d.String() != before {
		t.Fatalf("apply %v changed its input\n from %s\n   to %v", p, before, d)
	}
	if err := state.Check(got); err != nil {
		t.Fatalf("apply %v to %v: %v", p, d, err)
	}
	return got
}

// genToken draws from few tokens, so that paths meet, with indexes and all that
// needs escaping among them.
func genToken() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "0", "1", "2", "", "~", "/", "~1", "é", "-", "01"})
}

func genPointer(tokens int) *rapid.Generator[state.Pointer] {
	return rapid.Custom(func(t *rapid.T) state.Pointer {
		return state.At(rapid.SliceOfN(genToken(), 0, tokens).Draw(t, "tokens")...)
	})
}

// genValue draws a value nested at most depth deep.
func genValue(depth int) *rapid.Generator[state.Value] {
	return rapid.Custom(func(t *rapid.T) state.Value {
		var b strings.Builder
		drawJSON(t, &b, depth)
		v, err := state.ParseValue([]byte(b.String()))
		if err != nil {
			t.Fatalf("generated %s: %v", b.String(), err)
		}
		return v
	})
}

func drawJSON(t *rapid.T, b *strings.Builder, depth int) {
	kinds := 5
	if depth > 0 {
		kinds = 9
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		b.WriteString("null")
	case 1:
		b.WriteString(rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool"))
	case 2:
		b.WriteString(state.String(rapid.String().Draw(t, "string")).String())
	case 3:
		b.WriteString(genLiteral().Draw(t, "number"))
	case 4, 5:
		b.WriteString(rapid.SampledFrom([]string{"0", "1", "1.0", "2", "9223372036854775807"}).Draw(t, "number"))
	case 6, 7:
		b.WriteByte('[')
		for i := range rapid.IntRange(0, 4).Draw(t, "length") {
			if i > 0 {
				b.WriteByte(',')
			}
			drawJSON(t, b, depth-1)
		}
		b.WriteByte(']')
	default:
		drawObject(t, b, depth)
	}
}

func drawObject(t *rapid.T, b *strings.Builder, depth int) {
	b.WriteByte('{')
	for i, key := range rapid.SliceOfNDistinct(genToken(), 0, 5, rapid.ID).Draw(t, "keys") {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(state.String(key).String())
		b.WriteByte(':')
		drawJSON(t, b, depth-1)
	}
	b.WriteByte('}')
}

func genDocument() *rapid.Generator[state.Document] {
	return rapid.Custom(func(t *rapid.T) state.Document {
		var b strings.Builder
		drawObject(t, &b, 3)
		return parse(t, b.String())
	})
}

var opKinds = []state.OpKind{
	state.OpSet, state.OpDelete, state.OpAppend, state.OpMerge, state.OpIncrement, state.OpInsert, state.OpRemove, state.OpJoin,
}

// genOp draws an op whose path is often that of something in the document.
func genOp(doc state.Document, kinds ...state.OpKind) *rapid.Generator[state.Op] {
	places := pathsOf("", doc.Root(), nil)
	return rapid.Custom(func(t *rapid.T) state.Op {
		op := state.Op{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		if rapid.IntRange(0, 3).Draw(t, "known") > 0 {
			op.Path = rapid.SampledFrom(places).Draw(t, "place")
			if rapid.IntRange(0, 2).Draw(t, "below") == 0 || op.Kind == state.OpInsert {
				op.Path = op.Path.Join(genToken().Draw(t, "token"))
			}
		} else {
			op.Path = genPointer(3).Draw(t, "path")
		}
		switch op.Kind {
		case state.OpDelete:
		case state.OpJoin:
			op.Lattice = rapid.SampledFrom(lattices).Draw(t, "lattice")
			op.Value = genForm(op.Lattice, 1).Draw(t, "delta")
		default:
			op.Value = genValue(2).Draw(t, "value")
		}
		return op
	})
}

func genPatch(doc state.Document, most int, kinds ...state.OpKind) *rapid.Generator[state.Patch] {
	return rapid.Custom(func(t *rapid.T) state.Patch {
		return rapid.SliceOfN(genOp(doc, kinds...), 0, most).Draw(t, "ops")
	})
}

// pathsOf appends the paths of everything in v.
func pathsOf(at state.Pointer, v state.Value, paths []state.Pointer) []state.Pointer {
	paths = append(paths, at)
	for key, member := range v.Members() {
		paths = pathsOf(at.Join(key), member, paths)
	}
	i := 0
	for item := range v.Elements() {
		paths = pathsOf(at.Join(state.Int(int64(i)).Literal()), item, paths)
		i++
	}
	return paths
}
