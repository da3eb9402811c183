package commit

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/selvagehq/selvage"
)

// TestHistoryIsTheNaiveOne makes random histories and compares the stretches
// that are worked out with lists that were kept all along.
func TestHistoryIsTheNaiveOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 3))
		var rewinds []Rewind
		var lines [][]selvage.Version // by version: those it was made of
		var visible [][]int64         // by version: the seqs that can be seen
		var nexts []int64             // by version
		first, next := int64(1+random.IntN(3)), int64(0)
		next = first
		for v := selvage.Version(1); v <= 60; v++ {
			var line []selvage.Version
			var seen []int64
			switch {
			case v > 1 && random.IntN(4) == 0:
				to := selvage.Version(random.IntN(int(v)-1) + 1)
				rewinds = append(rewinds, Rewind{At: v, To: to, Next: next, Back: nexts[to-1]})
				line, seen = slices.Clone(lines[to-1]), slices.Clone(visible[to-1])
			case v > 1:
				line, seen = slices.Clone(lines[v-2]), slices.Clone(visible[v-2])
				fallthrough
			default:
				for range random.IntN(4) {
					seen = append(seen, next)
					next++
				}
			}
			lines, visible, nexts = append(lines, append(line, v)), append(visible, seen), append(nexts, next)
		}
		for v := selvage.Version(1); v <= 60; v++ {
			var line []selvage.Version
			for _, s := range Lineage(rewinds, 1, v) {
				for at := s.From; at <= s.To; at++ {
					line = append(line, at)
				}
			}
			segments := Visible(rewinds, first, v, nexts[v-1])
			if !slices.Equal(line, lines[v-1]) || !slices.Equal(flat(segments), visible[v-1]) {
				t.Fatalf("seed %d, version %d: lineage %v, visible %v; want %v and %v", seed, v, line, segments, lines[v-1], visible[v-1])
			}
			n := random.IntN(len(visible[v-1]) + 2)
			if got, want := flat(Window(segments, int64(n))), visible[v-1][max(0, len(visible[v-1])-n):]; !slices.Equal(got, want) {
				t.Errorf("seed %d, version %d: the last %d are %v, want %v", seed, v, n, got, want)
			}
			other := Visible(rewinds, first, lines[0][0]+v/2, nexts[v/2])
			var without []int64
			for _, seq := range visible[v-1] {
				if !slices.Contains(visible[v/2], seq) {
					without = append(without, seq)
				}
			}
			if got := flat(Without(segments, other)); !slices.Equal(got, without) {
				t.Errorf("seed %d, version %d without %d: %v, want %v", seed, v, v/2+1, got, without)
			}
		}
		if again, err := UnpackRewinds(PackRewinds(rewinds)); err != nil || !reflect.DeepEqual(again, rewinds) {
			t.Errorf("seed %d: packed and unpacked %v, error %v, want %v", seed, again, err, rewinds)
		}
	}
}

func flat(segments []Segment) (seqs []int64) {
	for _, s := range segments {
		for seq := s.First; seq <= s.Last; seq++ {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

func TestUnpackRewindsRefusesDamage(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{{1}, {0, 1, 1, 0}, {2, 3, 1, 0}, {2, 1, 1, 1}, {0xff, 0xff}} {
		if got, err := UnpackRewinds(b); err == nil {
			t.Errorf("UnpackRewinds(%v) = %v; want an error", b, got)
		}
	}
}
