package tui

import (
	"encoding/json"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/selvagehq/selvage"
)

// dialog asks about one thing that the run waits for, where messages are
// typed. It has the keyboard only while it is focused, and takes it by itself
// only when nothing is being typed. Nothing is decided by a single key: one
// chooses, Enter confirms.
type dialog struct {
	question *Question        // nil: a limit, or something else that no call waits for
	waiting  *selvage.Waiting // that
	which    string           // "1 of 2", or ""
	id       string           // of the decision, made once so that it decides once
	options  []option
	chosen   int // -1: none
	offset   int // lines of the details above what is seen
	focused  bool
	working  bool // a decision is being recorded
	typed    bool // the first option is the one, and something is typed for it
	field    *field
}

// option is one way to answer.
type option struct {
	key   string
	label string
	do    func(m *model) tea.Cmd
}

// field is where something is typed that belongs to an option.
type field struct {
	textarea.Model
	label string
	wrong string
	send  func(m *model, text string) (tea.Cmd, error)
}

// show makes the dialog for what the run waits for, if a person can do
// anything about it.
func (m *model) show() {
	var next *dialog
	for i := range m.standing.Questions {
		if q := &m.standing.Questions[i]; !m.postponed[q.Ticket.ID] {
			next = m.about(q)
			if n := len(m.standing.Questions); n > 1 {
				next.which = strconv.Itoa(i+1) + " of " + strconv.Itoa(n)
			}
			break
		}
	}
	if w := m.standing.Waiting; next == nil && w != nil && (w.Reason == selvage.WaitLimit || w.Reason == selvage.WaitBudget) && !m.postponed[limitKey(w)] {
		next = m.aboutLimit(w)
	}
	if w := m.standing.Waiting; next == nil && w != nil && len(m.standing.Questions) == 0 && m.settled == 0 && w.LimitCode == "" && (m.summoned || waitsToGoOn(w) || len(m.standing.Elsewhere) > 0) && !m.postponed[limitKey(w)] {
		next = m.aboutWaiting(w)
	}
	if next != nil && m.ask != nil && next.about() == m.ask.about() {
		return // it is being answered
	}
	m.ask = next
	if next != nil && m.input.Value() == "" {
		m.focusDialog(true)
	}
}

// about names what the dialog is about.
func (d *dialog) about() string {
	if d.question != nil {
		return d.question.Ticket.ID
	}
	return limitKey(d.waiting)
}

func limitKey(w *selvage.Waiting) string {
	return "limit " + w.LimitCode + " " + string(w.Max) + " " + string(w.Reason) + " " + w.Message
}

func (m *model) focusDialog(on bool) {
	if m.ask != nil {
		m.ask.focused = on
		if on && m.ask.field == nil && m.ask.typed {
			m.ask.options[0].do(m) // there is nothing to choose
		}
	}
}

// about makes the dialog for a question.
func (m *model) about(q *Question) *dialog {
	d := &dialog{question: q, id: selvage.NewID(), chosen: -1}
	deny := option{"d", "deny", func(m *model) tea.Cmd {
		return m.edit("reason, for the model (may be empty)", "", func(m *model, text string) (tea.Cmd, error) {
			return m.decide(selvage.Decision{Action: selvage.DecisionCancel, Reason: strings.TrimSpace(text)}), nil
		})
	}}
	edit := option{"e", "edit arguments", func(m *model) tea.Cmd {
		return m.edit("arguments", pretty(q.Arguments), func(m *model, text string) (tea.Cmd, error) {
			arguments, err := object(text)
			if err != nil {
				return nil, err
			}
			return m.decide(selvage.Decision{Action: selvage.DecisionResume, Arguments: arguments}), nil
		})
	}}
	switch {
	case q.Ticket.Unknown:
		d.options = []option{
			{"a", "run it again", func(m *model) tea.Cmd { return m.decide(selvage.Decision{Action: selvage.DecisionResume}) }},
			{"r", "it ran: give its result", func(m *model) tea.Cmd {
				return m.edit("result", "", func(m *model, text string) (tea.Cmd, error) {
					return m.decide(selvage.Decision{Action: selvage.DecisionResume, Result: asJSON(text)}), nil
				})
			}}, deny}
	case q.Ticket.Mode == selvage.ResumeResult:
		d.options = append(m.answers(q), deny)
		d.typed = d.options[0].key == "a"
	default:
		d.options = []option{{"a", "approve", func(m *model) tea.Cmd { return m.decide(selvage.Decision{Action: selvage.DecisionResume}) }}}
		if len(q.Arguments) > 0 {
			d.options = append(d.options, edit)
		}
		d.options = append(d.options, deny)
	}
	d.options = append(d.options, always()...)
	return d
}

