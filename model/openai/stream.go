package openai

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/internal/service"
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
	w := service.NewWatch(m.options.IdleTimeout, func() { cancel(service.ErrSilent) })
	defer w.Rest()

	w.Arm()
	stream := m.service.NewStreaming(inner, params, option.WithMiddleware(w.Follow))
	w.Rest()
	a := answer{give: give, calls: assembly{taken: service.CallIDs(req.Messages)}, rest: service.NewContinuation(req.Prefix, "")}
	for stream.Next() {
		if !a.take(stream.Current()) {
			// Nothing was lost that anybody still wants.
			_ = stream.Close()
			return nil
		}
		if a.finish != "" {
			w.Complete()
		}
	}
	err = stream.Err()
	if held := a.rest.End(); held != "" && !a.say(held) {
		return nil
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return model.Ended(ctx)
	case a.finish != "":
		return a.end()
	case err != nil && errors.Is(context.Cause(inner), service.ErrSilent):
		return model.Broken(a.output, w.Silence())
	default:
		return m.failure(w.Response, err, a.output)
	}
}

// answer is an answer on its way from the wire to the caller.
type answer struct {
	give   func(model.Chunk) bool
	output bool // something of the answer has arrived
	calls  assembly
	rest   *service.Continuation
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
		if thought := reasoning(delta); thought != "" {
			a.output = true
			if !a.give(model.Chunk{Reasoning: thought}) {
				return false
			}
		}
		if text := delta.Content + delta.Refusal; text != "" && !a.say(a.rest.Add(text)) {
			return false
		}
		for _, piece := range delta.ToolCalls {
			a.output = true
			a.calls.add(piece)
			writing := selvage.PartialCall{ID: piece.ID, Name: piece.Function.Name, Arguments: piece.Function.Arguments}
			if !a.give(model.Chunk{Writing: &writing}) {
				return false
			}
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	return true
}

// say passes on text; none is passed on by itself.
func (a *answer) say(text string) bool {
	a.output = true
	return text == "" || a.give(model.Chunk{Text: text})
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
	if sig := a.calls.signature; sig != "" && !a.give(model.Chunk{Signature: googleTag + sig}) {
		return nil
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
