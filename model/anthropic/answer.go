package anthropic

import (
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/internal/service"
)

// answer is an answer on its way from the wire to the caller.
type answer struct {
	give   func(model.Chunk) bool
	rest   *service.Continuation
	taken  map[string]bool // ids that no call may have any more
	output bool            // something of the answer has arrived
	usage  selvage.Usage
	finish anthropic.StopReason

	block     string // the type of the block that is open; "" for one of no interest
	signature strings.Builder
	calls     []*pending
}

// pending is a call that may still grow.
type pending struct {
	id, name  string
	arguments strings.Builder
}

// whole reports whether the answer is complete.
func (a *answer) whole() bool { return a.finish != "" }

// take passes on what an event holds. It returns false once the caller wants no
// more. Events of kinds to come are passed over.
func (a *answer) take(e *anthropic.MessageStreamEventUnion) bool {
	switch e.Type {
	case "message_start":
		u := &e.Message.Usage
		a.usage = selvage.Usage{
			InputTokens: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, CachedTokens: u.CacheReadInputTokens,
			CacheWriteTokens: u.CacheCreationInputTokens, OutputTokens: u.OutputTokens, ReasoningTokens: u.OutputTokensDetails.ThinkingTokens,
		}
		return a.tellUsage()
	case "content_block_start":
		return a.open(&e.ContentBlock)
	case "content_block_delta":
		return a.grow(&e.Delta)
	case "content_block_stop":
		return a.close()
	case "message_delta":
		a.total(&e.Usage)
		if e.Delta.StopReason != "" {
			a.finish = e.Delta.StopReason
		}
	}
	return true
}

// open begins a block. What stands in it already counts as its first piece.
func (a *answer) open(b *anthropic.ContentBlockStartEventContentBlockUnion) bool {
	a.block = b.Type
	a.signature.Reset()
	switch b.Type {
	case "text":
		return b.Text == "" || a.say(a.rest.Add(b.Text))
	case "thinking":
		a.signature.WriteString(b.Signature)
		return b.Thinking == "" || a.reason(model.Chunk{Reasoning: b.Thinking})
	case "redacted_thinking":
		return a.reason(model.Chunk{Signature: redactedTag + b.Data})
	case "tool_use":
		call := &pending{id: b.ID, name: b.Name}
		a.calls = append(a.calls, call)
		a.output = true
		// The arguments follow in pieces; only servers that are nearly compatible
		// send them here.
		if whole := strings.TrimSpace(b.JSON.Input.Raw()); whole != "" && whole != "{}" && whole != "null" {
			call.arguments.WriteString(whole)
		}
		return a.write(selvage.PartialCall{ID: b.ID, Name: b.Name, Arguments: call.arguments.String()})
	}
	return true
}

// grow continues the open block.
func (a *answer) grow(d *anthropic.MessageStreamEventUnionDelta) bool {
	switch {
	case a.block == "text" && d.Type == "text_delta":
		return d.Text == "" || a.say(a.rest.Add(d.Text))
	case a.block == "thinking" && d.Type == "thinking_delta":
		return d.Thinking == "" || a.reason(model.Chunk{Reasoning: d.Thinking})
	case a.block == "thinking" && d.Type == "signature_delta":
		a.signature.WriteString(d.Signature)
	case a.block == "tool_use" && d.Type == "input_json_delta":
		a.calls[len(a.calls)-1].arguments.WriteString(d.PartialJSON)
		return d.PartialJSON == "" || a.write(selvage.PartialCall{Arguments: d.PartialJSON})
	}
	return true
}

// close ends the open block.
func (a *answer) close() bool {
	signed := a.block == "thinking" && a.signature.Len() > 0
	a.block = ""
	return !signed || a.reason(model.Chunk{Signature: thinkingTag + a.signature.String()})
}

// say passes on text; none is passed on by itself.
func (a *answer) say(text string) bool {
	a.output = true
	return text == "" || a.give(model.Chunk{Text: text})
}

// write tells a piece of a call.
func (a *answer) write(piece selvage.PartialCall) bool {
	return a.give(model.Chunk{Writing: &piece})
}

func (a *answer) reason(c model.Chunk) bool {
	a.output = true
	return a.give(c)
}

// total takes the sums at the end, which replace those of the beginning. Not
// every server repeats the input.
func (a *answer) total(u *anthropic.MessageDeltaUsage) {
	if u.JSON.OutputTokens.Valid() {
		a.usage.OutputTokens = u.OutputTokens
	}
	if u.OutputTokensDetails.ThinkingTokens > 0 {
		a.usage.ReasoningTokens = u.OutputTokensDetails.ThinkingTokens
	}
	if u.InputTokens > 0 {
		a.usage.InputTokens = u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
		a.usage.CachedTokens, a.usage.CacheWriteTokens = u.CacheReadInputTokens, u.CacheCreationInputTokens
	}
}

// tellUsage passes on what the answer has cost so far, if that is known.
func (a *answer) tellUsage() bool {
	u := a.usage
	return u == (selvage.Usage{}) || a.give(model.Chunk{Usage: &u})
}

// end gives what is only known when the answer is complete.
func (a *answer) end() error {
	finish := model.FinishStop
	switch a.finish {
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		finish = model.FinishLength
	case anthropic.StopReasonRefusal:
		finish = model.FinishContentFilter
	default:
		if len(a.calls) > 0 {
			finish = model.FinishToolCalls
		}
	}
	for _, p := range a.calls {
		if p.name == "" {
			return model.Broken(a.output, errors.New("the model called a tool without naming it"))
		}
	}
	for _, p := range a.calls {
		call := selvage.ToolCall{ID: service.CallID(p.id, a.taken), Name: strings.ToValidUTF8(p.name, "\uFFFD"),
			Arguments: service.Arguments(p.arguments.String())}
		if !a.give(model.Chunk{ToolCall: &call}) {
			return nil
		}
	}
	if a.tellUsage() {
		a.give(model.Chunk{Finish: finish})
	}
	return nil
}
