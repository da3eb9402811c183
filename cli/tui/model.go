package tui

import (
	"context"
	"iter"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// model is the state of the screen. Only the goroutine of the program touches
// it; what takes time is done by the crew and comes back as a message.
type model struct {
	*palette
	talk  Conversation
	hands *crew
	now   func() time.Time

	width, height int
	script        transcript
	input         textarea.Model
	past          recall
	queue         []string // messages and commands that wait for the run
	status        Status
	version       selvage.Version // of the thread; 0: nothing is recorded, or it is not known
	count         counter

	turn      *turn // what goes on; nil: nothing
	busy      bool  // a command or a reading goes on
	leaving   bool  // Ctrl-D was typed while a run goes on
	selected  int   // entry that Tab chose, as an index of the foldable ones; -1: none
	standing  Standing
	ask       *dialog
	postponed map[string]bool // what was put off, by what it is about
	summoned  bool            // Ctrl-G was typed: whatever the run waits for is shown
	settled   int             // decisions since the run last went on
	polling   bool            // a poll is under way
	behind    bool            // another process leads the run: what it says is not here
	left      Left
	beginning bool // the history is being read
}

// turn is a run that goes on.
type turn struct {
	*pump
	began     time.Time
	word      string
	cancelled bool
	answer    *answer
	thought   *thought
	messageID string
	calls     map[string]*call
}

func newModel(talk Conversation, p *palette, hands *crew, now func() time.Time) *model {
	m := &model{palette: p, talk: talk, hands: hands, now: now, selected: -1, beginning: true, postponed: map[string]bool{}}
	m.script = transcript{palette: p, follow: true}
	m.input = newInput(p)
	m.status = talk.Status()
	return m
}

// opened is what a thread holds when the conversation begins or changes.
type opened struct {
	messages []selvage.Message
	earlier  bool
	version  selvage.Version
	standing Standing
	failed   error
	after    *Reply // the command that changed it
}

func (m *model) Init() tea.Cmd { return tea.Batch(m.input.Focus(), m.read(nil)) }

// read reads the thread anew.
func (m *model) read(after *Reply) tea.Cmd {
	m.busy = true
	return m.hands.do(func(ctx context.Context) tea.Msg {
		o := opened{after: after}
		h, err := m.talk.History(ctx)
		o.messages, o.earlier, o.version, o.failed = h.Messages, h.Earlier, h.Version, err
		if err == nil {
			o.standing, o.failed = m.talk.Standing(ctx)
		}
		return o
	})
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	m.drain()
	m.arrange()
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.input.SetWidth(max(4, m.width))
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case batch:
		return m.batch(msg)
	case opened:
		return m.opened(msg)
	case replied:
		return m.replied(msg)
	case stood:
		return m.stood(msg)
	case decided:
		return m.decided(msg)
	case endedRun:
		return m.endedRun(msg)
	case poll:
		m.polling = false
		if m.turn == nil && !m.busy && m.standing.Run != "" {
			return m.look(true)
		}
	case tick:
		return m.tick()
	default:
		var cmd tea.Cmd
		m.input, cmd = m.input.Update(msg) // the blinking of the cursor
		return cmd
	}
	return nil
}

// refresh learns what the conversation is made of now.
func (m *model) refresh() { m.status = m.talk.Status() }

// drain shows what was to be told meanwhile.
func (m *model) drain() {
	for _, note := range m.talk.Notes() {
		m.note(note)
	}
}

func (m *model) note(text string) { m.script.add(&notice{text: text}) }

// fail shows what failed.
func (m *model) fail(err error) {
	what, hint := m.talk.Explain(err)
	m.script.add(&notice{text: what, hint: hint, failed: true})
}

// opened shows the thread that was read.
func (m *model) opened(o opened) tea.Cmd {
	m.busy, m.behind = false, false
	first := m.beginning
	m.beginning = false
	m.version = o.version
	m.refresh()
	if o.failed != nil {
		m.fail(o.failed)
		return m.idle()
	}
	if o.after != nil {
		m.script.entries, m.selected = nil, -1
	}
	notes := m.script.entries
	m.script.entries = nil
	if o.earlier {
		m.note("(there are earlier messages; `selvage thread messages` shows them)")
	}
	m.recount(o.messages, first)
	m.script.entries = append(m.script.entries, notes...)
	if o.after != nil && o.after.Text != "" {
		m.script.add(&notice{text: o.after.Text, output: true})
	}
	return m.stood(stood{standing: o.standing})
}

// recount shows messages of the past.
func (m *model) recount(messages []selvage.Message, first bool) {
	calls := map[string]*call{}
	for i := range messages {
		msg := &messages[i]
		if msg.Internal() {
			continue
		}
		switch msg.Role {
		case selvage.RoleUser:
			m.script.add(&said{text: msg.Text()})
			if first {
				m.past.add(msg.Text())
			}
		case selvage.RoleAssistant:
			if text := msg.Text(); strings.TrimSpace(text) != "" {
				m.script.add(&answer{newFlow(text)})
			}
			for j := range msg.ToolCalls {
				c := &call{id: msg.ToolCalls[j].ID, name: msg.ToolCalls[j].Name, arguments: msg.ToolCalls[j].Arguments}
				calls[c.id] = c
				m.script.add(c)
			}
		case selvage.RoleTool:
			if c := calls[msg.ToolCallID]; c != nil {
				c.answered(msg)
			}
		}
	}
}

// begin leads a turn.
func (m *model) begin(word string, lead func(ctx context.Context) iter.Seq2[runner.Event, error]) tea.Cmd {
	m.turn = &turn{pump: m.hands.pump(lead), began: m.now(), word: word, calls: m.known()}
	m.leaving, m.script.follow = false, true
	m.left.Talked = true
	return tea.Batch(m.turn.next, m.beat())
}

// known are the calls in the transcript that are not over.
func (m *model) known() map[string]*call {
	calls := map[string]*call{}
	for _, e := range m.script.entries {
		if c, is := e.(*call); is && !c.ended {
			calls[c.id] = c
		}
	}
	return calls
}

// say sends a message.
func (m *model) say(text string) tea.Cmd {
	m.script.add(&said{text: text})
	return m.begin("working", func(ctx context.Context) iter.Seq2[runner.Event, error] { return m.talk.Send(ctx, text) })
}

// idle does what waits, now that nothing goes on.
func (m *model) idle() tea.Cmd {
	if m.turn != nil || m.busy || len(m.queue) == 0 || m.standing.Waiting != nil {
		return nil
	}
	next := m.queue[0]
	m.queue = m.queue[1:]
	return m.take(next)
}

// tick moves the clock of the status line while a run goes on.
type tick struct{}

func (m *model) beat() tea.Cmd {
	return tea.Tick(500*time.Millisecond, func(time.Time) tea.Msg { return tick{} })
}

func (m *model) tick() tea.Cmd {
	if m.turn == nil {
		return nil
	}
	return m.beat()
}
