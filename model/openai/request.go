package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
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
	if req.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(req.System))
	}
	for i := range req.Messages {
		message, err := convert(&req.Messages[i])
		if err != nil {
			return p, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if message != nil {
			p.Messages = append(p.Messages, *message)
		}
	}
	for i := range req.Tools {
		tool, err := convertTool(&req.Tools[i])
		if err != nil {
			return p, fmt.Errorf("tool %s: %w", req.Tools[i].Name, err)
		}
		p.Tools = append(p.Tools, tool)
	}
	return p, nil
}

// convert returns nil for a message that has nothing to say.
func convert(m *selvage.Message) (*openai.ChatCompletionMessageParamUnion, error) {
	var message openai.ChatCompletionMessageParamUnion
	switch m.Role {
	case selvage.RoleSystem:
		message = openai.SystemMessage(plain(m.Content))
	case selvage.RoleUser:
		parts, err := userParts(m.Content)
		if err != nil {
			return nil, err
		}
		message = openai.UserMessage(plain(m.Content))
		if parts != nil {
			message = openai.UserMessage(parts)
		}
	case selvage.RoleAssistant:
		return convertAssistant(m)
	case selvage.RoleTool:
		message = openai.ToolMessage(plain(m.Content), m.ToolCallID)
	default:
		return nil, fmt.Errorf("%q is not a role", m.Role)
	}
	return &message, nil
}

// convertAssistant leaves reasoning out: the protocol has no place for it on
// the way back.
func convertAssistant(m *selvage.Message) (*openai.ChatCompletionMessageParamUnion, error) {
	var a openai.ChatCompletionAssistantMessageParam
	if text := plain(m.Content); text != "" {
		a.Content.OfString = param.NewOpt(text)
	} else if len(m.ToolCalls) == 0 {
		return nil, nil
	}
	for _, c := range m.ToolCalls {
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: c.Name, Arguments: written(c.Arguments),
				},
			},
		})
	}
	return &openai.ChatCompletionMessageParamUnion{OfAssistant: &a}, nil
}

// written is the opposite of arguments: the text that the model wrote.
func written(arguments json.RawMessage) string {
	var text string
	if len(arguments) > 0 && arguments[0] == '"' && json.Unmarshal(arguments, &text) == nil {
		return text
	}
	if len(arguments) == 0 {
		return "{}"
	}
	return string(arguments)
}

// plain is content in one string: text as it is, data as JSON. Where the
// protocol takes text alone, an image or file leaves its name, so that the
// model knows that something was there.
func plain(c selvage.Content) string {
	var b strings.Builder
	for i := range c {
		switch p := &c[i]; p.Type {
		case selvage.PartText:
			b.WriteString(p.Text)
		case selvage.PartData:
			b.Write(p.Value)
		case selvage.PartImage, selvage.PartFile:
			fmt.Fprintf(&b, "[%s %s]", p.Type, label(p))
		}
	}
	return b.String()
}

// label is the best name there is for a part.
func label(p *selvage.Part) string {
	if p.Name != "" {
		return p.Name
	}
	return p.MediaType
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
			if len(p.Data) == 0 {
				return nil, fmt.Errorf("content[%d]: the %s is named by its blob only; load its bytes before asking a model", i, p.Type)
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
	mediaType := p.MediaType
	if mediaType == "" {
		mediaType = http.DetectContentType(p.Data)
	}
	inline := "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
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
