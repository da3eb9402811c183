package runner

import (
	"unicode/utf8"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// meter counts what one attempt uses. The zero value reads nothing.
type meter struct {
	price *model.Price
	req   *model.Request
	said  *selvage.Usage // by the provider
	chars int            // of output since it said so
	input int64          // estimated; 0 until it is
	told  bool           // calls are counted while they are written
}

// charsPerToken is about how many characters a token has.
const charsPerToken = 4

func (m *meter) add(c *model.Chunk) {
	if c.Usage != nil {
		m.said, m.chars = c.Usage, 0
	}
	m.chars += utf8.RuneCountInString(c.Text) + utf8.RuneCountInString(c.Reasoning)
	if p := c.Writing; p != nil {
		m.chars, m.told = m.chars+len(p.Name)+len(p.Arguments), true
	}
	if c.ToolCall != nil && !m.told {
		m.chars += len(c.ToolCall.Name) + len(c.ToolCall.Arguments)
	}
}

// read returns what the attempt has used so far. That of an attempt which is
// not complete is estimated as far as the provider has not said it: what it
// counted last was before the output that came since.
func (m *meter) read(broken bool) (selvage.Usage, selvage.Money) {
	if m.price == nil {
		return selvage.Usage{}, 0
	}
	var usage selvage.Usage
	if m.said != nil {
		usage = *m.said
	}
	if broken && m.chars > 0 {
		if m.said == nil {
			if m.input == 0 {
				m.input = tokensOf(inputChars(m.req))
			}
			usage.InputTokens = m.input
		}
		usage.OutputTokens += tokensOf(m.chars)
	}
	return usage, m.price.Cost(usage)
}

// tokensOf estimates how many tokens so many characters are.
func tokensOf(chars int) int64 { return int64((chars + charsPerToken - 1) / charsPerToken) }

// inputChars counts the characters that a model is given.
func inputChars(req *model.Request) int {
	n := utf8.RuneCountInString(req.System) + utf8.RuneCountInString(req.Prefix)
	for i := range req.Messages {
		m := &req.Messages[i]
		for j := range m.Content {
			n += utf8.RuneCountInString(m.Content[j].Text) + len(m.Content[j].Value)
		}
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		n += len(t.Name) + utf8.RuneCountInString(t.Description) + len(t.Parameters)
	}
	return n
}
