package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// maxQueueRows bounds the lines that queued messages take.
const maxQueueRows = 3

// arrange shares the height of the screen out.
func (m *model) arrange() {
	if m.width == 0 {
		return
	}
	m.input.MaxHeight = max(1, min(maxInputRows, m.height/3))
	m.input.SetWidth(max(4, m.width))
	m.script.resize(m.width, m.height-len(m.below()))
}

// below are the lines under the transcript, without those of the input if it
// is not seen.
func (m *model) below() []string {
	lines := []string{m.paint(faint, strings.Repeat(m.signs.rule, m.width))}
	if !m.script.follow {
		more := m.cut(" more below"+m.signs.dot+"ctrl+end ", m.width-2)
		lines[0] = m.paint(faint, m.signs.rule+more+strings.Repeat(m.signs.rule, max(0, m.width-1-ansi.StringWidth(more))))
	}
	for i, text := range m.queue {
		if i == maxQueueRows-1 && len(m.queue) > maxQueueRows {
			lines = append(lines, m.paint(faint, m.cut("and "+itoa(len(m.queue)-i)+" more are queued", m.width)))
			break
		}
		lines = append(lines, m.paint(faint, m.cut("queued: "+oneLine(text), m.width)))
	}
	if m.ask != nil && m.ask.focused {
		lines = append(lines, m.dialogLines(m.width, max(3, m.height-len(lines)-1-min(4, m.height/8)))...)
	} else {
		lines = append(lines, strings.Split(m.input.View(), "\n")...)
	}
	return append(lines, m.statusLine())
}

// View implements [tea.Model].
func (m *model) View() tea.View {
	v := tea.NewView("")
	v.AltScreen = true
	if m.width == 0 || m.height == 0 {
		return v
	}
	below := m.below()
	if len(below) > m.height {
		below = below[len(below)-m.height:]
	}
	lines := m.script.window()
	for len(lines) < m.height-len(below) {
		lines = append(lines, "")
	}
	lines = append(lines[:m.height-len(below)], below...)
	for i, line := range lines {
		if ansi.StringWidth(line) > m.width {
			lines[i] = ansi.Truncate(line, m.width, "")
		}
	}
	v.SetContent(strings.Join(lines, "\n"))
	v.Cursor = m.cursor(len(lines))
	return v
}

// cursor is where the cursor stands on a screen of so many lines.
func (m *model) cursor(height int) *tea.Cursor {
	if m.ask != nil && m.ask.focused {
		return m.dialogCursor(height)
	}
	c := m.input.Cursor()
	if c == nil {
		return nil
	}
	c.Y += height - 1 - m.input.Height()
	if c.Y < 0 {
		return nil
	}
	return c
}
