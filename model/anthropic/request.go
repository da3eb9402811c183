package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/internal/service"
)

// params puts req into the words of the protocol. Tail is the end of the prefix
// that could not be sent.
func (m *Model) params(req model.Request) (p anthropic.MessageNewParams, tail string, err error) {
	p.Model = m.options.Model
	p.MaxTokens = int64(m.options.MaxOutputTokens)
	if req.MaxOutputTokens > 0 {
		p.MaxTokens = int64(req.MaxOutputTokens)
	}
	m.think(&p)
	messages, system := req.Messages, req.System
	for len(messages) > 0 && messages[0].Role == selvage.RoleSystem {
		system = joined(system, service.Plain(messages[0].Content))
		messages = messages[1:]
	}
	if said(system) {
		p.System = []anthropic.TextBlockParam{{Text: system}}
	}
	t := talk{first: len(req.Messages) - len(messages)}
	if err := t.addAll(messages); err != nil {
		return p, "", err
	}
	t.frame()
	tail = m.addPrefix(&t, &p, req.Prefix)
	p.Messages = t.messages
	if err := addTools(&p, req, messages); err != nil {
		return p, "", err
	}
	if m.options.Cache {
		p.CacheControl = anthropic.NewCacheControlEphemeralParam()
	}
	return p, tail, nil
}

// think asks for thinking. An answer too short to think before is given without.
func (m *Model) think(p *anthropic.MessageNewParams) {
	tokens := int64(m.options.Thinking.Tokens)
	switch {
	case m.options.Thinking.Adaptive:
		// Some models would think and not show it.
		p.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{Display: anthropic.ThinkingConfigAdaptiveDisplaySummarized}
	case tokens > 0 && p.MaxTokens > minThinking:
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(min(tokens, p.MaxTokens-1))
	}
}

// addPrefix makes the answer go on after prefix, of which it returns what the
// protocol does not take: white space at the end.
func (m *Model) addPrefix(t *talk, p *anthropic.MessageNewParams, prefix string) (tail string) {
	shown := strings.TrimRightFunc(prefix, unicode.IsSpace)
	thinks := p.Thinking.OfAdaptive != nil || p.Thinking.OfEnabled != nil
	switch {
	case shown == "":
		return prefix
	case continues(m.options.Model) && !thinks:
		t.add(assistant, anthropic.NewTextBlock(shown))
		return prefix[len(shown):]
	default:
		t.add(assistant, anthropic.NewTextBlock(prefix))
		t.add(user, anthropic.NewTextBlock(service.GoOn))
		return ""
	}
}

// addTools offers the tools of req. A conversation with calls is refused without
// any tool, so the tools that it called are then named, and none may be called.
func addTools(p *anthropic.MessageNewParams, req model.Request, messages []selvage.Message) error {
	for i := range req.Tools {
		tool, err := convertTool(&req.Tools[i])
		if err != nil {
			return fmt.Errorf("tool %s: %w", req.Tools[i].Name, err)
		}
		p.Tools = append(p.Tools, tool)
	}
	if len(req.Tools) > 0 {
		return nil
	}
	named := map[string]bool{}
	for i := range messages {
		for _, c := range messages[i].ToolCalls {
			if named[c.Name] {
				continue
			}
			named[c.Name] = true
			tool, err := convertTool(&selvage.ToolSpec{Name: c.Name})
			if err != nil {
				return fmt.Errorf("tool %s: %w", c.Name, err)
			}
			p.Tools = append(p.Tools, tool)
		}
	}
	if len(p.Tools) > 0 {
		none := anthropic.NewToolChoiceNoneParam()
		p.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &none}
	}
	return nil
}

// convertTool keeps the schema as it is written: the SDK would make floats of
// numbers above 2^53.
func convertTool(t *selvage.ToolSpec) (anthropic.ToolUnionParam, error) {
	schema := map[string]json.RawMessage{}
	if len(t.Parameters) > 0 {
		if err := json.Unmarshal(t.Parameters, &schema); err != nil {
			return anthropic.ToolUnionParam{}, fmt.Errorf("its parameters are not a JSON Schema object: %w", err)
		}
	}
	if _, typed := schema["type"]; !typed {
		schema["type"] = json.RawMessage(`"object"`)
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return anthropic.ToolUnionParam{}, err
	}
	tool := anthropic.ToolParam{Name: t.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(data))}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	return anthropic.ToolUnionParam{OfTool: &tool}, nil
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// said reports whether there is anything in text: the protocol refuses blocks of
// white space.
func said(text string) bool { return strings.TrimSpace(text) != "" }
