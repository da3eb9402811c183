package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage"
)

// talk makes messages of a script: u is a user message, aXY an assistant's
// with calls X and Y, tX the result of call X, s a system message.
func talk(script string) []selvage.Message {
	var messages []selvage.Message
	for word := range strings.FieldsSeq(script) {
		m := selvage.Message{Content: selvage.Text(word)}
		switch word[0] {
		case 'u':
			m.Role = selvage.RoleUser
		case 's':
			m.Role = selvage.RoleSystem
		case 'a':
			m.Role = selvage.RoleAssistant
			for _, id := range word[1:] {
				m.ToolCalls = append(m.ToolCalls, selvage.ToolCall{ID: string(id), Name: "tool"})
			}
		case 't':
			m.Role, m.ToolCallID = selvage.RoleTool, word[1:]
		}
		messages = append(messages, m)
	}
	return messages
}

// The model sees the last messages, every call with its result and no result
// without its call.
func TestWindow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		script string
		keep   int
		want   string
	}{
		{"", 3, ""},
		{"u1 a u2", 3, "u1 a u2"},
		{"u1 a u2 a u3", 3, "u2 a u3"},
		{"u1 aX tX a", 4, "u1 aX tX a"},
		{"u1 aX tX a", 3, "aX tX a"},
		{"u1 aX tX a", 2, "aX tX a"},                                    // the cut steps back to the call of a result
		{"u1 aXY tX tY a", 2, "aXY tX tY a"},                            // also for one of two
		{"u1 aX aY u2 tX tY", 1, "aY tY u2"},                            // and no further
		{"u1 aXYZ tX tY tZ", 2, "aXYZ tX tY tZ"},                        // never to nothing
		{"u1 tX", 1, "u1"},                                              // not even for a result of nothing
		{"aXY tY tX a", 9, "aXY tX tY a"},                               // results in the order of their calls
		{"aX u2 tX a", 9, "aX tX u2 a"},                                 // what came between comes after
		{"aX u2", 9, "aX [interrupted] u2"},                             // a result that is not there
		{"aXY tX u2", 9, "aXY tX [interrupted] u2"},                     // and one of two
		{"tX u1", 9, "u1"},                                              // a result of nothing
		{"s u1 aX", 9, "s u1 aX [interrupted]"},                         // at the end
		{"u1 aX tX aY tY a u2", 5, "aX tX aY tY a u2"},                  // cut between a call and its result
		{strings.Repeat("u a ", 300), 200, strings.Repeat("u a ", 100)}, // the default
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%.30s to %d", tt.script, tt.keep), func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range window(talk(tt.script), tt.keep) {
				got = append(got, m.Text())
			}
			if strings.Join(got, " ") != strings.TrimSpace(tt.want) {
				t.Errorf("window %v, want %s", got, tt.want)
			}
		})
	}
}

// However long a run takes, it keeps a bounded number of messages.
func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	l := &ledger{keep: 10}
	for i := range 1000 {
		l.remember([]selvage.Message{{Seq: int64(i)}})
		if len(l.window) > 20 {
			t.Fatalf("%d messages after %d", len(l.window), i)
		}
	}
	if last := l.window[len(l.window)-1].Seq; last != 999 || len(l.window) < 10 {
		t.Errorf("%d messages, the last is %d", len(l.window), last)
	}
}

// However small the room is, no call is separated from its result, something
// is given that is not only results, and it fits if anything can.
func TestFittingSeparatesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		script := rapid.SliceOfN(rapid.SampledFrom([]string{"u1", "a", "aA", "aB", "aCD", "tA", "tB", "tC", "tD", "s"}), 1, 30).Draw(t, "script")
		messages := talk(strings.Join(script, " "))
		room := rapid.IntRange(0, 120).Draw(t, "room")
		from := fitting(messages, room)
		kept := messages[from:]
		made := make(map[string]bool)
		for i := range messages {
			for _, c := range messages[i].ToolCalls {
				made[c.ID] = true
			}
		}
		for id := range torn(kept) {
			if made[id] && callOf(messages[:from], id) >= 0 {
				t.Fatalf("%v cut at %d separates call %s from its result", script, from, id)
			}
		}
		if whole := wholeFrom(messages); estimateAll(kept) > room {
			for i := from + 1; i < len(messages); i++ {
				if whole[i] && slices.ContainsFunc(messages[i:], func(m selvage.Message) bool { return m.Role != selvage.RoleTool }) {
					t.Fatalf("%v cut at %d takes %d of %d tokens, and could be cut at %d", script, from, estimateAll(kept), room, i)
				}
			}
		}
	})
}

// A provider that counts a few words otherwise than they are estimated does not
// have a long conversation overflow its window, or cut it down to nothing.
func TestScaleOfAFewWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		counted, estimated int64
		least, most        float64
	}{
		{1, 10, 0.9, 1},  // of a word
		{40, 10, 1, 1.2}, // of a word within a template
		{5_000, 10_000, 0.5, 0.6},
		{30_000, 10_000, 2.8, 3},
		{0, 10, 1, 1}, {10, 0, 1, 1}, // nothing is known
		{1, 1_000_000, 0.1, 0.1}, {100_000_000, 10_000, 10, 10}, // nobody counts like that
	}
	for _, tt := range tests {
		if got := scaleOf(tt.counted, tt.estimated); got < tt.least || got > tt.most {
			t.Errorf("%d counted for %d estimated is a scale of %g, want %g to %g", tt.counted, tt.estimated, got, tt.least, tt.most)
		}
	}
}
