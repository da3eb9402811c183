package state_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

// diff checks that a diff does what it says.
func diff(t tb, a, b state.Document) state.Patch {
	t.Helper()
	p := state.Diff(a, b)
	if got := apply(t, a, p); !got.Equal(b) {
		t.Fatalf("diff of %v and %v is %s, which leads to %v", a, b, p.AppendJSON(nil), got)
	}
	if (p == nil) != a.Equal(b) {
		t.Fatalf("diff of %v and %v is %s", a, b, p.AppendJSON(nil))
	}
	return p
}

func TestDiff(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	tests := []struct{ a, b, want string }{
		{`{}`, `{}`, `[]`},
		{`{"a":1}`, `{"a":1.0}`, `[]`},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, `[{"op":"set","path":"/a","value":9007199254740992}]`},
		{`{"a":1e400}`, `{"a":1e401}`, `[{"op":"set","path":"/a","value":1e401}]`},
		{`{"a":1,"b":2}`, `{"b":2,"c":3}`, `[{"op":"delete","path":"/a"},{"op":"set","path":"/c","value":3}]`},
		{`{"a/b":{"~é":1,"":2}}`, `{"a/b":{"~é":2,"":2}}`, `[{"op":"set","path":"/a~1b/~0é","value":2}]`},
		{`{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":2}}}`, `[{"op":"set","path":"/a/b/c","value":2}]`},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"d":1}}`, `[{"op":"set","path":"/a","value":{"d":1}}]`}, // shorter as a whole
		{`{"a":[]}`, `{"a":{}}`, `[{"op":"set","path":"/a","value":{}}]`},
		{`{"a":null}`, `{}`, `[{"op":"delete","path":"/a"}]`},
		{`{}`, `{"a":null}`, `[{"op":"set","path":"/a","value":null}]`},
		{`{"l":["` + long + `","b"]}`, `{"l":["` + long + `","b","c","d"]}`, `[{"op":"append","path":"/l","value":"c"},{"op":"append","path":"/l","value":"d"}]`},
		{`{"l":["a","` + long + `"]}`, `{"l":["` + long + `"]}`, `[{"op":"delete","path":"/l/0"}]`},
		{`{"l":["` + long + `"]}`, `{"l":["a","b","` + long + `"]}`, `[{"op":"insert","path":"/l/0","value":"a"},{"op":"insert","path":"/l/1","value":"b"}]`},
		{`{"l":[1,2,"` + long + `",3]}`, `{"l":[2,"` + long + `",3,4]}`, `[{"op":"append","path":"/l","value":4},{"op":"delete","path":"/l/0"}]`},
		{`{"l":["` + long + `",{"a":1,"b":"` + long + `"},1]}`, `{"l":["` + long + `",{"a":2,"b":"` + long + `"},1]}`, `[{"op":"set","path":"/l/1/a","value":2}]`},
		{`{"l":[1,2,3]}`, `{"l":[3,2,1]}`, `[{"op":"set","path":"/l","value":[3,2,1]}]`},
		{`{"a":1,"b":2,"c":3}`, `{}`, `[{"op":"delete","path":"/a"},{"op":"delete","path":"/b"},{"op":"delete","path":"/c"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.a+" "+tt.b, func(t *testing.T) {
			t.Parallel()
			if got := string(diff(t, parse(t, tt.a), parse(t, tt.b)).AppendJSON(nil)); got != tt.want {
				t.Errorf("Diff = %s; want %s", got, tt.want)
			}
		})
	}
}

func TestDiffOfAnyTwo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genDocument().Draw(t, "a"), genDocument().Draw(t, "b")
		diff(t, a, b)
		diff(t, a, a)
		// one that shares most with the other
		p, _ := genPatch(a, 4, opKinds...).Draw(t, "patch").Apply(a)
		diff(t, a, p)
		diff(t, p, a)
	})
}

// Arrays that share parts at other indexes are told apart where they differ.
func TestDiffOfShiftedArrays(t *testing.T) {
	t.Parallel()
	list := value(t, "["+strings.Repeat("null,", 8*state.Fanout)+`{"a":1}]`)
	for _, at := range []int{0, 1, state.Fanout - 1, state.Fanout, 3*state.Fanout + 5} {
		a := apply(t, state.Document{}, state.Patch{state.Set("/l", list)})
		place := state.At("l", fmt.Sprint(at))
		for _, p := range []state.Patch{{state.Delete(place)}, {state.Insert(place, state.Null())}, {state.Insert(place, state.Int(1))}, {state.Insert("/l/5", state.Int(1)), state.Delete(place)}} {
			b := apply(t, a, p)
			if ab, ba := diff(t, a, b), diff(t, b, a); len(ab) > len(p) || len(ba) > len(p) {
				t.Errorf("after %v the diffs are %v and %v", p, ab, ba)
			}
		}
	}
}

