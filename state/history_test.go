package state_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

// The patches of a history may be folded into the document up to any point: what
// follows leads to the same end, also when both are written out and read again.
// No spec, and no Go code of anybody, is needed for that.
func TestHistoryFolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := genDocument().Draw(t, "doc")
		var history []state.Patch
		end := doc
		for range 5 {
			p := genPatch(end, 3, opKinds...).Draw(t, "patch")
			next, err := p.Apply(end)
			if err != nil {
				continue
			}
			end, history = next, append(history, p)
		}
		keep := rapid.IntRange(0, len(history)).Draw(t, "keep")
		base := doc
		for _, p := range history[:len(history)-keep] {
			base = apply(t, base, p)
		}
		base = parse(t, base.String())
		for _, p := range history[len(history)-keep:] {
			again, err := state.ParsePatch(p.AppendJSON(nil))
			if err != nil {
				t.Fatal(err)
			}
			base = apply(t, base, again)
		}
		if base.String() != end.String() {
			t.Fatalf("history %v of %v, the last %d replayed, is %v; want %v", history, doc, keep, base, end)
		}
	})
}

// Of a batch made from one document those patches are taken that are in nobody's
// way; the document is as it was for the others.
func TestBatchOfParallelPatches(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"n":1,"tags":["a"]}`)
	batch := []state.Patch{
		ops(t, "increment /n; join:set /tags"),
		ops(t, "increment /n; set /title"),
		ops(t, "set /n"),           // in the way of the first
		ops(t, "join:set /tags/0"), // nested
		ops(t, "set /title/x"),     // nested
		ops(t, "join:set /tags; increment /n; set /other"),
	}
	for i := range batch {
		for j := range batch[i] {
			if batch[i][j].Lattice == state.LatticeSet {
				batch[i][j].Value = state.GrowSet(state.Int(int64(i)))
			}
		}
	}
	var taken state.Patch
	var lost []int
	for i, p := range batch {
		if c, ok := state.Conflicts(taken, p); ok {
			lost = append(lost, i)
			if c.Path == "" {
				t.Errorf("patch %d: conflict %v names no path", i, c)
			}
			continue
		}
		taken = append(taken, p...)
	}
	if len(lost) != 3 || lost[0] != 2 || lost[1] != 3 || lost[2] != 4 {
		t.Errorf("lost patches %v; want 2, 3 and 4", lost)
	}
	if got := apply(t, doc, taken).String(); got != `{"n":4,"other":1,"tags":[0,5,"a"],"title":1}` {
		t.Errorf("document = %s", got)
	}
}
