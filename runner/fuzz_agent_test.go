package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// attention is how long a run takes to notice what came while a model answers.
const attention = time.Second

// moody is a model whose every answer is drawn: text, calls, half an answer, a
// failure, nothing at all.
type moody struct {
	draw      *rapid.T
	turns     int // answers with calls left; then it says goodbye
	asked     int
	meanwhile func() // called with each request; nil is nothing
}

func (m *moody) Name() string { return "test/moody" }

func (m *moody) Stream(_ context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if m.asked++; m.meanwhile != nil {
			m.meanwhile()
			if rapid.Bool().Draw(m.draw, "slow") {
				time.Sleep(2 * attention) // so that what came is noticed while it answers
			}
		}
		give := func(chunks ...model.Chunk) bool {
			for _, c := range chunks {
				if !yield(c, nil) {
					return false
				}
			}
			return true
		}
		usage := model.Chunk{Usage: &selvage.Usage{InputTokens: int64(len(req.Messages)), OutputTokens: 2}}
		mood := "text"
		if m.turns > 0 {
			m.turns--
			mood = rapid.SampledFrom([]string{"calls", "calls", "calls", "cut", "transient", "empty", "text", "length", "permanent"}).Draw(m.draw, "mood")
		}
		switch mood {
		case "calls":
			chunks := []model.Chunk{{Text: "let me see"}}
			for i := range rapid.IntRange(1, 3).Draw(m.draw, "calls") {
				chunks = append(chunks, model.Chunk{ToolCall: m.call(i)})
			}
			give(append(chunks, usage, model.Chunk{Finish: model.FinishToolCalls})...)
		case "cut":
			if give(model.Chunk{Text: "half of "}, usage) {
				yield(model.Chunk{}, model.Broken(true, errors.New("the line broke")))
			}
		case "transient":
			yield(model.Chunk{}, &model.Error{Class: model.Transient, Err: errors.New("try again")})
		case "permanent":
			yield(model.Chunk{}, &model.Error{Class: model.Permanent, Err: errors.New("no")})
		case "empty":
			give(usage, model.Chunk{Finish: model.FinishStop})
		case "length":
			give(model.Chunk{Text: "as far as"}, usage, model.Chunk{Finish: model.FinishLength})
		default:
			give(model.Chunk{Text: "goodbye"}, usage, model.Chunk{Finish: model.FinishStop})
		}
	}
}

// call draws a call of one of the tools, or of none, with arguments that may
// not be valid.
func (m *moody) call(i int) *selvage.ToolCall {
	name := rapid.SampledFrom([]string{"none", "idempotent", "once", "ask", "gated", "nowhere", "hold", "steps", "probe", "retry"}).Draw(m.draw, "tool")
	args := rapid.SampledFrom([]string{`{"do":"say"}`, `{"do":"say"}`, `{"do":"set"}`, `{"do":"add"}`, `{"do":"fail"}`, `{"do":"panic"}`, `{"wrong":1}`}).Draw(m.draw, "arguments")
	return &selvage.ToolCall{ID: fmt.Sprintf("c%d", i), Name: name, Arguments: json.RawMessage(args)}
}

type doIn struct {
	Do string `json:"do"`
}

// acts counts how often each call was carried out.
type acts struct {
	mu     sync.Mutex
	once   map[string]int  // by idempotency key; guarded by mu
	steps  map[string]bool // that were recorded; guarded by mu
	faults []string        // guarded by mu
}

// tools are the tools of the fuzzed agent.
func (a *acts) tools() []tool.Tool {
	do := func(_ context.Context, c *tool.Call, in doIn) (string, error) {
		switch in.Do {
		case "set":
			return "set", c.Patch(state.Set("/value", state.String(c.ID)))
		case "add":
			return "added", c.Patch(state.Set(state.At("by", c.ID), state.Int(1)))
		case "fail":
			return "", errors.New("it did not work")
		case "panic":
			panic("in a tool")
		}
		return "said", nil
	}
	once := func(ctx context.Context, c *tool.Call, in doIn) (string, error) {
		a.mu.Lock()
		a.once[c.IdempotencyKey]++
		a.mu.Unlock()
		return do(ctx, c, in)
	}
	ask := func(ctx context.Context, c *tool.Call, in doIn) (string, error) {
		if c.Decision == nil {
			return "", tool.Suspend(selvage.Ticket{Reason: selvage.WaitUserInput, Message: "what now?"})
		}
		return do(ctx, c, in)
	}
	gate := func(context.Context, *tool.Call) error {
		return tool.Suspend(selvage.Ticket{Reason: selvage.WaitApproval, Message: "may I?"})
	}
	return append(a.patient(), []tool.Tool{
		tool.New("none", "", do, tool.Options{Effect: selvage.EffectNone}),
		tool.New("idempotent", "", do, tool.Options{Effect: selvage.EffectIdempotent}),
		tool.New("once", "", once, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.AskUnknown}),
		tool.New("ask", "", ask, tool.Options{Effect: selvage.EffectNone}),
		tool.New("gated", "", once, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown, Gate: gate}),
	}...)
}
