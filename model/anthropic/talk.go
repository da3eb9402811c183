package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model/internal/service"
)

const (
	user      = anthropic.MessageParamRoleUser
	assistant = anthropic.MessageParamRoleAssistant
)

// What the user says where the protocol wants a word and there is none.
const (
	goneBefore = "(What was said before this is left out.)"
	yourTurn   = "(It is your turn.)"
	noResult   = "(no result)"
)

// The signatures that are this provider's, since a conversation may have been
// with others too: of thinking that is shown, and the whole of what is not.
const (
	thinkingTag = "anthropic:"
	redactedTag = "anthropic-redacted:"
)

// talk is a conversation in the shape of the protocol.
type talk struct {
	messages []anthropic.MessageParam
	first    int // the index of the first message in the request
}

// add appends blocks to the last message if it is of the same role, else as a
// new one.
func (t *talk) add(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if n := len(t.messages); n > 0 && t.messages[n-1].Role == role {
		t.messages[n-1].Content = append(t.messages[n-1].Content, blocks...)
		return
	}
	t.messages = append(t.messages, anthropic.MessageParam{Role: role, Content: blocks})
}

// say appends text of the user, unless it is empty.
func (t *talk) say(text string) {
	if said(text) {
		t.add(user, anthropic.NewTextBlock(text))
	}
}

// addAll puts messages into the talk, each result behind its call.
func (t *talk) addAll(messages []selvage.Message) error {
	results := map[string]*selvage.Message{}
	called := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		for _, c := range m.ToolCalls {
			called[c.ID] = true
		}
		if m.Role == selvage.RoleTool && called[m.ToolCallID] && results[m.ToolCallID] == nil {
			results[m.ToolCallID] = m
		}
	}
	for i := range messages {
		m := &messages[i]
		var err error
		switch m.Role {
		case selvage.RoleSystem:
			if text := service.Plain(m.Content); said(text) {
				t.say(service.Aside(text))
			}
		case selvage.RoleUser:
			var blocks []anthropic.ContentBlockParamUnion
			blocks, err = userBlocks(m.Content)
			t.add(user, blocks...)
		case selvage.RoleAssistant:
			t.addAssistant(m, results)
		case selvage.RoleTool:
			if results[m.ToolCallID] != m {
				t.say(service.Aside("The result of an earlier call: " + service.Plain(m.Content)))
			}
		default:
			err = fmt.Errorf("%q is not a role", m.Role)
		}
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", t.first+i, err)
		}
	}
	return nil
}

// frame makes the user begin and end the conversation.
func (t *talk) frame() {
	switch n := len(t.messages); {
	case n == 0:
		t.say(yourTurn)
	case t.messages[0].Role == assistant:
		t.messages = append([]anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(goneBefore))}, t.messages...)
	}
	if t.messages[len(t.messages)-1].Role == assistant {
		t.say(yourTurn)
	}
}

// addAssistant adds what the assistant said, its calls and, behind them, their
// results.
func (t *talk) addAssistant(m *selvage.Message, results map[string]*selvage.Message) {
	for i := range m.Content {
		p := &m.Content[i]
		switch {
		case p.Type == selvage.PartReasoning:
			if data, is := strings.CutPrefix(p.Signature, redactedTag); is {
				t.add(assistant, anthropic.NewRedactedThinkingBlock(data))
			} else if signature, is := strings.CutPrefix(p.Signature, thinkingTag); is {
				t.add(assistant, anthropic.NewThinkingBlock(signature, p.Text))
			}
		default:
			if text := service.Plain(m.Content[i : i+1]); said(text) {
				t.add(assistant, anthropic.NewTextBlock(text))
			}
		}
	}
	for _, c := range m.ToolCalls {
		t.add(assistant, anthropic.NewToolUseBlock(wireID(c.ID), input(c.Arguments), c.Name))
	}
	for _, c := range m.ToolCalls {
		t.add(user, resultBlock(c.ID, results[c.ID]))
	}
}

// wireID is id in the letters that the protocol takes.
func wireID(id string) string {
	foreign := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	if id != "" && !strings.ContainsFunc(id, foreign) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:10])
}

// input is the arguments of a call as the object that they have to be.
func input(arguments json.RawMessage) json.RawMessage {
	switch {
	case len(arguments) == 0:
		return json.RawMessage("{}")
	case json.Valid(arguments) && strings.HasPrefix(strings.TrimSpace(string(arguments)), "{"):
		return arguments
	}
	data, err := json.Marshal(map[string]string{"not_an_object": service.Written(arguments)})
	if err != nil { // strings always have JSON
		panic(err)
	}
	return data
}