// genList draws an array in which elements repeat.
func genList(most int) *rapid.Generator[state.Value] {
	return rapid.Custom(func(t *rapid.T) state.Value {
		elements := []string{`1`, `1.0`, `"` + strings.Repeat("x", 40) + `"`, `[1,"aaaaaaaaaaaaaaaaaaaaaaaaaa"]`, `{"a":[2],"b":"bbbbbbbbbbbbbbbbbbbbbbbb"}`, `null`, `[1.0,"aaaaaaaaaaaaaaaaaaaaaaaaaa"]`}
		list := rapid.SliceOfN(rapid.SampledFrom(elements), 0, most).Draw(t, "list")
		return value(t, "["+strings.Join(list, ",")+"]")
	})
}

func TestDiffOfArrays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genList(80).Draw(t, "a"), genList(80).Draw(t, "b")
		wrap := func(v state.Value) state.Document {
			return apply(t, state.Document{}, state.Patch{state.Set("/x/l", v)})
		}
		p := diff(t, wrap(a), wrap(b))
		whole := state.Patch{state.Set("/x/l", b)}
		if got, most := len(p.AppendJSON(nil)), len(whole.AppendJSON(nil)); got > most+most/2+20 {
			t.Fatalf("diff of %d bytes where a set has %d", got, most)
		}
	})
}

// The search finds a longest common subsequence: no more elements are taken out
// and put in than the textbook table says.
func TestDiffIsMinimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 40).Draw(t, "a")
		b := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 40).Draw(t, "b")
		runs, ok := state.CommonRuns(a, b)
		if !ok {
			t.Fatalf("gave up on %v and %v", a, b)
		}
		common, i, j := 0, 0, 0
		for _, r := range runs {
			if r[0] < i || r[1] < j || r[2] < 1 {
				t.Fatalf("runs %v out of order", runs)
			}
			for k := range r[2] {
				if a[r[0]+k] != b[r[1]+k] {
					t.Fatalf("runs %v of %v and %v are not common", runs, a, b)
				}
			}
			i, j, common = r[0]+r[2], r[1]+r[2], common+r[2]
		}
		if want := longestCommon(a, b); common != want {
			t.Fatalf("%d elements of %v and %v in common; want %d", common, a, b, want)
		}
	})
}

func longestCommon(a, b []int) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := 1; i > 0 && j <= len(b); j++ {
			table[i][j] = max(table[i-1][j], table[i][j-1])
			if a[i-1] == b[j-1] {
				table[i][j] = table[i-1][j-1] + 1
			}
		}
	}
	return table[len(a)][len(b)]
}

// Huge documents and hostile ones cost a bounded time.
func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	list := func(n, values int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%d,`, random.IntN(values))
			_ = i
		}
		return `{"l":[` + b.String() + `0]}`
	}
	powers := func(from int) string {
		var b strings.Builder
		for i := range 50_000 {
			fmt.Fprintf(&b, `1e%d,`, from+i*2)
		}
		return `{"l":[` + b.String() + `0]}`
	}
	nested := func(last string) string {
		open := strings.Repeat(`[0,`, 400)
		return `{"l":` + open + `[` + strings.Repeat(`"`+strings.Repeat("x", 100)+`",`, 5_000) + last + `]` + strings.Repeat(`,0]`, 400) + `}`
	}
	for name, pair := range map[string][2]string{
		"little in common": {list(60_000, 1_000_000), list(60_000, 1_000_000)},
		"two values":       {list(60_000, 2), list(60_000, 2)},
		"powers of ten":    {powers(0), powers(1)},
		"deep":             {nested("1,2"), nested("2,1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := parse(t, pair[0]), parse(t, pair[1])
			start := time.Now()
			diff(t, a, b)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, `{"n":%d},`, i)
	}
	a := parse(t, `{"l":[`+text.String()+`0]}`)
	b := apply(t, a, state.Patch{state.Delete("/l/0"), state.Append("/l", state.Int(1)), state.Set("/l/5000/n", state.Int(-1)), state.Insert("/l/90000", state.Null())})
	if p := diff(t, a, b); len(p) != 4 {
		t.Errorf("diff = %s; want 4 ops", p.AppendJSON(nil))
	}
}
