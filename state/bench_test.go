package state_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/selvagehq/selvage/state"
)

var benchSizes = []int{10, 10_000}

func benchDocument(b *testing.B, keys int) state.Document {
	b.Helper()
	doc, err := state.DocumentOf(numbers(b, keys))
	if err != nil {
		b.Fatal(err)
	}
	return doc
}

func BenchmarkApplySet(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			doc := benchDocument(b, n)
			p := state.Patch{state.Set(state.At(fmt.Sprintf("key%06d", n/2)), state.Int(-1))}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Apply(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Many ops in one patch copy what they touch once.
func BenchmarkApplyPatchOf100(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			doc := benchDocument(b, n)
			var p state.Patch
			for i := range 100 {
				p = append(p, state.Set(state.At(fmt.Sprintf("key%06d", i%n)), state.Int(-1)))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Apply(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkApplyAppend(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("elements=%d", n), func(b *testing.B) {
			list, err := state.ValueOf(make([]int, n))
			if err != nil {
				b.Fatal(err)
			}
			doc, _ := state.Patch{state.Set("/log", list)}.Apply(state.Document{})
			p := state.Patch{state.Append("/log", state.String("entry"))}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Apply(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			doc := benchDocument(b, n)
			buf := doc.AppendJSON(nil)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				buf = doc.AppendJSON(buf[:0])
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, n := range benchSizes {
		text := benchDocument(b, n).AppendJSON(nil)
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := state.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("keys=%d/encoding-json", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				var m map[string]any
				if err := json.Unmarshal(text, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParsePatch(b *testing.B) {
	text := []byte(`[{"op":"set","path":"/user/name","value":"Ada"},{"op":"increment","path":"/tokens","value":12}]`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := state.ParsePatch(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConflicts(b *testing.B) {
	for _, n := range []int{3, 1000} {
		b.Run(fmt.Sprintf("ops=%d", n), func(b *testing.B) {
			var left, right state.Patch
			for i := range n {
				left = append(left, state.Set(state.At("left", fmt.Sprint(i)), state.Null()))
				right = append(right, state.Set(state.At("right", fmt.Sprint(i)), state.Null()))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := state.Conflicts(left, right); ok {
					b.Fatal("conflict")
				}
			}
		})
	}
}

func BenchmarkJoinORSet(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			var set state.ORSet
			for i := range n {
				var err error
				if set, err = set.Add(fmt.Sprintf("entry%06d", i)); err != nil {
					b.Fatal(err)
				}
			}
			doc, err := state.Patch{state.Join("/tags", state.LatticeORSet, set.Value())}.Apply(state.Document{})
			if err != nil {
				b.Fatal(err)
			}
			more, err := set.Add("more")
			if err != nil {
				b.Fatal(err)
			}
			v, _ := doc.Get("/tags")
			read, err := state.ORSetOf(v)
			if err != nil || len(read.Elements()) != n || more.Delta().Len() != n+1 {
				b.Fatal(err)
			}
			delta, err := read.Add("more")
			if err != nil {
				b.Fatal(err)
			}
			p := state.Patch{state.Join("/tags", state.LatticeORSet, delta.Delta())}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Apply(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What two versions share is not looked at: a diff costs what changed.
func BenchmarkDiff(b *testing.B) {
	for _, n := range benchSizes {
		doc := benchDocument(b, n)
		doc, err := state.Patch{state.Set("/list", doc.Root()), state.Append("/log", state.Null())}.Apply(doc)
		if err != nil {
			b.Fatal(err)
		}
		next, err := state.Patch{state.Set(state.At("list", fmt.Sprintf("key%06d", n/2)), state.Int(-1))}.Apply(doc)
		if err != nil {
			b.Fatal(err)
		}
		reread, err := state.Parse(next.AppendJSON(nil))
		if err != nil {
			b.Fatal(err)
		}
		for name, other := range map[string]state.Document{"shared": next, "reread": reread} {
			b.Run(fmt.Sprintf("keys=%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if len(state.Diff(doc, other)) != 1 {
						b.Fatal("more than one op")
					}
				}
			})
		}
	}
}

func BenchmarkDiffArray(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("elements=%d", n), func(b *testing.B) {
			list := make([]string, n)
			for i := range list {
				list[i] = fmt.Sprintf("element number %d", i)
			}
			before, err := state.ValueOf(map[string]any{"l": list})
			if err != nil {
				b.Fatal(err)
			}
			after, err := state.ValueOf(map[string]any{"l": append(append([]string{"new"}, list[1:n/2]...), list[n/2+1:]...)})
			if err != nil {
				b.Fatal(err)
			}
			x, _ := state.DocumentOf(before)
			y, _ := state.DocumentOf(after)
			b.ReportAllocs()
			for b.Loop() {
				if len(state.Diff(x, y)) != 2 {
					b.Fatal("not two ops")
				}
			}
		})
	}
}

func BenchmarkFromJSONPatch(b *testing.B) {
	text := []byte(`[{"op":"test","path":"/key000003","value":3},{"op":"replace","path":"/key000003","value":4},{"op":"add","path":"/name","value":"Ada"}]`)
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			doc := benchDocument(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := state.FromJSONPatch(doc, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendCanonical(b *testing.B) {
	doc := benchDocument(b, 10_000)
	buf := doc.AppendCanonical(nil)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = doc.AppendCanonical(buf[:0])
	}
}
