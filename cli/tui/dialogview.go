package tui

import (
	"encoding/json"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/selvagehq/selvage"
)

// dialogLines renders the dialog in at most so many lines. What is asked about
// is scrolled if it has no room; what can be done about it is always seen.
func (m *model) dialogLines(width, room int) []string {
	d := m.ask
	var foot []string
	if d.field != nil {
		foot = append(foot, m.paint(bold, m.cut(d.field.label+":", width)))
		if d.field.wrong != "" {
			foot = append(foot, m.paint(red, m.cut(oneLine(d.field.wrong), width)))
		}
		foot = append(foot, strings.Split(d.field.View(), "\n")...)
		foot = append(foot, m.paint(faint, m.cut("enter sends"+m.signs.dot+"alt+enter new line"+m.signs.dot+"esc back", width)))
	} else {
		foot = append(m.optionLines(width), m.paint(faint, m.cut(d.help(m.signs.dot), width)))
	}
	body := m.details(width)
	seen := max(1, room-len(foot))
	if d.field == nil && len(body) > seen {
		d.offset = min(d.offset, len(body)-seen)
		more := len(body) - seen - d.offset
		body = append([]string{}, body[d.offset:d.offset+seen]...)
		if more > 0 {
			body[seen-1] = m.paint(faint, m.cut(m.signs.more+" "+itoa(more+1)+" lines more: down", width))
		}
	} else {
		body = body[:min(len(body), seen)]
	}
	return append(body, foot...)
}

func (d *dialog) help(dot string) string {
	if d.working {
		return "recording the decision"
	}
	return "a key or the arrows choose" + dot + "enter confirms" + dot + "esc types a message"
}

// optionLines are the ways to answer, as many in a line as there is room for.
func (m *model) optionLines(width int) []string {
	var lines []string
	line := ""
	for i, o := range m.ask.options {
		text := "[" + o.key + "] " + o.label
		switch {
		case i == m.ask.chosen && m.on:
			text = m.paint(chosen, text)
		case i == m.ask.chosen:
			text = "=>" + text + "<="
		}
		text = m.cut(text, width)
		if line != "" && ansi.StringWidth(line)+3+ansi.StringWidth(text) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += "   "
		}
		line += text
	}
	return append(lines, line)
}

// details is what is known about what is asked.
func (m *model) details(width int) []string {
	d := m.ask
	var out []string
	say := func(text string) { out = append(out, wrap(safe(text), width)...) }
	head := m.paint(yellow, m.signs.waits) + " "
	if d.which != "" {
		head += m.paint(faint, "("+d.which+") ")
	}
	switch {
	case d.question == nil && d.waiting.LimitCode == "":
		out = append(out, wrap(head+m.paint(bold, "the run waits for "+m.awaited()), width)...)
		if d.waiting.Message != "" {
			say(d.waiting.Message)
		}
		for _, command := range m.standing.Elsewhere {
			say("  " + command)
		}
		if !waitsToGoOn(d.waiting) {
			say("It goes on by itself when that has come.")
		}
		return out
	case d.question == nil:
		out = append(out, wrap(head+m.paint(bold, "a limit is reached: "+oneLine(strings.TrimSuffix(d.waiting.LimitCode, "_exceeded"))), width)...)
		say("The run stands at " + string(d.waiting.Current) + " of " + string(d.waiting.Max) + ". It goes on when the limit is raised.")
		if d.waiting.Message != "" {
			say(d.waiting.Message)
		}
		return out
	}
	q := d.question
	out = append(out, wrap(head+m.paint(bold, headline(q)), width)...)
	if q.Ticket.Message != "" {
		say(q.Ticket.Message)
	}
	if q.Ticket.Unknown {
		say("The process that ran it is no more, so it may or may not have taken effect.")
		if !q.Started.IsZero() {
			say("begun: " + q.Started.UTC().Format(time.RFC3339))
		}
		if q.Key != "" {
			say("idempotency key: " + q.Key)
		}
	}
	if len(q.Arguments) > 0 && q.Ticket.Mode != selvage.ResumeResult {
		out = append(out, m.code(pretty(q.Arguments), width)...)
	}
	if more := besides(q.Ticket.Details, q.Arguments); len(more) > 0 && !q.Ticket.Unknown && q.Ticket.Reason != selvage.WaitUserInput {
		say("besides:")
		out = append(out, m.code(pretty(more), width)...)
	}
	return out
}

func headline(q *Question) string {
	switch {
	case q.Ticket.Unknown:
		return "what became of " + oneLine(q.Tool) + " is unknown"
	case q.Ticket.Mode == selvage.ResumeResult:
		return oneLine(q.Tool) + " asks"
	}
	return "may " + oneLine(q.Tool) + " run?"
}

// besides returns what details say that arguments do not, nil if that is
// nothing.
func besides(details, arguments json.RawMessage) json.RawMessage {
	var says, known map[string]json.RawMessage
	if json.Unmarshal(details, &says) != nil {
		if len(details) > 0 && pretty(details) != pretty(arguments) {
			return details
		}
		return nil
	}
	_ = json.Unmarshal(arguments, &known) // what is no object says nothing of it
	for name, value := range says {
		if pretty(known[name]) == pretty(value) {
			delete(says, name)
		}
	}
	if len(says) == 0 {
		return nil
	}
	data, _ := json.Marshal(says) // values that were JSON have JSON
	return data
}

// dialogCursor is where the cursor stands while the dialog has the keyboard.
func (m *model) dialogCursor(height int) *tea.Cursor {
	f := m.ask.field
	if f == nil {
		return nil
	}
	c := f.Cursor()
	if c == nil {
		return nil
	}
	if c.Y += height - 2 - f.Height(); c.Y < 0 {
		return nil
	}
	return c
}
