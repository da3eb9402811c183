package state_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

func overflows(err error) bool { return errors.Is(err, state.ErrOverflow) }

func TestCanonicalize(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"set /a; set /a; delete /a", "delete /a"},
		{"set /a; set /b; set /a", "set /b; set /a"},
		{"set /a/b; set /a/b; delete /a/b", "set /a/b; delete /a/b"}, // the set may fail, and makes /a
		{"set /a/b; set /a", "set /a/b; set /a"},
		{"set /a; merge ; set /a", "set /a; merge ; set /a"}, // a merge may fail: it is in between
		{"set /a; delete ", "delete "},
		{"delete /a/b/c; set /a/b", "set /a/b"},
		{"delete /a/b; delete /a/b", "delete /a/b"},
		{"delete /a/b; set /a/b", "set /a/b"},
		{"delete /l/0; delete /l/0", "delete /l/0; delete /l/0"}, // two elements
		{"delete /l/0; set /l/0", "delete /l/0; set /l/0"},       // may be out of range
		{"delete /0; delete /0", "delete /0"},                    // the root is no array
		{"delete /l/0/x; delete /l/0", "delete /l/0"},
		{"delete /l/0/x; insert /l/0; delete /l/0", "delete /l/0/x; insert /l/0; delete /l/0"},
		{"set /l/0; set /l/0", "set /l/0"},
		{"append /a; delete /a", "append /a; delete /a"},
		{"increment /a; set /a", "increment /a; set /a"},
		{"set /a; append /a; set /a", "set /a; append /a; set /a"},
		{"set /a; delete /a/x; set /a", "set /a"}, // dropping one frees the other
		{"set /a; set /b/c; delete /a", "set /b/c; delete /a"},
		{"set a; set a", "set a; set a"}, // malformed: it always fails
		{"delete a; delete a", "delete a; delete a"},
		{"set /a; set a", "set /a; set a"},
		{"join:max /a; set /b; join:max /a", "set /b; join:max /a"},
		{"join:max /a; join:min /a; join:max /a", "join:max /a; join:min /a; join:max /a"},
		{"join:max /a; increment /a; join:max /a", "join:max /a; increment /a; join:max /a"},
		{"join:max /a; set /a", "join:max /a; set /a"},               // it may fail
		{"join:flag /a; join:flag /a", "join:flag /a; join:flag /a"}, // it does fail
		{"join:max a; join:max a", "join:max a; join:max a"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			in := ops(t, tt.in)
			before := string(in.AppendJSON(nil))
			got, want := string(in.Canonicalize().AppendJSON(nil)), string(ops(t, tt.want).AppendJSON(nil))
			if got != want {
				t.Errorf("Canonicalize = %s; want %s", got, want)
			}
			if string(in.AppendJSON(nil)) != before {
				t.Error("the receiver changed")
			}
		})
	}
	deep := state.Pointer(strings.Repeat("/a", state.MaxDepth+1)) // a set there always fails
	if got := (state.Patch{state.Set(deep, state.Null()), state.Set("", value(t, `{}`))}).Canonicalize(); len(got) != 2 {
		t.Errorf("a set that fails was dropped: %d ops left", len(got))
	}
	wrap := value(t, strings.Repeat("[", state.MaxDepth)+strings.Repeat("]", state.MaxDepth))
	if got := (state.Patch{state.Set("/a", wrap), state.Set("/a", state.Null())}).Canonicalize(); len(got) != 2 {
		t.Errorf("a set that fails was dropped: %d ops left", len(got))
	}
	if got := (state.Patch)(nil).Canonicalize(); len(got) != 0 {
		t.Errorf("nil becomes %v", got)
	}
}

// The canonical patch fails where the patch does, and else has its result.
func TestCanonicalizeIsEquivalent(t *testing.T) {
	t.Parallel()
	dropped := 0
	rapid.Check(t, func(t *rapid.T) {
		doc := genDocument().Draw(t, "doc")
		kinds := opKinds
		if rapid.Bool().Draw(t, "covering") {
			kinds = []state.OpKind{state.OpSet, state.OpDelete, state.OpInsert}
		}
		p := genPatch(doc, 6, kinds...).Draw(t, "patch")
		short := p.Canonicalize()
		dropped += len(p) - len(short)
		want, errWant := p.Apply(doc)
		got, errGot := short.Apply(doc)
		if (errWant == nil) != (errGot == nil) || want.String() != got.String() {
			t.Fatalf("on %v\n patch %v\n   = %v, %v\n canonical %v\n   = %v, %v", doc, p, want, errWant, short, got, errGot)
		}
	})
	if dropped == 0 {
		t.Error("no op was ever dropped")
	}
}

func TestTouched(t *testing.T) {
	t.Parallel()
	got := ops(t, "set /b; set /a; delete /b; insert /l/0").Touched()
	want := []state.Pointer{"/b", "/a", "/l/0"}
	if len(got) != len(want) {
		t.Fatalf("Touched = %q; want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("Touched = %q; want %q", got, want)
		}
	}
	if state.Patch(nil).Touched() != nil {
		t.Error("the nil patch touches something")
	}
}

// Increments by integers at one path commute.
func TestIncrementsCommute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.Int64Range(-1<<60, 1<<60)
		doc := apply(t, state.Document{}, state.Patch{state.Set("/n", state.Int(small.Draw(t, "n")))})
		a := state.Increment("/n", state.Int(small.Draw(t, "a")))
		b := state.Increment("/n", state.Int(small.Draw(t, "b")))
		ab, ba := apply(t, doc, state.Patch{a, b}), apply(t, doc, state.Patch{b, a})
		if ab.String() != ba.String() {
			t.Fatalf("%v and %v", ab, ba)
		}
	})
}
