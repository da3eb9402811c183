package selvage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// conversation is n messages as an agent's loop leaves them: a question, a
// call, what the tool said, and an answer.
func conversation(n int) []Message {
	all := make([]Message, n)
	for i := range all {
		id := NewID()
		switch i % 4 {
		case 0:
			all[i] = UserText("What does the second paragraph of “notes.md” say, and who wrote it?")
		case 1:
			all[i] = Message{Role: RoleAssistant, RunID: "run-1", Step: 1, ToolCalls: []ToolCall{
				{ID: "call-" + id, Name: "read_file", Arguments: json.RawMessage(`{"path":"notes.md","lines":[10,40],"strict":true}`)}}}
		case 2:
			all[i] = Message{Role: RoleTool, ToolCallID: "call-" + id, RunID: "run-1", Step: 1,
				Content: Text(strings.Repeat("a line of a \"file\",\tas it was read\n", 12))}
		case 3:
			all[i] = Message{Role: RoleAssistant, RunID: "run-1", Step: 2,
				Content: Text(strings.Repeat("A sentence of the answer that the model gave. ", 8) + "\n\nThat is all.")}
		}
		all[i].ID = id
	}
	return all
}

// BenchmarkAddedMessages measures what it takes to decode the 200 messages
// that a load returns.
func BenchmarkAddedMessages(b *testing.B) {
	set := ChangeSet{ID: "set-1", RunID: "run-1", Messages: conversation(DefaultWindow)}
	body, err := EncodeBody(&set)
	if err != nil {
		b.Fatal(err)
	}
	c := Change{ID: set.ID, RunID: set.RunID, FirstSeq: 1, Added: len(set.Messages), Messages: body.Messages, Rest: body.Rest}
	b.SetBytes(int64(body.Size()))
	b.ReportAllocs()
	for b.Loop() {
		if m, err := c.AddedMessages(); err != nil || len(m) != DefaultWindow {
			b.Fatal(fmt.Errorf("%d messages: %w", len(m), err))
		}
	}
}