// always can be done about anything that a run waits for.
func always() []option {
	return []option{{"l", "later", (*model).later}, {"x", "end the run", (*model).end}}
}

// answers are the ways to answer a question whose answer is the result.
func (m *model) answers(q *Question) []option {
	var options []option
	choices, others, text := choicesOf(&q.Ticket)
	for i, value := range choices {
		label := plain(value)
		options = append(options, option{strconv.Itoa(i + 1), label, func(m *model) tea.Cmd {
			return m.decide(selvage.Decision{Action: selvage.DecisionResume, Result: value})
		}})
	}
	if len(choices) > 0 && !others {
		return options
	}
	word := "answer"
	if len(choices) > 0 {
		word = "answer something else"
	}
	return append(options, option{"a", word, func(m *model) tea.Cmd {
		return m.edit("answer", "", func(m *model, typed string) (tea.Cmd, error) {
			result := asJSON(typed)
			if !text {
				if !json.Valid([]byte(typed)) {
					return nil, errNotJSON
				}
				result = json.RawMessage(typed)
			}
			return m.decide(selvage.Decision{Action: selvage.DecisionResume, Result: result}), nil
		})
	}})
}

// later puts the question off; ctrl+g brings it back.
func (m *model) later() tea.Cmd {
	m.postponed[m.ask.about()] = true
	m.ask, m.summoned = nil, false
	m.show()
	if m.ask == nil {
		return m.goOn()
	}
	return nil
}

// edit opens a field for an option.
func (m *model) edit(label, text string, send func(m *model, text string) (tea.Cmd, error)) tea.Cmd {
	f := &field{Model: newInput(m.palette), label: label, send: send}
	f.Placeholder = ""
	f.SetWidth(max(4, m.width))
	f.SetValue(text)
	m.ask.field = f
	return f.Focus()
}

// dialogKey is a key while the dialog has the keyboard.
func (m *model) dialogKey(k tea.KeyPressMsg) tea.Cmd {
	d := m.ask
	name := k.String()
	switch {
	case d.working:
		return nil
	case d.field != nil:
		return m.fieldKey(k, name)
	}
	switch name {
	case "esc", "ctrl+g":
		d.focused = false
	case "ctrl+d":
		return m.leave()
	case "left", "shift+tab":
		d.chosen = (max(d.chosen, 0) + len(d.options) - 1) % len(d.options)
	case "right", "tab":
		d.chosen = (d.chosen + 1) % len(d.options)
	case "up":
		d.offset = max(0, d.offset-1)
	case "down":
		d.offset++
	case "enter":
		if d.chosen >= 0 {
			return d.options[d.chosen].do(m)
		}
	default:
		for i := range d.options {
			if d.options[i].key == name {
				d.chosen = i
			}
		}
	}
	return nil
}

func (m *model) fieldKey(k tea.KeyPressMsg, name string) tea.Cmd {
	f := m.ask.field
	switch name {
	case "esc":
		m.ask.field = nil
		return nil
	case "enter":
		cmd, err := f.send(m, f.Value())
		if err != nil {
			f.wrong = err.Error()
		}
		return cmd
	}
	var cmd tea.Cmd
	f.Model, cmd = f.Update(k)
	return cmd
}

func (m *model) dialogPaste(p tea.PasteMsg) tea.Cmd {
	f := m.ask.field
	if f == nil {
		return nil
	}
	var cmd tea.Cmd
	f.Model, cmd = f.Update(p)
	return cmd
}
