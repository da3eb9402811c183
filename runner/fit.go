package runner

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/selvagehq/selvage"
)

const (
	// maxResultBytes bounds what one call may put into the conversation, as
	// JSON.
	maxResultBytes = 1 << 20
	// frameBytes is more than the JSON of a part or message needs besides what
	// it holds.
	frameBytes = 512
)

// fit returns content that can be stored: what is not well-formed, or more
// than limit bytes of JSON, is replaced by text that says so. It may exceed
// limit by a few notes.
func fit(content selvage.Content, limit int) selvage.Content {
	fitted := make(selvage.Content, 0, len(content))
	for i := range content {
		if limit <= 0 {
			return append(fitted, note("cut: %d more parts", len(content)-i))
		}
		p := content[i]
		for _, s := range []*string{&p.Text, &p.MediaType, &p.Name, &p.Blob, &p.Signature} {
			*s = strings.ToValidUTF8(*s, "\uFFFD")
		}
		if fault := faultOf(&p); fault != "" {
			p = note("a part of this result could not be recorded: %s", fault)
		}
		fitted = append(fitted, shortened(p, limit))
		limit -= partBytes(&fitted[i])
	}
	return fitted
}

// faultOf says why no store would take a part, or "".
func faultOf(p *selvage.Part) string {
	switch p.Type {
	case selvage.PartText, selvage.PartReasoning:
	case selvage.PartImage, selvage.PartFile:
		if (len(p.Data) == 0) == (p.Blob == "") {
			return fmt.Sprintf("it is of type %s, which has either data or a blob", p.Type)
		}
	case selvage.PartData:
		if !json.Valid(p.Value) || !utf8.Valid(p.Value) {
			return "it is of type data, and its value is not valid JSON"
		}
	default:
		return fmt.Sprintf("%.20q is not a type of content", p.Type)
	}
	if p.Type != selvage.PartData && p.Value != nil && !json.Valid(p.Value) {
		return fmt.Sprintf("it is of type %s and has a value that is not valid JSON", p.Type)
	}
	return ""
}

// shortened returns a part that takes about limit bytes of JSON at most.
func shortened(p selvage.Part, limit int) selvage.Part {
	if partBytes(&p) <= limit+frameBytes {
		return p
	}
	rest := p
	rest.Text = ""
	if partBytes(&rest) > limit+frameBytes {
		return note("a part of type %s could not be recorded: it takes %d bytes, and there is room for %d", p.Type, partBytes(&p), limit)
	}
	end, room := 0, limit-partBytes(&rest)+frameBytes
	for i, r := range p.Text {
		if room -= runeBytes(r); room < 0 {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	left := len(p.Text) - end
	p.Text = p.Text[:end] + fmt.Sprintf("\n[cut: %d more bytes]", left)
	return p
}

func note(format string, args ...any) selvage.Part {
	return selvage.Part{Type: selvage.PartText, Text: "[" + fmt.Sprintf(format, args...) + "]"}
}

// messageBytes is at least what a message takes as JSON.
func messageBytes(m *selvage.Message) int {
	n := frameBytes + textBytes(m.ID) + textBytes(m.ToolCallID) + textBytes(string(m.RunID))
	for i := range m.Content {
		n += partBytes(&m.Content[i])
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		n += frameBytes + textBytes(c.ID) + textBytes(c.Name) + len(c.Arguments)
	}
	for key, value := range m.Metadata {
		n += frameBytes + textBytes(key) + len(value)
	}
	return n
}

// partBytes is at least what a part takes as JSON.
func partBytes(p *selvage.Part) int {
	return frameBytes + textBytes(p.Text) + textBytes(p.MediaType) + textBytes(p.Name) + textBytes(p.Blob) +
		textBytes(p.Signature) + base64.StdEncoding.EncodedLen(len(p.Data)) + len(p.Value)
}

// textBytes is at least what a text takes as JSON.
func textBytes(s string) int {
	n := 0
	for _, r := range s {
		n += runeBytes(r)
	}
	return n
}

func runeBytes(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
		return 2
	case r < ' ', r == '\u2028', r == '\u2029':
		return 6
	}
	return utf8.RuneLen(r)
}
