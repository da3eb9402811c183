package selvage

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// Role says who speaks in a message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Visibility says who is shown a message. The empty value is VisibleAll.
type Visibility string

// The visibilities. An internal message reaches the model, not the user.
const (
	VisibleAll      Visibility = "all"
	VisibleInternal Visibility = "internal"
)

// Message is one entry of a thread's conversation. ID may be left empty: the
// store then derives one. Seq and CreatedAt are the store's to assign; what a
// caller puts there is ignored.
type Message struct {
	ID         string                     `json:"id,omitempty"`
	Seq        int64                      `json:"seq,omitempty"` // 1-based, dense in the log, never reused
	Role       Role                       `json:"role"`
	Content    Content                    `json:"content,omitempty"`
	ToolCalls  []ToolCall                 `json:"tool_calls,omitempty"`   // assistant only
	ToolCallID string                     `json:"tool_call_id,omitempty"` // tool only: the call this answers
	Visibility Visibility                 `json:"visibility,omitempty"`
	RunID      RunID                      `json:"run_id,omitempty"` // the run that produced it; empty means the change set's
	Step       int                        `json:"step,omitempty"`   // the turn of that run, from 1
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
	CreatedAt  time.Time                  `json:"created_at,omitzero"` // when its change was appended
	// Erased marks the skeleton of a message whose content, metadata and call
	// arguments were erased; see [Eraser]. Only a store says so.
	Erased bool `json:"erased,omitempty"`
}

// Text returns the text parts of the message, joined.
func (m Message) Text() string { return m.Content.Text() }

// Internal reports whether the message is hidden from the user.
func (m Message) Internal() bool { return m.Visibility == VisibleInternal }

// UserText returns a user message that says text.
func UserText(text string) Message { return Message{Role: RoleUser, Content: Text(text)} }

// ToolCall is an assistant's request to run a tool.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // a JSON object
}

// PartType names the kinds of content.
type PartType string

// The kinds of content.
const (
	PartText      PartType = "text"
	PartImage     PartType = "image"
	PartFile      PartType = "file"
	PartReasoning PartType = "reasoning"
	PartData      PartType = "data"
)

// Part is one piece of a message's content. An image or file is inline (Data)
// or refers to a blob (Blob), never both. A blob whose id begins with
// [BlobScheme] must have been put into the store.
type Part struct {
	Type      PartType        `json:"type"`
	Text      string          `json:"text,omitempty"`       // text, reasoning
	MediaType string          `json:"media_type,omitempty"` // image, file
	Name      string          `json:"name,omitempty"`       // image, file
	Data      []byte          `json:"data,omitempty"`       // image, file: inline bytes
	Blob      string          `json:"blob,omitempty"`       // image, file: an id of [Blobs], or a reference of the caller's own
	Value     json.RawMessage `json:"value,omitempty"`      // data: any JSON
	Signature string          `json:"signature,omitempty"`  // reasoning: what the provider wants back
}

// Content is the body of a message. In JSON a plain string stands for a single
// text part when read; it is always written as parts.
type Content []Part

// Text returns content of a single text part.
func Text(text string) Content { return Content{{Type: PartText, Text: text}} }

// Text returns the text parts, joined.
func (c Content) Text() string {
	if len(c) == 1 && c[0].Type == PartText {
		return c[0].Text
	}
	var b strings.Builder
	for _, p := range c {
		if p.Type == PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*c = Text(text)
		return nil
	}
	if parts, ok := readContent(data); ok {
		*c = parts
		return nil
	}
	// A custom unmarshaler ends the outer decoder's strictness, so it is
	// restored here; stored content is read back by the same rule.
	var parts []Part
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&parts); err != nil {
		return err
	}
	*c = parts
	return nil
}
