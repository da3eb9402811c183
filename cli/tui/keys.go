package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// key does what a key says.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch name {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+z":
		return tea.Suspend
	case "pgup":
		m.script.scroll(-max(1, m.script.height-1))
		return nil
	case "pgdown":
		m.script.scroll(max(1, m.script.height-1))
		return nil
	case "shift+up":
		m.script.scroll(-1)
		return nil
	case "shift+down":
		m.script.scroll(1)
		return nil
	case "ctrl+home":
		m.script.scroll(-1 << 30)
		return nil
	case "ctrl+end":
		m.script.scroll(1 << 30)
		return nil
	case "ctrl+o":
		m.foldAll()
		return nil
	case "ctrl+l":
		return tea.ClearScreen
	}
	if m.ask != nil && m.ask.focused {
		return m.dialogKey(k)
	}
	return m.inputKey(k, name)
}

// inputKey is a key while a message is typed.
func (m *model) inputKey(k tea.KeyPressMsg, name string) tea.Cmd {
	blank := m.input.Value() == ""
	switch {
	case name == "ctrl+g":
		clear(m.postponed)
		m.summoned = true
		m.show()
		m.focusDialog(true)
		return nil
	case name == "ctrl+d" && blank:
		return m.leave()
	case name == "esc":
		m.choose(-1)
		return nil
	case name == "tab" && blank, name == "shift+tab" && blank:
		m.cycle(name == "tab")
		return nil
	case name == "enter" && m.selected >= 0 && blank:
		m.foldChosen()
		return nil
	case name == "enter":
		return m.enter()
	case name == "up" && m.input.Line() == 0 && m.input.LineInfo().RowOffset == 0:
		m.recallInput(-1)
		return nil
	case name == "down" && m.input.Line() == m.input.LineCount()-1 && m.input.LineInfo().RowOffset+1 >= m.input.LineInfo().Height:
		m.recallInput(1)
		return nil
	}
	m.choose(-1)
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(k)
	return cmd
}

func (m *model) recallInput(by int) {
	if text, ok := m.past.move(by, m.input.Value()); ok {
		m.input.SetValue(text)
		m.input.MoveToEnd()
	}
}

func (m *model) paste(p tea.PasteMsg) tea.Cmd {
	if m.ask != nil && m.ask.focused {
		return m.dialogPaste(p)
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(tea.PasteMsg{Content: strings.ReplaceAll(p.Content, "\r\n", "\n")})
	return cmd
}

func (m *model) wheel(w tea.MouseWheelMsg) {
	switch w.Button {
	case tea.MouseWheelUp:
		m.script.scroll(-3)
	case tea.MouseWheelDown:
		m.script.scroll(3)
	}
}

// enter sends what was typed, or queues it.
func (m *model) enter() tea.Cmd {
	text := strings.TrimRight(m.input.Value(), " \n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m.past.add(text)
	m.input.Reset()
	m.script.follow = true
	if m.turn == nil && !m.busy && m.standing.Waiting == nil || isCommand(text) && (immediate(text) || m.turn == nil && !m.busy) {
		return m.take(text)
	}
	m.queue = append(m.queue, text)
	if m.turn == nil && m.standing.Waiting != nil {
		m.note("the run waits; what you typed is sent when it is over (ctrl+g shows what it waits for)")
	}
	return nil
}

// isCommand reports whether text is for the program and not for the model.
func isCommand(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
}

// immediate reports whether a command needs not wait for a run: it reads, or
// leaves.
func immediate(text string) bool {
	switch words := strings.Fields(text); words[0] {
	case "/state", "/history", "/help", "/exit", "/quit", "/end":
		return true
	case "/model":
		return len(words) == 1
	}
	return false
}

// take does what a line says.
func (m *model) take(text string) tea.Cmd {
	if strings.HasPrefix(text, "//") {
		return m.say(text[1:]) // two of them stand for one
	}
	if !isCommand(text) {
		return m.say(text)
	}
	m.script.add(&said{text: text})
	apart := m.turn != nil || m.busy
	m.busy = m.busy || !apart
	return m.hands.do(func(ctx context.Context) tea.Msg {
		r, err := m.talk.Command(ctx, text)
		return replied{text, r, err, apart}
	})
}

// replied is what came of a command; apart is that something else went on.
type replied struct {
	line   string
	reply  Reply
	failed error
	apart  bool
}

func (m *model) replied(r replied) tea.Cmd {
	if !r.apart {
		m.busy = false
	}
	m.refresh()
	m.drain()
	switch {
	case r.failed != nil:
		m.fail(r.failed)
	case r.reply.Leave:
		return tea.Quit
	case r.reply.Changed:
		return m.read(&r.reply)
	case r.reply.Text != "":
		m.script.add(&notice{text: r.reply.Text, output: true})
	}
	return m.idle()
}

// interrupt cancels the run that goes on; without one it leaves.
func (m *model) interrupt() tea.Cmd {
	switch {
	case m.turn != nil && !m.turn.cancelled:
		m.turn.cancelled = true
		m.turn.word = "cancelling"
		m.turn.stop()
		return nil
	case m.turn == nil && m.input.Value() != "" && (m.ask == nil || !m.ask.focused):
		m.past.add(m.input.Value())
		m.input.Reset() // it is in the history
		return nil
	}
	m.left.Interrupted = true
	return tea.Quit
}

// leave leaves, at once if nothing would be lost.
func (m *model) leave() tea.Cmd {
	if m.turn != nil && !m.turn.cancelled && !m.leaving {
		m.leaving = true
		m.note("a run goes on: ctrl+c cancels it, ctrl+d once more cancels it and leaves")
		return nil
	}
	return tea.Quit
}

// foldables are the entries that can be folded.
func (m *model) foldables() []entry {
	var all []entry
	for _, e := range m.script.entries {
		if _, can := e.(foldable); can {
			all = append(all, e)
		}
	}
	return all
}

// cycle chooses the entry before or after.
func (m *model) cycle(back bool) {
	n := len(m.foldables())
	switch {
	case n == 0:
	case m.selected < 0 && back:
		m.choose(n - 1)
	case m.selected < 0:
		m.choose(0)
	case back:
		m.choose(m.selected - 1)
	case m.selected+1 == n:
		m.choose(-1)
	default:
		m.choose(m.selected + 1)
	}
}

// choose marks one of the foldable entries, or none.
func (m *model) choose(n int) {
	if n == m.selected {
		return
	}
	all := m.foldables()
	mark := func(n int, on bool) {
		if n < 0 || n >= len(all) {
			return
		}
		switch e := all[n].(type) {
		case *call:
			e.chosen = on
			e.forget()
		case *thought:
			e.chosen = on
			e.forget()
		}
	}
	mark(m.selected, false)
	m.selected = n
	mark(n, true)
	if n >= 0 && n < len(all) {
		m.script.reveal(all[n])
	}
}

func (m *model) foldChosen() {
	if all := m.foldables(); m.selected < len(all) {
		all[m.selected].(foldable).fold()
		m.script.reveal(all[m.selected])
	}
}

// foldAll unfolds everything, or folds everything if nothing is folded.
func (m *model) foldAll() {
	all := m.foldables()
	open := true
	for _, e := range all {
		open = open && e.(foldable).isOpen()
	}
	for _, e := range all {
		if e.(foldable).isOpen() == open {
			e.(foldable).fold()
		}
	}
}
