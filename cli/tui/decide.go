package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
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

// stand reads what the run waits for.
func (m *model) stand() tea.Cmd {
	return m.hands.do(func(ctx context.Context) tea.Msg {
		s, err := m.talk.Standing(ctx)
		return stood{standing: s, failed: err}
	})
}

func (m *model) stood(s stood) tea.Cmd {
	if s.failed != nil {
		m.fail(s.failed)
		return m.idle()
	}
	m.standing = s.standing
	if m.turn == nil && s.standing.Waiting == nil {
		m.standing.Questions = nil
	}
	m.show()
	return m.idle()
}

// decided is that a decision is recorded.
type decided struct {
	question Question
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
		return decided{q, told, err}
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

// goOn resumes the run after its questions were answered or put off. A run
// that goes on finds the decisions by itself.
func (m *model) goOn() tea.Cmd {
	if m.turn != nil || m.settled == 0 {
		return nil
	}
	return m.resume(nil)
}

// resume goes on with the run that waits.
func (m *model) resume(raise Raise) tea.Cmd {
	m.settled, m.ask, m.standing = 0, nil, Standing{}
	return m.begin("going on", func(ctx context.Context) iter.Seq2[runner.Event, error] { return m.talk.Resume(ctx, raise) })
}

// waitsFor says what the run waits for.
func (m *model) waitsFor() string {
	w := m.standing.Waiting
	text := ""
	switch w.Reason {
	case selvage.WaitApproval:
		text = "approval"
	case selvage.WaitUserInput:
		text = "your answer"
	case selvage.WaitLimit, selvage.WaitBudget:
		text = w.LimitCode + " " + string(w.Current) + "/" + string(w.Max)
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
	if (len(m.standing.Questions) > 0 || w.LimitCode != "") && (m.ask == nil || !m.ask.focused) {
		text += " (ctrl+g)"
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

// choicesOf returns the values that a schema allows if it lists them, and
// whether text is an answer.
func choicesOf(schema json.RawMessage) (choices []json.RawMessage, text bool) {
	if len(schema) == 0 {
		return nil, true
	}
	var s struct {
		Type  json.RawMessage   `json:"type"`
		Enum  []json.RawMessage `json:"enum"`
		OneOf []struct {
			Const json.RawMessage `json:"const"`
		} `json:"oneOf"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil, true
	}
	choices = s.Enum
	for _, one := range s.OneOf {
		if one.Const != nil {
			choices = append(choices, one.Const)
		}
	}
	if len(choices) > 9 { // more than there are keys: typed
		choices = nil
	}
	kind := string(s.Type)
	return choices, kind == "" || bytes.Contains(s.Type, []byte(`"string"`))
}

// plain is a value as a person reads it.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return oneLine(text)
	}
	return oneLine(string(value))
}
