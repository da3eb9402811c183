package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// maxResultBytes bounds what one call may answer: texts as they are, and bytes
// as they are recorded.
const maxResultBytes = 512 << 10

// resultOf turns what a server answered into a result.
func resultOf(answer *sdk.CallToolResult) selvage.ToolResult {
	var content selvage.Content
	for _, c := range answer.Content {
		content = append(content, partOf(c))
	}
	if answer.StructuredContent != nil {
		value := original(answer.Meta, answer.StructuredContent)
		if value != nil && !tells(content, value) {
			content = append(content, selvage.Part{Type: selvage.PartData, Value: value})
		}
	}
	content = bounded(content)
	if len(content) == 0 {
		content = selvage.Text("(no result)")
	}
	return selvage.ToolResult{Content: content, Failed: answer.IsError}
}

// tells reports whether a text is the same JSON as a value, as servers repeat
// it for clients that know texts only.
func tells(content selvage.Content, value json.RawMessage) bool {
	want, err := state.ParseValue(value)
	if err != nil {
		return false
	}
	for i := range content {
		if p := &content[i]; p.Type == selvage.PartText && len(p.Text) < 4*len(value)+64 {
			if is, err := state.ParseValue([]byte(p.Text)); err == nil && is.Equal(want) {
				return true
			}
		}
	}
	return false
}

// partOf turns one piece of an answer into a part.
func partOf(c sdk.Content) selvage.Part {
	switch c := c.(type) {
	case *sdk.TextContent:
		return text("%s", c.Text)
	case *sdk.ImageContent:
		return bytesPart(selvage.PartImage, c.MIMEType, "", c.Data)
	case *sdk.AudioContent:
		return bytesPart(selvage.PartFile, c.MIMEType, "", c.Data)
	case *sdk.ResourceLink:
		words := []string{"resource", c.Name, c.URI, c.MIMEType, c.Description}
		return text("%s", strings.Join(strings.Fields(strings.Join(words, " ")), " "))
	case *sdk.EmbeddedResource:
		if r := c.Resource; r != nil && len(r.Blob) > 0 {
			return bytesPart(selvage.PartFile, r.MIMEType, r.URI, r.Blob)
		} else if r != nil {
			return text("resource %s\n%s", r.URI, r.Text)
		}
	}
	return text("(a piece of the answer is of a kind that is not known here)")
}

func text(format string, args ...any) selvage.Part {
	return selvage.Part{Type: selvage.PartText, Text: strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD")}
}

func bytesPart(kind selvage.PartType, media, name string, data []byte) selvage.Part {
	if len(data) == 0 {
		return text("(%s without bytes)", kind)
	}
	if media == "" {
		media = "application/octet-stream"
	}
	return selvage.Part{Type: kind, MediaType: media, Name: name, Data: data}
}

// bounded cuts what is too much for one result, and says so.
func bounded(content selvage.Content) selvage.Content {
	room := maxResultBytes
	for i := range content {
		p := &content[i]
		size := len(p.Text) + len(p.Value) + len(p.Data)*4/3
		if size <= room {
			room -= size
			continue
		}
		switch p.Type {
		case selvage.PartText:
			shown := strings.ToValidUTF8(p.Text[:room], "")
			*p = text("%s\n(cut: %d bytes more)", shown, len(p.Text)-len(shown))
			room = 0
		case selvage.PartData:
			*p = text("(left out: %d bytes of structured data, more than fit)", len(p.Value))
		default:
			*p = text("(left out: %s of %d bytes, more than fit)", p.MediaType, len(p.Data))
		}
		if i > 64 && room == 0 {
			return append(content[:i], text("(cut: %d more pieces)", len(content)-i))
		}
	}
	return content
}
