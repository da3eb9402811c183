package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

var (
	errNotJSON   = errors.New("this is not JSON")
	errNotObject = errors.New("arguments are a JSON object: {...}")
)

// stood is what the run waits for, read from the store; polled is that nothing
// had happened here.
type stood struct {
	standing Standing
	failed   error
	polled   bool
}

// pollEvery is how often a run that waits is looked at, for it may be decided
// on and gone on with elsewhere.
const pollEvery = 2 * time.Second

// stand reads what the run waits for.
func (m *model) stand() tea.Cmd { return m.look(false) }

func (m *model) look(polled bool) tea.Cmd {
	return m.hands.do(func(ctx context.Context) tea.Msg {
		s, err := m.talk.Standing(ctx)
		return stood{standing: s, failed: err, polled: polled}
	})
}

// poll says that it is time to look again.
type poll struct{}

func (m *model) pollLater() tea.Cmd {
	if m.polling {
		return nil
	}
	m.polling = true
	return tea.Tick(pollEvery, func(time.Time) tea.Msg { return poll{} })
}

func (m *model) stood(s stood) tea.Cmd {
	switch {
	case s.failed != nil && s.polled:
		return m.pollLater() // it is asked again, and told if it matters
	case s.failed != nil:
		m.fail(s.failed)
		return m.idle()
	case s.polled && (m.turn != nil || m.busy):
		return nil // it is old
	case s.polled && (s.standing.Run != m.standing.Run || s.standing.elsewhere() != m.standing.elsewhere()):
		return m.changedElsewhere(s.standing)
	}
	before := m.standing
	m.standing = s.standing
	m.show()
	m.marksWaiting()
	w := m.standing.Waiting
	switch {
	case m.turn == nil && m.standing.elsewhere():
		m.behind = true
		return tea.Batch(m.idle(), m.pollLater())
	case w == nil || m.turn != nil:
		return m.idle()
	case w.Until != nil && !m.now().Before(*w.Until), s.polled && before.Ready && m.standing.Ready && m.ask == nil:
		// It can go on, and nobody else takes it up.
		return m.resume(nil)
	}
	return m.pollLater()
}

// elsewhere reports whether another process leads the run, given that this one
// does not.
func (s *Standing) elsewhere() bool { return s.Run != "" && s.Waiting == nil }

// changedElsewhere shows what another process did with the run.
func (m *model) changedElsewhere(now Standing) tea.Cmd {
	told := ""
	if !m.standing.elsewhere() {
		told = "the run has gone on elsewhere"
	}
	m.standing, m.ask = Standing{Run: now.Run}, nil
	return m.read(&Reply{Text: told})
}

// marksWaiting marks the calls that a person is asked about: in messages that
// were read nothing says so.
func (m *model) marksWaiting() {
	calls := m.known()
	for i := range m.standing.Questions {
		q := &m.standing.Questions[i]
		if c := calls[q.CallID]; c != nil && c.status == "" {
			c.status, c.unknown = selvage.CallSuspended, q.Ticket.Unknown
			c.forget()
		}
	}
}

// decided is that a decision is recorded.
type decided struct {
	question Question
	action   selvage.DecisionAction
	told     string
	failed   error
}

// decide records a decision on the question that is asked.
func (m *model) decide(d selvage.Decision) tea.Cmd {
	ask := m.ask
	ask.working, ask.field = true, nil
	d.ID, d.At = ask.id, m.now()
	q := *ask.question
	return m.hands.do(func(ctx context.Context) tea.Msg {
		told, err := m.talk.Decide(ctx, q, d)
		return decided{q, d.Action, told, err}
	})
}

// decided goes on with the next question, or with the run.
func (m *model) decided(d decided) tea.Cmd {
	if d.failed != nil {
		if m.ask != nil {
			m.ask.working = false
		}
		m.fail(d.failed)
		return nil
	}
	if d.told != "" {
		m.note(d.told)
	}
	var left []Question
	for _, q := range m.standing.Questions {
		if q.Ticket.ID != d.question.Ticket.ID {
			left = append(left, q)
		}
	}
	m.standing.Questions, m.ask, m.settled = left, nil, m.settled+1
	m.show()
	if m.ask != nil {
		return nil
	}
	return m.goOn()
}

