package state_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

// ops reads a patch written as "set /a; join:max /a; delete /b". Values are 1, or
// {} for merge.
func ops(t testing.TB, text string) state.Patch {
	t.Helper()
	var p state.Patch
	for _, part := range strings.Split(text, ";") {
		kind, path, _ := strings.Cut(strings.TrimSpace(part), " ")
		op := state.Op{Kind: state.OpKind(kind), Path: state.Pointer(path)}
		if kind, lattice, ok := strings.Cut(kind, ":"); ok {
			op.Kind, op.Lattice = state.OpKind(kind), state.Lattice(lattice)
		}
		switch op.Kind {
		case state.OpDelete:
		case state.OpMerge:
			op.Value = value(t, `{}`)
		default:
			op.Value = state.Int(1)
		}
		p = append(p, op)
	}
	return p
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want string // "": none
	}{
		{"set /a", "set /b", ""},
		{"set /a", "set /ab", ""},
		{"set /a/b", "set /a/c", ""},
		{"set /a", "set /a", "exact /a"},
		{"set /a", "set /a/b", "prefix /a"},
		{"set /a/b/c", "delete /a", "prefix /a"},
		{"set /a", "merge ", "prefix "},
		{"delete /a", "delete /a", "exact /a"},
		{"remove /a", "remove /a", "exact /a"},
		{"merge /a", "merge /a", "exact /a"},
		{"increment /a", "increment /a", ""},
		{"append /a", "append /a", ""},
		{"append /a", "increment /a", "exact /a"},
		{"increment /a; set /a", "increment /a", "exact /a"},
		{"increment /a", "increment /a; increment /a/b", "prefix /a"},
		{"append /a", "set /a/0", "prefix /a"},
		{"join:max /a", "join:max /a", ""},
		{"join:max /a; join:max /a", "join:max /a", ""},
		{"join:max /a", "join:min /a", "exact /a"},
		{"join:max /a", "set /a", "exact /a"},
		{"join:max /a", "increment /a", "exact /a"},
		{"join:max /a", "delete /a", "exact /a"},
		{"join:max /a; join:min /a", "join:max /a", "exact /a"},
		{"join:or_map /a", "join:or_map /a/b", "prefix /a"},
		{"join:max /l/2", "insert /l/0", "prefix /l"},
		{"append /a; append /a/b", "append /c", ""}, // nested, but on one side
		{"append /a; append /a/b", "append /a/b", "prefix /a"},
		{"increment /a; increment /a/b", "increment /a/b; increment /a", "prefix /a"},
		{"set /z; set /b", "set /b; set /z", "exact /b"}, // the smallest path
		{"set /a; set /a-b", "set /a/x", "prefix /a"},    // a-b sorts before a/x as text
		// array elements that move
		{"insert /l/1", "set /l/0", ""},
		{"insert /l/1", "set /l/1", "exact /l/1"},
		{"insert /l/1", "set /l/1/x", "prefix /l/1"},
		{"insert /l/1", "set /l/2/x", "prefix /l"},
		{"insert /l/1", "insert /l/2", "prefix /l"},
		{"insert /l/1", "append /l", "prefix /l"},
		{"delete /l/1", "set /l/0", ""},
		{"delete /l/1", "set /l/2", "prefix /l"},
		{"set /l/2", "delete /l/1", "prefix /l"},
		{"delete /l/1", "delete /l/1", "exact /l/1"},
		{"delete /l/1", "set /l/x", ""},
		{"delete /l/1/x", "set /l/2", ""},
		{"delete /l/1/0; delete /l/3", "set /l/2; set /l/1/0x", ""},
		{"delete /l/7; delete /l/1", "set /l/2", "prefix /l"},
	}
	for _, tt := range tests {
		t.Run(tt.a+" | "+tt.b, func(t *testing.T) {
			t.Parallel()
			for _, order := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
				c, ok := state.Conflicts(ops(t, order[0]), ops(t, order[1]))
				got := ""
				if ok {
					got = fmt.Sprintf("%s %s", c.Kind, c.Path)
				}
				if got != tt.want {
					t.Errorf("Conflicts(%s | %s) = %q; want %q", order[0], order[1], got, tt.want)
				}
			}
		})
	}
	if _, ok := state.Conflicts(nil, ops(t, "set /a")); ok {
		t.Error("the nil patch conflicts")
	}
}

