package runner

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/selvagehq/selvage"
)

// What a glance at a window says is what going through all of it would have
// said, however the window came to be: grown, trimmed or loaded anew.
func TestGlanceIsCompose(t *testing.T) {
	t.Parallel()
	glances := 0
	rapid.Check(t, func(draw *rapid.T) {
		x := &run{ledger: ledger{keep: rapid.IntRange(1, 12).Draw(draw, "keep")}}
		x.context.rules.Tokens = rapid.SampledFrom([]int{0, 0, 60, 200}).Draw(draw, "tokens")
		seq := int64(rapid.IntRange(0, 3).Draw(draw, "before"))
		for range rapid.IntRange(1, 4).Draw(draw, "changes") {
			more := conversation(draw, &seq)
			switch rapid.IntRange(0, 5).Draw(draw, "how") {
			case 0: // read back from before
				x.window = append(more, x.window...)
			case 1: // loaded anew, and something was erased since
				head := selvage.Head{Messages: append([]selvage.Message(nil), x.window...)}
				if n := len(head.Messages); n > 0 {
					head.Messages[rapid.IntRange(0, n-1).Draw(draw, "erased")].Erased = true
				}
				x.load(&head)
			default:
				x.remember(more)
			}
			view, f, ok := x.glance()
			if !ok {
				continue
			}
			glances++
			s := x.survey
			x.pending.calls = make([]selvage.CallUpdate, 1) // so that there is no glance
			wantView, wantFrame := x.compose()
			x.pending, x.survey = delta{}, s
			if diff := cmp.Diff(wantView, view, cmpopts.EquateEmpty()); diff != "" {
				draw.Fatalf("the view (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantFrame, f, cmpopts.EquateEmpty()); diff != "" {
				draw.Fatalf("its account (-want +got):\n%s", diff)
			}
		}
	})
	if glances == 0 {
		t.Error("no window was taken at a glance")
	}
}

// conversation draws messages that follow on a seq, mostly in order.
func conversation(draw *rapid.T, seq *int64) []selvage.Message {
	var all []selvage.Message
	add := func(m selvage.Message) {
		*seq++
		m.ID, m.Seq, m.Content = fmt.Sprint("m", *seq), *seq, selvage.Text(fmt.Sprintf("%0*d", 1+*seq%40, 1))
		all = append(all, m)
	}
	for range rapid.IntRange(0, 5).Draw(draw, "messages") {
		m := selvage.Message{Role: selvage.RoleAssistant}
		for c := range rapid.IntRange(0, 2).Draw(draw, "calls") {
			m.ToolCalls = append(m.ToolCalls, selvage.ToolCall{ID: fmt.Sprint("c", *seq, "-", c), Name: "t"})
		}
		add(m)
		for _, c := range m.ToolCalls {
			add(selvage.Message{Role: selvage.RoleTool, ToolCallID: c.ID})
		}
	}
	switch n := len(all); {
	case n == 0:
	case rapid.IntRange(0, 5).Draw(draw, "odd") == 0:
		all = all[rapid.IntRange(0, n).Draw(draw, "lost"):] // a call, perhaps, or seqs
	case rapid.IntRange(0, 5).Draw(draw, "cut off") == 0:
		all = all[:rapid.IntRange(0, n).Draw(draw, "left")] // results, perhaps
	case rapid.IntRange(0, 5).Draw(draw, "summed up") == 0:
		mark(&all[n-1], MetadataSummary, summaryMark{})
		all[n-1].Visibility = selvage.VisibleInternal
	}
	return all
}