// end ends the run that waits.
func (m *model) end() tea.Cmd {
	run := m.standing.Run
	m.ask.working, m.busy = true, true
	return m.hands.do(func(ctx context.Context) tea.Msg { return endedRun{m.talk.End(ctx, run)} })
}

// endedRun is that a run that waited was ended.
type endedRun struct{ failed error }

func (m *model) endedRun(e endedRun) tea.Cmd {
	m.busy = false
	if e.failed != nil {
		if m.ask != nil {
			m.ask.working = false
		}
		m.fail(e.failed)
		return nil
	}
	m.standing, m.ask, m.settled = Standing{}, nil, 0
	return m.read(&Reply{Text: "the run is ended"})
}

// goOn resumes the run after its questions were answered or put off. A run
// that goes on finds the decisions by itself.
func (m *model) goOn() tea.Cmd {
	if m.turn != nil || m.settled == 0 {
		return nil
	}
	return m.resume(nil)
}

// resume goes on with the run that waits.
func (m *model) resume(raise []runner.Bump) tea.Cmd {
	m.settled, m.ask, m.standing, m.summoned = 0, nil, Standing{}, false
	return m.begin("going on", func(ctx context.Context) iter.Seq2[runner.Event, error] { return m.talk.Resume(ctx, raise) })
}

// waitsFor says what the run waits for, and how to answer.
func (m *model) waitsFor() string {
	text := m.awaited()
	if m.ask == nil || !m.ask.focused {
		text += " (ctrl+g)"
	}
	return text
}

// awaited says what the run waits for.
func (m *model) awaited() string {
	w := m.standing.Waiting
	text := ""
	switch w.Reason {
	case selvage.WaitApproval:
		text = "approval"
	case selvage.WaitUserInput:
		text = "your answer"
	case selvage.WaitLimit, selvage.WaitBudget:
		text = strings.TrimSuffix(w.LimitCode, "_exceeded") + " " + string(w.Current) + "/" + string(w.Max)
	case selvage.WaitExternalEvent:
		text = "an event"
	case selvage.WaitBackground:
		text = "another run"
	default:
		text = string(w.Reason)
	}
	if w.Until != nil {
		text += " until " + w.Until.Local().Format(time.Kitchen)
	}
	return text
}

// object reads a JSON object and keeps its numbers as they are written.
func object(text string) (json.RawMessage, error) {
	var compacted bytes.Buffer
	switch err := json.Compact(&compacted, []byte(text)); {
	case err != nil:
		return nil, errors.New("this is not JSON: " + err.Error())
	case compacted.Len() == 0 || compacted.Bytes()[0] != '{':
		return nil, errNotObject
	}
	return compacted.Bytes(), nil
}

// asJSON is text as a JSON string.
func asJSON(text string) json.RawMessage {
	data, _ := json.Marshal(text) // a string always has JSON
	return data
}

// choicesOf returns the answers that a ticket offers, whether others are
// answers too, and whether such are text.
func choicesOf(t *selvage.Ticket) (choices []json.RawMessage, others, text bool) {
	var schema struct {
		Type json.RawMessage   `json:"type"`
		Enum []json.RawMessage `json:"enum"`
	}
	var details struct {
		Options []json.RawMessage `json:"options"`
	}
	// What is not of this form offers nothing.
	_ = json.Unmarshal(t.Schema, &schema)
	_ = json.Unmarshal(t.Details, &details)
	text = len(schema.Type) == 0 || bytes.Contains(schema.Type, []byte(`"string"`))
	choices = details.Options
	if len(schema.Enum) > 0 {
		choices = schema.Enum
	}
	if len(choices) > 9 { // more than there are keys
		return nil, true, text
	}
	return choices, len(schema.Enum) == 0, text
}

// plain is a value as a person reads it.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return oneLine(text)
	}
	return oneLine(string(value))
}
