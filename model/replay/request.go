package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// asked is a request as far as it matters to its answer, without secrets.
type asked struct {
	System    string    `json:"system,omitempty"`
	Messages  []message `json:"messages"`
	Tools     []offered `json:"tools,omitempty"`
	Prefix    string    `json:"prefix,omitempty"`
	MaxOutput int       `json:"max_output_tokens,omitempty"`
}

type message struct {
	Role       selvage.Role `json:"role"`
	Content    []part       `json:"content,omitempty"`
	ToolCalls  []called     `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type part struct {
	Type      selvage.PartType `json:"type"`
	Text      string           `json:"text,omitempty"`
	MediaType string           `json:"media_type,omitempty"`
	Name      string           `json:"name,omitempty"`
	SHA256    string           `json:"sha256,omitempty"` // of the bytes
	Blob      string           `json:"blob,omitempty"`
	Value     json.RawMessage  `json:"value,omitempty"`
}

type called struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

type offered struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// reduce returns what of req matters. Ids of calls become numbers, in the order
// in which they come up.
func reduce(req *model.Request, r *redactor) asked {
	names := map[string]string{}
	name := func(id string) string {
		if id == "" {
			return ""
		}
		if names[id] == "" {
			names[id] = fmt.Sprintf("call-%d", len(names)+1)
		}
		return names[id]
	}
	a := asked{System: r.text(req.System), Messages: []message{}, Prefix: r.text(req.Prefix), MaxOutput: req.MaxOutputTokens}
	for i := range req.Messages {
		m := &req.Messages[i]
		said := message{Role: m.Role, ToolCallID: name(m.ToolCallID)}
		for j := range m.Content {
			if p := &m.Content[j]; p.Type != selvage.PartReasoning || p.Text != "" {
				said.Content = append(said.Content, reducePart(p, r))
			}
		}
		for _, c := range m.ToolCalls {
			said.ToolCalls = append(said.ToolCalls, called{ID: name(c.ID), Name: c.Name, Arguments: r.raw(compact(c.Arguments))})
		}
		a.Messages = append(a.Messages, said)
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		a.Tools = append(a.Tools, offered{Name: t.Name, Description: r.text(t.Description), Parameters: r.raw(compact(t.Parameters))})
	}
	return a
}

func reducePart(p *selvage.Part, r *redactor) part {
	reduced := part{Type: p.Type, Text: r.text(p.Text), MediaType: p.MediaType, Name: r.text(p.Name), Blob: p.Blob, Value: r.raw(compact(p.Value))}
	if len(p.Data) > 0 {
		sum := sha256.Sum256(p.Data)
		reduced.SHA256 = hex.EncodeToString(sum[:])
	}
	return reduced
}

// compact returns JSON without white space, and what is none as it is, in a
// string.
func compact(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) == nil {
		return b.Bytes()
	}
	quoted, _ := json.Marshal(string(raw)) // a string always has JSON
	return quoted
}

// digest names what was asked.
func (a *asked) digest() (string, error) {
	data, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
