package tui

import (
	"encoding/json"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// batch takes what a turn brought.
func (m *model) batch(b batch) tea.Cmd {
	t := m.turn
	if t == nil || b.from != t.pump {
		return nil
	}
	suspended := false
	for i := range b.events {
		e := &b.events[i]
		suspended = m.event(t, e) || suspended
	}
	if b.failed != nil {
		m.fail(b.failed)
	}
	if !b.over {
		if suspended {
			return tea.Batch(t.next, m.stand())
		}
		return t.next
	}
	return m.finish(t)
}

// finish is the end of a turn.
func (m *model) finish(t *turn) tea.Cmd {
	m.turn = nil
	m.leaving = false
	m.refresh()
	for _, c := range t.calls {
		c.running = false
		c.forget()
	}
	if t.cancelled && len(m.queue) > 0 {
		// What was typed for after the run was typed for its answer.
		text := append(m.queue, m.input.Value())
		m.queue = nil
		m.input.SetValue(strings.Trim(strings.Join(text, "\n"), "\n"))
		m.note("what was queued is in the input again")
	}
	if m.behind {
		return m.read(&Reply{})
	}
	return m.stand()
}

// event shows one event. It reports whether a call was suspended.
func (m *model) event(t *turn, e *runner.Event) (suspended bool) {
	m.version = max(m.version, e.Position.Version)
	switch e.Kind {
	case runner.EventDelta:
		m.delta(t, e)
	case runner.EventReasoning:
		m.reasoning(t, e)
	case runner.EventRetry:
		m.retry(t, e)
	case runner.EventContinue:
		t.word = "going on"
		m.note("the answer broke off and goes on: " + e.Note)
	case runner.EventQueued:
		t.word = "queued"
		m.note("the thread is in use by " + e.Note + "; waiting for it")
	case runner.EventCall:
		c := m.callOf(t, e.Call.ID, e.Call.Name)
		c.arguments, c.running, c.status = e.Call.Arguments, true, selvage.CallStarted
		t.word = "running " + oneLine(e.Call.Name)
		c.forget()
	case runner.EventProgress:
		if e.Call != nil {
			c := m.callOf(t, e.Call.ID, e.Call.Name)
			c.progress = e.Note
			c.forget()
		}
	case selvage.EventMessage:
		m.message(t, e.Message)
	case selvage.EventToolCall:
		return m.journal(t, e.ToolCall)
	case selvage.EventRun:
		m.run(e)
	case runner.EventEnd:
		m.ended(e.Result)
	}
	return false
}

// run counts what a run used, and tells of another one that this one ended.
func (m *model) run(e *runner.Event) {
	m.count.run(e.Run)
	switch o := e.Run.Outcome; {
	case e.Run.ID == e.RunID || o == nil:
	case o.Code == runner.CodeSuperseded:
		m.note("run " + string(e.Run.ID) + " waited, and is ended by this message")
	default:
		m.note("run " + string(e.Run.ID) + " was interrupted and is ended: " + o.Detail)
	}
}

func (m *model) delta(t *turn, e *runner.Event) {
	if e.Text == "" {
		return
	}
	t.word = "answering"
	if t.answer == nil || t.messageID != e.MessageID {
		t.answer, t.messageID = &answer{newFlow("")}, e.MessageID
		m.script.add(t.answer)
	}
	t.answer.add(e.Text)
}

func (m *model) reasoning(t *turn, e *runner.Event) {
	t.word = "thinking"
	if t.thought == nil {
		t.thought = &thought{}
		m.script.add(t.thought)
	}
	t.thought.text += e.Note
	t.thought.forget()
}

// retry takes back what does not count.
func (m *model) retry(t *turn, e *runner.Event) {
	m.drop(t)
	m.note("trying again: " + e.Note)
}

// drop takes back what was shown since the last message that is recorded.
func (m *model) drop(t *turn) {
	if t.answer != nil {
		m.script.remove(t.answer)
	}
	if t.thought != nil {
		m.script.remove(t.thought)
	}
	t.answer, t.thought, t.messageID = nil, nil, ""
}

// message shows a message that is recorded. Of an answer it is what counts,
// whatever was told before.
func (m *model) message(t *turn, msg *selvage.Message) {
	if msg.Internal() {
		return
	}
	switch msg.Role {
	case selvage.RoleAssistant:
		m.answered(t, msg)
	case selvage.RoleTool:
		m.callOf(t, msg.ToolCallID, "").answered(msg)
	}
}

func (m *model) answered(t *turn, msg *selvage.Message) {
	text := msg.Text()
	switch {
	case t.answer == nil && strings.TrimSpace(text) != "":
		m.script.add(&answer{newFlow(text)})
	case t.answer != nil && t.answer.said() != text:
		t.answer.flow = newFlow(text)
	}
	t.answer, t.thought, t.messageID = nil, nil, ""
	for i := range msg.ToolCalls {
		c := m.callOf(t, msg.ToolCalls[i].ID, msg.ToolCalls[i].Name)
		c.arguments = msg.ToolCalls[i].Arguments
		c.forget()
	}
}

// journal shows where a call stands.
func (m *model) journal(t *turn, u *selvage.CallUpdate) (suspended bool) {
	c := m.callOf(t, u.CallID, u.Name)
	c.status = u.Status
	c.running = u.Status == selvage.CallStarted && c.running
	if u.Suspension != nil {
		var ticket selvage.Ticket
		c.unknown = json.Unmarshal(u.Suspension, &ticket) == nil && ticket.Unknown
	}
	c.forget()
	return u.Status == selvage.CallSuspended
}

// callOf finds a call, or shows it from now on.
func (m *model) callOf(t *turn, id, name string) *call {
	c := t.calls[id]
	if c == nil {
		c = &call{id: id, name: name}
		t.calls[id] = c
		m.script.add(c)
	}
	return c
}

func (m *model) ended(r *runner.Result) {
	if r == nil {
		return
	}
	m.count.total(r)
	m.version = max(m.version, r.Version)
	if r.Outcome.Kind == selvage.OutcomeStopped || r.Outcome.Kind == selvage.OutcomeCompleted && r.Outcome.Code != "" {
		m.script.add(&notice{text: "the run " + string(r.Outcome.Kind) + ": " + r.Outcome.Detail + " (" + r.Outcome.Code + ")", failed: r.Outcome.Kind == selvage.OutcomeStopped})
	}
}

// resultText is what a tool returned, for people.
func resultText(msg *selvage.Message) string {
	if text := msg.Text(); text != "" {
		return text
	}
	var parts []string
	for i := range msg.Content {
		switch p := &msg.Content[i]; p.Type {
		case selvage.PartData:
			parts = append(parts, string(p.Value))
		case selvage.PartImage, selvage.PartFile:
			parts = append(parts, "["+string(p.Type)+" "+p.Name+"]")
		}
	}
	return strings.Join(parts, "\n")
}
