package runner

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/selvagehq/selvage"
)

// What is taken as it stands is what arranging it would have made of it.
func TestTidyIsArranged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(draw *rapid.T) {
		var all []selvage.Message
		calls := 0
		for range rapid.IntRange(0, 8).Draw(draw, "messages") {
			m := selvage.Message{ID: fmt.Sprint(len(all)), Role: selvage.RoleAssistant}
			var results []selvage.Message
			for range rapid.IntRange(0, 2).Draw(draw, "calls") {
				calls++
				id := fmt.Sprint("c", calls)
				m.ToolCalls = append(m.ToolCalls, selvage.ToolCall{ID: id, Name: "t"})
				results = append(results, selvage.Message{ID: "r" + id, Role: selvage.RoleTool, ToolCallID: id})
			}
			all = append(append(all, m), results...)
		}
		if n := len(all); n > 0 && rapid.Bool().Draw(draw, "untidy") {
			i, j := rapid.IntRange(0, n-1).Draw(draw, "i"), rapid.IntRange(0, n-1).Draw(draw, "j")
			all[i], all[j] = all[j], all[i]
		}
		keep := rapid.IntRange(1, 12).Draw(draw, "keep")
		from := cut(all, keep)
		got := arrange(all[from:], func(string) bool { return false })
		whole := mend(all, max(0, len(all)-keep))
		if from != whole {
			draw.Fatalf("they are kept from %d on, want from %d", from, whole)
		}
		if diff := cmp.Diff(rearrange(all[whole:], func(string) bool { return false }), got, cmpopts.EquateEmpty()); diff != "" {
			draw.Fatal(diff)
		}
	})
}
