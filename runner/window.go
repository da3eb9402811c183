package runner

import (
	"encoding/json"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// interrupted stands in for the result of a call that has none. It is shown to
// the model only.
const interrupted = "[interrupted]"

// window returns what the model is to see of a conversation: its last keep
// messages, in which every call is directly followed by its result and every
// result follows its call.
func window(messages []selvage.Message, keep int) []selvage.Message {
	if len(messages) > keep {
		messages = messages[len(messages)-keep:]
	}
	results := make(map[string]*selvage.Message)
	for i := range messages {
		if m := &messages[i]; m.Role == selvage.RoleTool {
			results[m.ToolCallID] = m
		}
	}
	view := make([]selvage.Message, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		if m.Role == selvage.RoleTool {
			continue // where its call is, or nowhere if that was cut off
		}
		view = append(view, *m)
		for _, c := range m.ToolCalls {
			if result := results[c.ID]; result != nil {
				view = append(view, *result)
			} else {
				view = append(view, resultMessage(c.ID, tool.Failed(interrupted)))
			}
		}
	}
	return view
}

// messages returns the end of the conversation, recorded or to be, of which
// the last keep messages are the window.
func (x *run) messages() []selvage.Message {
	all := append(slices.Clip(x.window), x.pending.messages...)
	for i := len(x.window); i < len(all); i++ {
		if all[i].RunID == "" {
			all[i].RunID = x.id // as the store will
		}
	}
	return all
}

// unanswered returns the calls of a run among messages that have no result
// there, in order.
func unanswered(messages []selvage.Message, run selvage.RunID) []selvage.ToolCall {
	answered := make(map[string]bool)
	for i := range messages {
		if messages[i].Role == selvage.RoleTool {
			answered[messages[i].ToolCallID] = true
		}
	}
	var calls []selvage.ToolCall
	for i := range messages {
		for _, c := range messages[i].ToolCalls {
			if !answered[c.ID] && messages[i].RunID == run {
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// MetadataFailed is the key in the metadata of a tool message whose call
// failed. Its value is true.
const MetadataFailed = "failed"

// resultMessage is the message that answers a call.
func resultMessage(callID string, result selvage.ToolResult) selvage.Message {
	m := selvage.Message{Role: selvage.RoleTool, ToolCallID: callID, Content: result.Content}
	if result.Failed {
		m.Metadata = map[string]json.RawMessage{MetadataFailed: json.RawMessage("true")}
	}
	return m
}
