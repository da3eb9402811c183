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
