package model

import (
	"iter"
	"strings"

	"github.com/selvagehq/selvage"
)

// Response is an answer in one piece.
type Response struct {
	// Message is the assistant's message. Its id, run and step are the
	// caller's to set.
	Message selvage.Message
	Usage   selvage.Usage
	Finish  Finish // empty when the stream ended before the answer did
}

// Accumulator folds the chunks of one answer into a [Response]. The zero value
// is ready for use; it serves one goroutine at a time.
type Accumulator struct {
	parts  []*part
	calls  []selvage.ToolCall
	usage  selvage.Usage
	finish Finish
}

// part is content that still grows.
type part struct {
	kind      selvage.PartType
	text      strings.Builder
	signature string // of reasoning; it ends the part
}

// Add takes the next chunk of the stream.
func (a *Accumulator) Add(c Chunk) {
	if c.Reasoning != "" {
		a.grow(selvage.PartReasoning, c.Reasoning)
	}
	if c.Text != "" {
		a.grow(selvage.PartText, c.Text)
	}
	if c.Signature != "" {
		a.grow(selvage.PartReasoning, "").signature = c.Signature
	}
	if c.ToolCall != nil {
		a.calls = append(a.calls, *c.ToolCall)
	}
	if c.Usage != nil {
		a.usage = *c.Usage
	}
	if c.Finish != "" {
		a.finish = c.Finish
	}
}

// grow continues the last part, or starts one when the kind changes or the last
// one is signed.
func (a *Accumulator) grow(kind selvage.PartType, text string) *part {
	if n := len(a.parts); n == 0 || a.parts[n-1].kind != kind || a.parts[n-1].signature != "" {
		a.parts = append(a.parts, &part{kind: kind})
	}
	last := a.parts[len(a.parts)-1]
	last.text.WriteString(text)
	return last
}

// Response returns what has arrived so far. Deltas may split a character, so
// one that a broken stream left in halves becomes U+FFFD. Later chunks do not
// change a response that was returned.
func (a *Accumulator) Response() Response {
	m := selvage.Message{Role: selvage.RoleAssistant}
	for _, p := range a.parts {
		m.Content = append(m.Content, selvage.Part{Type: p.kind, Text: strings.ToValidUTF8(p.text.String(), "\uFFFD"), Signature: p.signature})
	}
	m.ToolCalls = append(m.ToolCalls, a.calls...)
	return Response{Message: m, Usage: a.usage, Finish: a.finish}
}

// Collect ranges over stream and returns the whole answer. With an error it
// also returns what had arrived before it. The error is the stream's own; a
// stream that just stops, without a finish, breaks the contract and counts as
// [Cut] if there was output and as [Transient] if not.
func Collect(stream iter.Seq2[Chunk, error]) (Response, error) {
	var a Accumulator
	for chunk, err := range stream {
		if err != nil {
			return a.Response(), err
		}
		a.Add(chunk)
	}
	if a.finish == "" {
		return a.Response(), Broken(len(a.parts)+len(a.calls) > 0, errUnfinished)
	}
	return a.Response(), nil
}
