package anthropic

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model/internal/service"
)

// imageTypes are the kinds of images that the protocol takes.
func imageTypes() []string { return []string{"image/jpeg", "image/png", "image/gif", "image/webp"} }

// userBlocks is what a user says.
func userBlocks(c selvage.Content) ([]anthropic.ContentBlockParamUnion, error) {
	var blocks []anthropic.ContentBlockParamUnion
	for i := range c {
		p := &c[i]
		switch p.Type {
		case selvage.PartText, selvage.PartData:
			if text := service.Plain(c[i : i+1]); said(text) {
				blocks = append(blocks, anthropic.NewTextBlock(text))
			}
		case selvage.PartImage, selvage.PartFile:
			if err := service.CheckBytes(i, p); err != nil {
				return nil, err
			}
			image, document := attachment(p)
			switch {
			case image != nil:
				blocks = append(blocks, anthropic.ContentBlockParamUnion{OfImage: image})
			case document != nil:
				blocks = append(blocks, anthropic.ContentBlockParamUnion{OfDocument: document})
			default:
				return nil, fmt.Errorf("content[%d]: the model takes no %s of type %s; it takes JPEG, PNG, GIF and WebP images, PDF and text files",
					i, p.Type, service.MediaType(p))
			}
		}
	}
	return blocks, nil
}

// attachment is an image or a document, whichever p is; neither if the protocol
// takes nothing of its type.
func attachment(p *selvage.Part) (*anthropic.ImageBlockParam, *anthropic.DocumentBlockParam) {
	mediaType, _, _ := strings.Cut(service.MediaType(p), ";")
	encoded := func() string { return base64.StdEncoding.EncodeToString(p.Data) }
	var document anthropic.DocumentBlockParam
	switch {
	case slices.Contains(imageTypes(), mediaType):
		source := &anthropic.Base64ImageSourceParam{Data: encoded(), MediaType: anthropic.Base64ImageSourceMediaType(mediaType)}
		return &anthropic.ImageBlockParam{Source: anthropic.ImageBlockParamSourceUnion{OfBase64: source}}, nil
	case mediaType == "application/pdf":
		document.Source.OfBase64 = &anthropic.Base64PDFSourceParam{Data: encoded()}
	case p.Type == selvage.PartFile && utf8.Valid(p.Data) && said(string(p.Data)):
		document.Source.OfText = &anthropic.PlainTextSourceParam{Data: string(p.Data)}
	default:
		return nil, nil
	}
	if p.Name != "" {
		document.Title = param.NewOpt(p.Name)
	}
	return nil, &document
}

// resultBlock is what a call came to. What the protocol does not take is named,
// since a result cannot be asked for again.
func resultBlock(id string, m *selvage.Message) anthropic.ContentBlockParamUnion {
	block := anthropic.ToolResultBlockParam{ToolUseID: wireID(id)}
	if m == nil {
		block.IsError = param.NewOpt(true)
		block.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: noResult}}}
		return anthropic.ContentBlockParamUnion{OfToolResult: &block}
	}
	for i := range m.Content {
		p := &m.Content[i]
		if len(p.Data) > 0 {
			if image, document := attachment(p); image != nil || document != nil {
				block.Content = append(block.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: image, OfDocument: document})
				continue
			}
		}
		if text := service.Plain(m.Content[i : i+1]); said(text) {
			block.Content = append(block.Content, anthropic.ToolResultBlockParamContentUnion{OfText: &anthropic.TextBlockParam{Text: text}})
		}
	}
	return anthropic.ContentBlockParamUnion{OfToolResult: &block}
}
