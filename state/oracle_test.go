package state_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/wI2L/jsondiff"
	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

// evanphx applies a JSON patch by the other library.
func evanphx(doc, patch string) (string, error) {
	p, err := jsonpatch.DecodePatch([]byte(patch))
	if err != nil {
		return "", err
	}
	o := jsonpatch.NewApplyOptions()
	o.SupportNegativeIndices = false
	o.EscapeHTML = false
	out, err := p.ApplyWithOptions([]byte(doc), o)
	return string(out), err
}

// genJSONPatch draws a JSON patch that often fits the document. Its operations are
// not about the root and lead through no empty key, which the other library takes
// for one another, and have no index with a leading zero, which it allows.
func genJSONPatch(doc state.Document, most int) *rapid.Generator[string] {
	places := pathsOf("", doc.Root(), nil)[1:]
	if len(places) == 0 {
		places = []state.Pointer{"/a"}
	}
	place := rapid.Custom(func(t *rapid.T) state.Pointer {
		path := rapid.SampledFrom(places).Draw(t, "place")
		if rapid.IntRange(0, 2).Draw(t, "below") == 0 {
			path = path.Join(genToken().Draw(t, "token"))
		}
		tokens := path.Tokens()
		for i, token := range tokens {
			switch token {
			case "":
				tokens[i] = "e"
			case "01":
				tokens[i] = "x"
			}
		}
		return state.At(tokens...)
	})
	return rapid.Custom(func(t *rapid.T) string {
		var list []string
		for range rapid.IntRange(1, most).Draw(t, "operations") {
			kind := rapid.SampledFrom([]string{"add", "remove", "replace", "move", "copy", "test"}).Draw(t, "kind")
			path, from := place.Draw(t, "path"), place.Draw(t, "from")
			if kind == "move" && from.Contains(path) {
				kind = "copy" // the other library moves things into themselves
			}
			op := `{"op":"` + kind + `","path":` + state.String(string(path)).String()
			switch kind {
			case "move", "copy":
				op += `,"from":` + state.String(string(from)).String()
			case "add", "replace", "test":
				op += `,"value":` + genValue(2).Draw(t, "value").String()
			}
			list = append(list, op+"}")
		}
		return "[" + strings.Join(list, ",") + "]"
	})
}

// tame makes every null and empty key something else, as the other libraries let
// a path lead through null, or lose one that moves, and gives each number its
// canonical spelling, as a test of theirs compares those.
func tame(t tb, text string) string {
	v := value(t, text)
	text = strings.ReplaceAll(string(v.AppendCanonical(nil)), `"":`, `"e":`)
	for _, before := range []string{":", "[", ","} {
		text = strings.ReplaceAll(text, before+"null", before+"false")
	}
	return text
}

func tameDocument(t *rapid.T, label string) state.Document {
	return parse(t, tame(t, genDocument().Draw(t, label).String()))
}

func TestFromJSONPatchAgreesWithOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := tameDocument(t, "doc")
		patch := tame(t, genJSONPatch(doc, 3).Draw(t, "patch"))
		want, theirs := evanphx(doc.String(), patch)
		p, ours := state.FromJSONPatch(doc, []byte(patch))
		if (ours == nil) != (theirs == nil) {
			t.Fatalf("%s\non %v\nours   %v\ntheirs %v %s", patch, doc, ours, theirs, want)
		}
		if ours == nil {
			if got := apply(t, doc, p); !got.Equal(parse(t, want)) {
				t.Fatalf("%s\non %v\nours   %v\ntheirs %s", patch, doc, got, want)
			}
		}
	})
}

func TestToJSONPatchAgreesWithOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := tameDocument(t, "doc")
		p := genPatch(doc, 4, opKinds...).Draw(t, "patch")
		if slices.ContainsFunc(p, func(op state.Op) bool { return slices.Contains(op.Path.Tokens(), "") }) {
			return // an empty key again
		}
		want, err := p.Apply(doc)
		if err != nil {
			return
		}
		text, err := p.ToJSONPatch(doc)
		if err != nil {
			t.Fatal(err)
		}
		got, err := evanphx(doc.String(), string(text))
		if err != nil || !parse(t, got).Equal(want) {
			t.Fatalf("%v\non %v\nis %s\nours   %v\ntheirs %s %v", p, doc, text, want, got, err)
		}
	})
}

func TestFromMergePatchAgreesWithOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc, patch := genDocument().Draw(t, "doc"), genDocument().Draw(t, "patch")
		if nullInArray(patch.Root(), false) {
			return // the other library takes it away, the RFC does not
		}
		p, err := state.FromMergePatch(doc, patch.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsonpatch.MergePatch(doc.AppendJSON(nil), patch.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := apply(t, doc, p); !got.Equal(parse(t, string(want))) {
			t.Fatalf("%v\ninto %v\nours   %v\ntheirs %s", patch, doc, got, want)
		}
	})
}

// nullInArray reports whether a member of an object in an array is null.
func nullInArray(v state.Value, inside bool) bool {
	for item := range v.Elements() {
		if nullInArray(item, true) {
			return true
		}
	}
	for _, member := range v.Members() {
		if inside && member.IsNull() || nullInArray(member, inside) {
			return true
		}
	}
	return false
}

// A JSON patch that another library makes of two documents does here what it was
// made for.
func TestFromJSONPatchOfAnotherDiff(t *testing.T) {
	t.Parallel()
	exact := jsondiff.UnmarshalFunc(func(data []byte, into any) error {
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		return d.Decode(into)
	})
	options := map[string][]jsondiff.Option{
		"plain": {exact},
		"tests": {exact, jsondiff.Invertible()},
		"moves": {jsondiff.Factorize()}, // takes some values for others, so it says only what to do
	}
	for name, options := range options {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				a, b := tameDocument(t, "a"), tameDocument(t, "b")
				if name == "moves" {
					a, b = small(t, a), small(t, b)
				}
				made, err := jsondiff.CompareJSON(a.AppendJSON(nil), b.AppendJSON(nil), options...)
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(made)
				if err != nil {
					t.Fatal(err)
				}
				if len(made) == 0 {
					text = []byte(`[]`)
				}
				p, err := state.FromJSONPatch(a, text)
				if err != nil {
					t.Fatalf("%s of\n a %v\n b %v\n%v", text, a, b, err)
				}
				want := b
				if name == "moves" {
					text, err := evanphx(a.String(), string(text))
					if err != nil {
						t.Fatal(err)
					}
					want = parse(t, text)
				}
				if got := apply(t, a, p); !got.Equal(want) {
					t.Fatalf("%s of\n a %v\n b %v\nleads to %v; want %v", text, a, b, got, want)
				}
			})
		})
	}
}

// small returns the document with a small integer for each number.
func small(t tb, doc state.Document) state.Document {
	var shrink func(x any) any
	shrink = func(x any) any {
		switch x := x.(type) {
		case json.Number:
			return len(x)
		case []any:
			for i := range x {
				x[i] = shrink(x[i])
			}
		case map[string]any:
			for key := range x {
				x[key] = shrink(x[key])
			}
		}
		return x
	}
	return parse(t, modelText(shrink(generic(doc.Root()))))
}

// The patch of a diff leads to the other document by another library too.
func TestDiffAgreesWithOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := tameDocument(t, "a"), tameDocument(t, "b")
		text, err := state.Diff(a, b).ToJSONPatch(a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := evanphx(a.String(), string(text))
		if err != nil || !parse(t, got).Equal(b) {
			t.Fatalf("%s of\n a %v\n b %v\nleads to %s, %v", text, a, b, got, err)
		}
	})
}
