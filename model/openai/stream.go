package openai

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// Stream sends req and yields the answer as it arrives. Tool calls come at the
// end, when all of their pieces have; those of a broken stream are dropped. An
// answer that was finished when its connection broke counts as complete.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		err := m.attempt(ctx, req, func(c model.Chunk) bool { return yield(c, nil) })
		if err != nil {
			yield(model.Chunk{}, err)
		}
	}
}

// attempt gives the chunks of one answer to give until it is complete, give
// refuses one, or something fails.
func (m *Model) attempt(ctx context.Context, req model.Request, give func(model.Chunk) bool) error {
	if ctx.Err() != nil {
		return model.Ended(ctx)
	}
	params, err := m.params(req)
	if err != nil {
		return &model.Error{Class: model.Permanent, Err: err}
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatch(m.options.IdleTimeout, func() { cancel(errSilent) })
	defer w.rest()

	w.arm()
	stream := m.service.NewStreaming(inner, params, option.WithMiddleware(w.follow))
	w.rest()
	a := answer{give: give, calls: assembly{taken: callIDs(req.Messages)}}
	for stream.Next() {
		if !a.take(stream.Current()) {
			// Nothing was lost that anybody still wants.
			_ = stream.Close()
			return nil
		}
		if a.finish != "" {
			w.complete()
		}
	}
	err = stream.Err()
	switch {
	case err != nil && ctx.Err() != nil:
		return model.Ended(ctx)
	case a.finish != "":
		return a.end()
	case err != nil && errors.Is(context.Cause(inner), errSilent):
		return model.Broken(a.output, w.silence())
	default:
		return m.failure(w.response, err, a.output)
	}
}

// callIDs returns the ids that calls in messages have.
func callIDs(messages []selvage.Message) map[string]bool {
	ids := make(map[string]bool)
	for i := range messages {
		for _, c := range messages[i].ToolCalls {
			ids[c.ID] = true
		}
	}
	return ids
}

// answer is an answer on its way from the wire to the caller.
type answer struct {
	give   func(model.Chunk) bool
	output bool // something of the answer has arrived
	calls  assembly
	usage  *selvage.Usage
	finish string // as the server says it
}

// take passes on what c holds. It returns false once the caller wants no more.
func (a *answer) take(c openai.ChatCompletionChunk) bool {
	if c.JSON.Usage.Valid() {
		a.usage = &selvage.Usage{
			InputTokens:     c.Usage.PromptTokens,
			OutputTokens:    c.Usage.CompletionTokens,
			CachedTokens:    c.Usage.PromptTokensDetails.CachedTokens,
			ReasoningTokens: c.Usage.CompletionTokensDetails.ReasoningTokens,
		}
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		delta := &choice.Delta
		for _, chunk := range []model.Chunk{{Reasoning: reasoning(delta)}, {Text: delta.Content}, {Text: delta.Refusal}} {
			if chunk == (model.Chunk{}) {
				continue
			}
			a.output = true
			if !a.give(chunk) {
				return false
			}
		}
		for _, piece := range delta.ToolCalls {
			a.output = true
			a.calls.add(piece)
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	return true
}

// reasoning reads what is no part of the protocol but commonly sent with it.
func reasoning(delta *openai.ChatCompletionChunkChoiceDelta) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		field, sent := delta.JSON.ExtraFields[name]
		if sent && json.Unmarshal([]byte(field.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// end gives what is only known when the answer is complete.
func (a *answer) end() error {
	finish, known := map[string]model.Finish{
		"length": model.FinishLength, "content_filter": model.FinishContentFilter,
	}[a.finish]
	if a.finish == "error" {
		return model.Broken(a.output, errors.New("the server gave up on the answer"))
	}
	calls, err := a.calls.finish()
	if err != nil {
		return model.Broken(a.output, err)
	}
	if !known {
		// Servers disagree on "stop" after calls, so the calls decide.
		finish = model.FinishStop
		if len(calls) > 0 {
			finish = model.FinishToolCalls
		}
	}
	for i := range calls {
		if !a.give(model.Chunk{ToolCall: &calls[i]}) {
			return nil
		}
	}
	if a.usage != nil && !a.give(model.Chunk{Usage: a.usage}) {
		return nil
	}
	a.give(model.Chunk{Finish: finish})
	return nil
}

// arguments turns what the model wrote into valid JSON: as it is if it can be,
// else as a string that holds it.
func arguments(text string) json.RawMessage {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	switch {
	case text == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)) && text[0] != '"':
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a string always has JSON
		panic(err)
	}
	return quoted
}
