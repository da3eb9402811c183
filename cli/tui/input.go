package tui

import (
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/lipgloss/v2"
)

// The most lines of the input that are seen, and that it takes.
const (
	maxInputRows  = 8
	maxInputLines = 20000
)

// newInput makes the field that messages are typed in. Enter is not its key.
func newInput(p *palette) textarea.Model {
	in := textarea.New()
	in.ShowLineNumbers = false
	in.Placeholder = "a message, or /help"
	in.CharLimit, in.MaxWidth = 0, 0
	in.DynamicHeight, in.MinHeight, in.MaxHeight, in.MaxContentHeight = true, 1, maxInputRows, maxInputLines
	mark := p.signs.you + " "
	in.SetPromptFunc(2, func(at textarea.PromptInfo) string {
		if at.LineNumber == 0 {
			return mark
		}
		return "  "
	})
	in.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "ctrl+j", "shift+enter"))
	in.SetVirtualCursor(false)
	look := textarea.Styles{}
	if p.on {
		look.Focused = textarea.StyleState{Placeholder: faint, Prompt: cyan}
		look.Blurred = textarea.StyleState{Placeholder: faint, Prompt: faint, Text: faint}
	}
	look.Cursor.Blink = false
	look.Cursor.Color = lipgloss.NoColor{}
	in.SetStyles(look)
	return in
}

// recall is what was typed before.
type recall struct {
	lines []string
	at    int    // len(lines): what is being typed
	draft string // what was being typed
}

const maxRecall = 500

func (r *recall) add(text string) {
	if n := len(r.lines); n == 0 || r.lines[n-1] != text {
		r.lines = append(r.lines, text)
	}
	if len(r.lines) > maxRecall {
		r.lines = r.lines[1:]
	}
	r.at, r.draft = len(r.lines), ""
}

// move goes back or forth; ok is whether there is anything there.
func (r *recall) move(by int, typed string) (text string, ok bool) {
	if r.at == len(r.lines) {
		r.draft = typed
	}
	to := r.at + by
	if to < 0 || to > len(r.lines) {
		return "", false
	}
	if r.at = to; to == len(r.lines) {
		return r.draft, true
	}
	return r.lines[to], true
}
