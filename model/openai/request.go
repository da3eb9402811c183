package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/internal/service"
)

// params puts req into the words of the protocol.
func (m *Model) params(req model.Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{
		Model:         m.options.Model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	if limit := int64(req.MaxOutputTokens); limit > 0 {
		// OpenAI's reasoning models refuse the old name, many servers do not
		// know the new one.
		if m.official {
			p.MaxCompletionTokens = param.NewOpt(limit)
		} else {
			p.MaxTokens = param.NewOpt(limit)
		}
	}
	if err := m.addMessages(&p, req); err != nil {
		return p, err
	}
	m.addPrefix(&p, req.Prefix)
	for i := range req.Tools {
		tool, err := convertTool(&req.Tools[i])
		if err != nil {
			return p, fmt.Errorf("tool %s: %w", req.Tools[i].Name, err)
		}
		p.Tools = append(p.Tools, tool)
	}
	return p, nil
}

// addMessages puts the conversation into p. OpenAI takes instructions anywhere;
// the templates of many other models take one, at the beginning, and fail at any
// other.
func (m *Model) addMessages(p *openai.ChatCompletionNewParams, req model.Request) error {
	messages, system := req.Messages, req.System
	if !m.official {
		for len(messages) > 0 && messages[0].Role == selvage.RoleSystem {
			system = joined(system, service.Plain(messages[0].Content))
			messages = messages[1:]
		}
	}
	if system != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(system))
	}
	for i := range messages {
		message, err := m.convert(&messages[i])
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", i+len(req.Messages)-len(messages), err)
		}
		if message != nil {
			p.Messages = append(p.Messages, *message)
		}
	}
	return nil
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// addPrefix makes the answer go on after prefix.
func (m *Model) addPrefix(p *openai.ChatCompletionNewParams, prefix string) {
	if prefix == "" {
		return
	}
	p.Messages = append(p.Messages, openai.AssistantMessage(prefix))
	if m.options.Continues {
		p.SetExtraFields(map[string]any{"continue_final_message": true, "add_generation_prompt": false})
		return
	}
	p.Messages = append(p.Messages, openai.UserMessage(service.GoOn))
}

// convert returns nil for a message that has nothing to say.
func (m *Model) convert(msg *selvage.Message) (*openai.ChatCompletionMessageParamUnion, error) {
	var message openai.ChatCompletionMessageParamUnion
	switch msg.Role {
	case selvage.RoleSystem:
		if text := service.Plain(msg.Content); m.official {
			message = openai.SystemMessage(text)
		} else {
			message = openai.UserMessage(service.Aside(text))
		}
	case selvage.RoleUser:
		parts, err := userParts(msg.Content)
		if err != nil {
			return nil, err
		}
		message = openai.UserMessage(service.Plain(msg.Content))
		if parts != nil {
			message = openai.UserMessage(parts)
		}
	case selvage.RoleAssistant:
		return m.convertAssistant(msg)
	case selvage.RoleTool:
		message = openai.ToolMessage(service.Plain(msg.Content), msg.ToolCallID)
	default:
		return nil, fmt.Errorf("%q is not a role", msg.Role)
	}
	return &message, nil
}

// convertAssistant leaves reasoning out: the protocol has no place for it on
// the way back, but for the signature of [Model.sign].
func (m *Model) convertAssistant(msg *selvage.Message) (*openai.ChatCompletionMessageParamUnion, error) {
	var a openai.ChatCompletionAssistantMessageParam
	if text := service.Plain(msg.Content); text != "" {
		a.Content.OfString = param.NewOpt(text)
	} else if len(msg.ToolCalls) == 0 {
		return nil, nil
	}
	for i, c := range msg.ToolCalls {
		call := &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID,
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
				Name: c.Name, Arguments: service.Written(c.Arguments),
			},
		}
		if i == 0 {
			m.sign(call, msg.Content)
		}
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: call})
	}
	return &openai.ChatCompletionMessageParamUnion{OfAssistant: &a}, nil
}

// userParts returns the content of a user message in parts, or nil if it is
// text alone and fits in a string.
func userParts(c selvage.Content) ([]openai.ChatCompletionContentPartUnionParam, error) {
	var parts []openai.ChatCompletionContentPartUnionParam
	rich := false
	for i := range c {
		p := &c[i]
		switch p.Type {
		case selvage.PartText:
			parts = append(parts, openai.TextContentPart(p.Text))
		case selvage.PartData:
			parts = append(parts, openai.TextContentPart(string(p.Value)))
		case selvage.PartImage, selvage.PartFile:
			if err := service.CheckBytes(i, p); err != nil {
				return nil, err
			}
			rich = true
			parts = append(parts, attachment(p))
		}
	}
	if !rich {
		return nil, nil
	}
	return parts, nil
}

// attachment carries the bytes of an image or file inline.
func attachment(p *selvage.Part) openai.ChatCompletionContentPartUnionParam {
	inline := "data:" + service.MediaType(p) + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
	if p.Type == selvage.PartImage {
		return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: inline})
	}
	file := openai.ChatCompletionContentPartFileFileParam{FileData: param.NewOpt(inline)}
	if p.Name != "" {
		file.Filename = param.NewOpt(p.Name)
	}
	return openai.FileContentPart(file)
}

func convertTool(t *selvage.ToolSpec) (openai.ChatCompletionToolUnionParam, error) {
	f := openai.FunctionDefinitionParam{Name: t.Name}
	if t.Description != "" {
		f.Description = param.NewOpt(t.Description)
	}
	if len(t.Parameters) > 0 {
		// The values stay as they are written: the SDK would make floats, or
		// strings, of numbers above 2^53.
		var schema map[string]json.RawMessage
		if err := json.Unmarshal(t.Parameters, &schema); err != nil {
			return openai.ChatCompletionToolUnionParam{}, fmt.Errorf("its parameters are not a JSON Schema object: %w", err)
		}
		f.Parameters = make(openai.FunctionParameters, len(schema))
		for name, value := range schema {
			f.Parameters[name] = value
		}
	}
	return openai.ChatCompletionFunctionTool(f), nil
}
