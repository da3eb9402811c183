package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

type spawnIn struct {
	Prompt    string   `json:"prompt" jsonschema:"what the agent is to do; it knows nothing of this conversation"`
	Agent     string   `json:"agent,omitempty" jsonschema:"name of the agent; leave it out for one like you"`
	MaxTurns  *int     `json:"max_turns,omitempty" jsonschema:"at most so many answers of its model"`
	MaxSpend  any      `json:"max_spend,omitempty" jsonschema:"at most so many dollars, such as 0.50, of what you have left; all of it if you leave this out"`
	MaxTokens *int64   `json:"max_tokens,omitempty" jsonschema:"at most so many tokens, in and out, of what you have left"`
	Caps      []string `json:"caps,omitempty" jsonschema:"what it may do, such as tool.clock; all that you may if you leave this out"`
}

// Agent is an agent of a name that a run may have do something.
type Agent struct {
	Name  string
	About string // what it is for; may be empty
}

// spawnAgent has another agent do something on a thread of its own and answers
// what it said. The call names the run, so that calling again asks for the same
// one.
func spawnAgent(agents []Agent) tool.Tool {
	about := "Has another agent do a task by itself, and returns its answer. It waits until the agent is done."
	for i, a := range agents {
		lead := "; "
		if i == 0 {
			lead = " There are, by name: "
		}
		if about += lead + a.Name; a.About != "" {
			about += " (" + a.About + ")"
		}
	}
	return tool.New("spawn_agent", about,
		func(ctx context.Context, c *tool.Call, in spawnIn) (selvage.ToolResult, error) {
			if c.Spawner == nil {
				return selvage.ToolResult{}, errors.New("no agent can be spawned here")
			}
			request, err := in.request(c.IdempotencyKey)
			if err != nil {
				return selvage.ToolResult{}, err
			}
			child, err := c.Spawner.Spawn(ctx, request)
			if err != nil {
				return selvage.ToolResult{}, err
			}
			return told(&child), nil
		}, tool.Options{Effect: selvage.EffectIdempotent})
}

func (in *spawnIn) request(key string) (selvage.SpawnRequest, error) {
	request := selvage.SpawnRequest{Key: key, Agent: in.Agent, Prompt: in.Prompt, Caps: in.Caps,
		Limits: selvage.Limits{Turns: in.MaxTurns, Tokens: in.MaxTokens}}
	if strings.TrimSpace(in.Prompt) == "" {
		return request, errors.New("the prompt is empty: say what the agent is to do")
	}
	if in.MaxTurns != nil && *in.MaxTurns < 0 || in.MaxTokens != nil && *in.MaxTokens < 0 {
		return request, errors.New("a limit may not be negative")
	}
	if in.MaxSpend != nil {
		spend, err := dollars(in.MaxSpend)
		if err != nil {
			return request, fmt.Errorf("max_spend: %w", err)
		}
		request.Limits.Spend = &spend
	}
	return request, nil
}

// dollars reads an amount that a model wrote as a number or as text.
func dollars(v any) (selvage.Money, error) {
	text := ""
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimPrefix(v, "$")
	}
	m, err := selvage.ParseMoney(text)
	if err == nil && m < 0 {
		err = errors.New("it may not be negative")
	}
	return m, err
}

// told is what a model is told of a child that has ended.
func told(child *selvage.SpawnResult) selvage.ToolResult {
	o := &child.Outcome
	if o.Kind == selvage.OutcomeCompleted {
		return tool.Text(child.Text)
	}
	why := o.Code
	if o.Detail != "" {
		why = o.Detail
	}
	if o.Kind == selvage.OutcomeStopped {
		return tool.Failed("the agent was stopped before it was done: %s", why)
	}
	return tool.Failed("the agent %s: %s", o.Kind, why)
}
