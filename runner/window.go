package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// interrupted stands in for the result of a call that has none. It is shown to
// the model only.
const interrupted = "[interrupted]"

// undecided stands in for the result of a call that waits. It is shown to the
// model only.
const undecided = "[waiting for a decision]"

// erased stands in for content that was erased: providers refuse a message
// without any, and the model should not guess.
const erased = "[erased]"

// shown is a message as the model is given it.
func shown(m *selvage.Message) selvage.Message {
	if !m.Erased {
		return *m
	}
	view := *m
	view.Content = selvage.Text(erased)
	view.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range view.ToolCalls {
		view.ToolCalls[i].Arguments = []byte("{}")
	}
	return view
}

// window returns what the model is to see of a conversation: its last keep
// messages and the calls that they are results of, in which every call is
// directly followed by its result and every result follows its call.
func window(messages []selvage.Message, keep int) []selvage.Message {
	return arrange(messages[cut(messages, keep):], func(string) bool { return false })
}

// arrange returns messages with every call directly followed by its result, or
// by what stands in for it, and without results of calls that are not among
// them.
func arrange(messages []selvage.Message, waits func(callID string) bool) []selvage.Message {
	if tidy(messages) {
		return slices.Clip(messages)
	}
	return rearrange(messages, waits)
}

func rearrange(messages []selvage.Message, waits func(callID string) bool) []selvage.Message {
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
			continue // where its call is, or nowhere if it has none
		}
		view = append(view, shown(m))
		for _, c := range m.ToolCalls {
			if result := results[c.ID]; result != nil {
				view = append(view, shown(result))
			} else if waits(c.ID) {
				view = append(view, resultMessage(c.ID, tool.Text(undecided)))
			} else {
				view = append(view, resultMessage(c.ID, tool.Failed(interrupted)))
			}
		}
	}
	return view
}

// tidy reports whether there is nothing to arrange: every call is directly
// followed by its result, every result follows its call, and nothing is erased.
// Nearly all conversations are, and need no copy.
func tidy(messages []selvage.Message) bool {
	for i := 0; i < len(messages); {
		m := &messages[i]
		if m.Erased || m.Role == selvage.RoleTool {
			return false
		}
		i++
		for c := range m.ToolCalls {
			if i == len(messages) || messages[i].Erased || messages[i].Role != selvage.RoleTool || messages[i].ToolCallID != m.ToolCalls[c].ID {
				return false
			}
			i++
		}
	}
	return true
}

// cut returns the index from which messages are kept if the last keep of them
// are, so that none of these is separated from its call. Not only results are
// kept, if there is anything else.
func cut(messages []selvage.Message, keep int) int {
	from := max(0, len(messages)-keep)
	whole := from
	for whole > 0 && whole < len(messages) && messages[whole].Role == selvage.RoleTool {
		whole--
	}
	if tidy(messages[whole:]) {
		return whole
	}
	return mend(messages, from)
}

// mend returns the index from which messages are kept if those from an index on
// are, so that none of these is separated from its call.
func mend(messages []selvage.Message, from int) int {
	for id := range torn(messages[from:]) {
		if i := callOf(messages[:from], id); i >= 0 {
			from = i
		}
	}
	for from > 0 && !slices.ContainsFunc(messages[from:], func(m selvage.Message) bool { return m.Role != selvage.RoleTool }) {
		from--
	}
	return from
}

// torn returns the ids of the calls that are answered among messages, but not
// made there.
func torn(messages []selvage.Message) map[string]bool {
	if tidy(messages) {
		return nil
	}
	made := make(map[string]bool)
	var results map[string]bool
	for i := range messages {
		for _, c := range messages[i].ToolCalls {
			made[c.ID] = true
		}
		if m := &messages[i]; m.Role == selvage.RoleTool && !made[m.ToolCallID] {
			if results == nil {
				results = make(map[string]bool)
			}
			results[m.ToolCallID] = true
		}
	}
	maps.DeleteFunc(results, func(id string, _ bool) bool { return made[id] })
	return results
}

// lastOpen returns the index of the last message that makes a call, if one of
// its calls has no result, or -1.
func lastOpen(messages []selvage.Message) int {
	answered := make(map[string]bool)
	for i := range slices.Backward(messages) {
		m := &messages[i]
		if m.Role == selvage.RoleTool {
			answered[m.ToolCallID] = true
		}
		if len(m.ToolCalls) > 0 {
			if slices.ContainsFunc(m.ToolCalls, func(c selvage.ToolCall) bool { return !answered[c.ID] }) {
				return i
			}
			return -1
		}
	}
	return -1
}

// callOf returns the index of the last message that makes a call, or -1.
func callOf(messages []selvage.Message, id string) int {
	for i := range slices.Backward(messages) {
		if slices.ContainsFunc(messages[i].ToolCalls, func(c selvage.ToolCall) bool { return c.ID == id }) {
			return i
		}
	}
	return -1
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

// announced adds to a view which results have come after the last answer, if
// the model would not find them there: because the view ends with that answer,
// or because the call of a result is no longer shown.
func announced(messages, view []selvage.Message) []selvage.Message {
	last := -1
	for i := range messages {
		if messages[i].Role == selvage.RoleAssistant {
			last = i
		}
	}
	from := last + 1
	if last >= 0 {
		// What was recorded while the last answer came is new to the model too.
		sent := frameIn(&messages[last])
		for sent != nil && from > 0 && (from > last || messages[from-1].Seq > sent.ToSeq) {
			from--
		}
	}
	ends := len(view) > 0 && view[len(view)-1].Role == selvage.RoleAssistant
	var notes []string
	for i := from; i < len(messages); i++ {
		m := &messages[i]
		if m.Role != selvage.RoleTool {
			continue
		}
		switch call := callOf(messages, m.ToolCallID); {
		case call < 0:
			notes = append(notes, fmt.Sprintf("[The result of an earlier call, %s, has arrived: %s]", m.ToolCallID, shownText(m)))
		case call <= last && ends:
			notes = append(notes, fmt.Sprintf("[The result of %s has arrived; it stands at its call %s.]", calledName(&messages[call], m.ToolCallID), m.ToolCallID))
		}
	}
	if len(notes) == 0 {
		return view
	}
	note := selvage.UserText(strings.Join(notes, "\n"))
	note.Visibility = selvage.VisibleInternal // no user said it
	return append(view, note)
}

// shownText is the text of a message as the model is given it.
func shownText(m *selvage.Message) string {
	view := shown(m)
	return view.Text()
}

// calledName is the name of the tool that a call of a message is for.
func calledName(m *selvage.Message, callID string) string {
	for _, c := range m.ToolCalls {
		if c.ID == callID {
			return c.Name
		}
	}
	return ""
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

// resultMessage is the message that answers a call.
func resultMessage(callID string, result selvage.ToolResult) selvage.Message {
	m := selvage.Message{Role: selvage.RoleTool, ToolCallID: callID, Content: result.Content}
	if result.Failed {
		mark(&m, MetadataFailed, true)
	}
	return m
}
