package tui

import (
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// palette is how things look. Its colours are the sixteen that a user's theme
// defines, so that they can be read on any background.
type palette struct {
	on    bool
	signs signs
}

// signs are what stands before things.
type signs struct {
	you, folded, open, busy, good, bad, waits, bar, bullet, rule, more, arrow, dot string
}

func paletteOf(colour bool) *palette {
	if colour {
		return &palette{on: true, signs: signs{"❯", "▸", "▾", "◌", "✓", "✗", "?", "│", "•", "─", "…", "→", " · "}}
	}
	return &palette{signs: signs{">", "+", "-", "*", "ok", "!!", "??", "|", "-", "-", "...", "->", " | "}}
}

var (
	faint  = lipgloss.NewStyle().Faint(true)
	bold   = lipgloss.NewStyle().Bold(true)
	italic = lipgloss.NewStyle().Italic(true)
	struck = lipgloss.NewStyle().Strikethrough(true)
	cyan   = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	red    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	title  = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Cyan)
	you    = lipgloss.NewStyle().Bold(true)
	chosen = lipgloss.NewStyle().Reverse(true)
)

// paint puts text of one line or more into a style.
func (p *palette) paint(s lipgloss.Style, text string) string {
	if !p.on || text == "" {
		return text
	}
	return s.Render(text)
}

// choose marks what the keyboard is on.
func (p *palette) choose(text string) string {
	if !p.on {
		return "[" + text + "]"
	}
	return p.paint(chosen, ansi.Strip(text))
}

// wrap breaks text into lines of at most width columns. Styles end with their
// line and begin again on the next.
func wrap(text string, width int) []string {
	return strings.Split(lipgloss.Wrap(text, max(1, width), ""), "\n")
}

// cut shortens one line to width columns.
func (p *palette) cut(line string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(line, width, p.signs.more)
}

// indent puts first before the first line and rest before the others.
func indent(lines []string, first, rest string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if i == 0 {
			out[i] = first + line
		} else {
			out[i] = rest + line
		}
	}
	return out
}

// spaces as wide as text.
func spaces(text string) string { return strings.Repeat(" ", ansi.StringWidth(text)) }

func itoa(n int) string { return strconv.Itoa(n) }
