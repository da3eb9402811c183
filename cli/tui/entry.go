package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// entry is one thing in the transcript. Lines are for one width; an entry
// keeps them until it changes.
type entry interface {
	lines(p *palette, width int) (settled, tail []string)
}

// remembered keeps the lines of an entry that changes rarely.
type remembered struct {
	width int
	kept  []string
}

// of returns what make makes, made once for a width.
func (r *remembered) of(width int, make func() []string) []string {
	if r.kept == nil || r.width != width {
		r.width, r.kept = width, make()
	}
	return r.kept
}

func (r *remembered) forget() { r.kept = nil }

// said is what the user said.
type said struct {
	remembered
	text string
}

func (s *said) lines(p *palette, width int) ([]string, []string) {
	return s.of(width, func() []string {
		mark := p.signs.you + " "
		body := wrap(safe(s.text), width-ansi.StringWidth(mark))
		for i := range body {
			body[i] = p.paint(you, body[i])
		}
		return indent(body, p.paint(cyan, mark), spaces(mark))
	}), nil
}

// answer is what the model says.
type answer struct{ *flow }

// thought is the model's visible thinking.
type thought struct {
	remembered
	text   string
	open   bool
	chosen bool
}

func (t *thought) lines(p *palette, width int) ([]string, []string) {
	return t.of(width, func() []string {
		text := strings.TrimSpace(t.text)
		sign := p.signs.folded
		if t.open {
			sign = p.signs.open
		}
		head := p.paint(faint, sign+" thinking")
		if t.chosen {
			head = p.choose(head)
		}
		if !t.open {
			return []string{p.cut(head+p.paint(faint, ": "+oneLine(text)), width)}
		}
		body := wrap(safe(text), width-2)
		for i := range body {
			body[i] = p.paint(faint, body[i])
		}
		return append([]string{head}, indent(body, "  ", "  ")...)
	}), nil
}

func (t *thought) fold()        { t.open = !t.open; t.forget() }
func (t *thought) isOpen() bool { return t.open }

// notice is what the program says; output is what a command printed.
type notice struct {
	remembered
	text, hint string
	failed     bool
	output     bool
}

func (n *notice) lines(p *palette, width int) ([]string, []string) {
	return n.of(width, func() []string {
		style, mark := faint, ""
		if n.failed {
			style, mark = red, p.signs.bad+" "
		}
		if n.output {
			style = lipgloss.NewStyle()
		}
		var out []string
		for i, line := range wrap(safe(strings.TrimRight(n.text, "\n")), width-ansi.StringWidth(mark)) {
			head := mark
			if i > 0 {
				head = spaces(mark)
			}
			out = append(out, p.paint(style, head+line))
		}
		if n.hint != "" {
			for _, line := range wrap("hint: "+oneLine(n.hint), width) {
				out = append(out, p.paint(faint, line))
			}
		}
		return out
	}), nil
}

// foldable is an entry that can be shown whole or in a line.
type foldable interface {
	fold()
	isOpen() bool
}

// call is a tool call.
type call struct {
	remembered
	id, name  string
	arguments json.RawMessage
	status    selvage.CallStatus // "" before it is journalled
	unknown   bool
	running   bool
	progress  string
	result    string
	ended     bool
	open      bool
	chosen    bool
}

func (c *call) fold()        { c.open = !c.open; c.forget() }
func (c *call) isOpen() bool { return c.open }

// answered takes the message that answers the call.
func (c *call) answered(msg *selvage.Message) {
	c.result, c.ended, c.running = resultText(msg), true, false
	if used, edited := msg.Metadata[runner.MetadataArguments]; edited {
		c.arguments = used
	}
	if _, failed := msg.Metadata[runner.MetadataFailed]; failed && !c.status.Terminal() {
		c.status = selvage.CallFailed
	}
	c.forget()
}

// The most of a result that is shown.
const (
	maxResultLines = 400
	maxResultBytes = 64 << 10
)

func (c *call) lines(p *palette, width int) ([]string, []string) {
	return c.of(width, func() []string {
		sign := p.signs.folded
		if c.open {
			sign = p.signs.open
		}
		sign += " "
		head := sign + c.mark(p) + " " + p.paint(bold, oneLine(c.name))
		if c.chosen {
			head = p.choose(head)
		}
		if !c.open {
			return []string{p.cut(head+c.summary(p), width)}
		}
		out := []string{p.cut(head+" "+p.paint(faint, c.word()), width)}
		if len(c.arguments) > 0 {
			out = append(out, indent(p.code(pretty(c.arguments), width-2), "  ", "  ")...)
		}
		if c.ended {
			out = append(out, indent(wrap(shorten(c.result), width-2), "  ", "  ")...)
		} else if c.progress != "" {
			out = append(out, indent(wrap(safe(c.progress), width-2), "  ", "  ")...)
		}
		return out
	}), nil
}

// summary is the call in what is left of a line.
func (c *call) summary(p *palette) string {
	out := " " + p.paint(faint, oneLine(string(c.arguments)))
	switch {
	case c.ended:
		out += " " + p.paint(faint, p.signs.arrow) + " " + oneLine(c.result)
	case c.progress != "" && c.running:
		out += " " + p.paint(faint, p.signs.arrow+" "+oneLine(c.progress))
	case c.status == selvage.CallSuspended:
		out += " " + p.paint(yellow, c.word())
	}
	return out
}

func (c *call) mark(p *palette) string {
	switch {
	case c.status == selvage.CallFailed, c.status == selvage.CallCancelled:
		return p.paint(red, p.signs.bad)
	case c.status == selvage.CallSucceeded, c.ended:
		return p.paint(green, p.signs.good)
	case c.status == selvage.CallSuspended:
		return p.paint(yellow, p.signs.waits)
	}
	return p.paint(faint, p.signs.busy)
}

// word is where the call stands.
func (c *call) word() string {
	switch {
	case c.status == selvage.CallSuspended && c.unknown:
		return "may or may not have taken effect"
	case c.status == selvage.CallSuspended:
		return "waits for a decision"
	case c.status.Terminal():
		return string(c.status)
	case c.ended:
		return "done"
	case c.running:
		return "running"
	}
	return "asked for"
}

// pretty indents JSON as it was written, and writes what must not be shown as
// it is in the escapes of JSON: the text says the same. What is no JSON is only
// made safe.
func pretty(data json.RawMessage) string {
	var indented bytes.Buffer
	if json.Indent(&indented, data, "", "  ") != nil {
		return safe(string(data))
	}
	var b strings.Builder
	for _, r := range indented.String() {
		switch {
		case r == utf8.RuneError || !harmful(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, "\\u%04x\\u%04x", high, low)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// shorten bounds what is shown of a result, and says so.
func shorten(text string) string {
	whole := len(text)
	if len(text) > maxResultBytes {
		text = strings.ToValidUTF8(text[:maxResultBytes], "")
	}
	lines := strings.SplitN(text, "\n", maxResultLines+1)
	if len(lines) > maxResultLines {
		text = strings.Join(lines[:maxResultLines], "\n")
	}
	if left := whole - len(text); left > 0 {
		return safe(text) + "\n(" + itoa(left) + " bytes more; `selvage thread messages` shows all of it)"
	}
	return safe(text)
}