// The sweep finds a conflict of paths exactly when a look at every pair does.
func TestConflictsAgreesWithPairs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := genDocument().Draw(t, "doc")
		kinds := []state.OpKind{state.OpSet, state.OpAppend, state.OpIncrement, state.OpMerge, state.OpJoin, state.OpJoin}
		a := genPatch(doc, 6, kinds...).Draw(t, "a")
		b := genPatch(doc, 6, kinds...).Draw(t, "b")
		want := false
		for _, x := range a {
			for _, y := range b {
				same := x.Path == y.Path && x.Kind == y.Kind && x.Lattice == y.Lattice &&
					(x.Kind == state.OpAppend || x.Kind == state.OpIncrement || x.Kind == state.OpJoin)
				want = want || !same && (x.Path.Contains(y.Path) || y.Path.Contains(x.Path))
			}
		}
		c, got := state.Conflicts(a, b)
		if got != want {
			t.Fatalf("Conflicts(%v, %v) = %v, %v; want %v", a, b, c, got, want)
		}
	})
}

// Patches without a conflict lead to the same document in either order, or fail
// in both. Increments by integers do, as long as nothing overflows; appends at
// one place land in the order of the patches and are left out.
func TestConflictFreePatchesCommute(t *testing.T) {
	t.Parallel()
	free := 0
	rapid.Check(t, func(t *rapid.T) {
		doc := genDocument().Draw(t, "doc")
		a := genPatch(doc, 3, opKinds...).Draw(t, "a")
		b := genPatch(doc, 3, opKinds...).Draw(t, "b")
		for _, p := range []state.Patch{a, b} {
			for i := range p {
				if p[i].Kind == state.OpIncrement {
					p[i].Value = state.Int(rapid.Int64Range(-3, 3).Draw(t, "amount"))
				}
			}
		}
		if _, ok := state.Conflicts(a, b); ok || sharesAppend(a, b) {
			return
		}
		free++
		ab, errAB := (append(append(state.Patch{}, a...), b...)).Apply(doc)
		ba, errBA := (append(append(state.Patch{}, b...), a...)).Apply(doc)
		if overflows(errAB) || overflows(errBA) {
			return
		}
		if (errAB == nil) != (errBA == nil) || errAB == nil && ab.String() != ba.String() {
			t.Fatalf("on %v\n a %v\n b %v\n ab %v %v\n ba %v %v", doc, a, b, ab, errAB, ba, errBA)
		}
	})
	if free == 0 {
		t.Error("no pair of patches was free of conflict")
	}
}

func sharesAppend(a, b state.Patch) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Kind == state.OpAppend && y.Kind == state.OpAppend && x.Path == y.Path {
				return true
			}
		}
	}
	return false
}

// A hostile patch costs no more than n log n.
func TestConflictsOfManyOps(t *testing.T) {
	t.Parallel()
	var a, b state.Patch
	for i := range 100_000 {
		a = append(a, state.Delete(state.At("a", fmt.Sprint("k", i))), state.Insert("/l/100", state.Null()))
		b = append(b, state.Delete(state.At("b", fmt.Sprint("k", i))))
	}
	deep := state.Pointer(strings.Repeat("/x", 1_000_000))
	b = append(b, state.Delete(deep), state.Delete(deep))
	start := time.Now()
	if c, ok := state.Conflicts(a, b); ok {
		t.Errorf("conflict %v", c)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
