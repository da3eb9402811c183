package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// counter adds up what the runs of this conversation used. Totals of a run are
// absolute, so each run has its own.
type counter struct{ runs map[selvage.RunID]spent }

type spent struct {
	usage selvage.Usage
	cost  selvage.Money
}

func (c *counter) run(u *selvage.RunUpdate) {
	s := c.runs[u.ID]
	if u.Usage != nil {
		s.usage = *u.Usage
	}
	if u.Cost != nil {
		s.cost = *u.Cost
	}
	c.put(u.ID, s)
}

func (c *counter) total(r *runner.Result) { c.put(r.RunID, spent{r.Usage, r.Cost}) }

func (c *counter) put(id selvage.RunID, s spent) {
	if c.runs == nil {
		c.runs = map[selvage.RunID]spent{}
	}
	c.runs[id] = s
}

func (c *counter) sum() (all spent) {
	for _, s := range c.runs {
		all.usage, all.cost = all.usage.Add(s.usage), all.cost+s.cost
	}
	return all
}

// statusLine tells in one line what answers, what it cost and where the run
// stands. What has no room is left out, the least important first.
func (m *model) statusLine() string {
	all := m.count.sum()
	state := m.stateWord()
	parts := []string{state, oneLine(m.status.Model),
		fmt.Sprintf("%d in %d out", all.usage.InputTokens, all.usage.OutputTokens), "$" + all.cost.String(), "", ""}
	if m.version > 0 {
		parts[4] = "v" + m.version.String()
	}
	parts[5] = oneLine(string(m.status.Thread))
	if !m.status.Kept {
		parts[5] = "not kept"
	}
	line := ""
	for _, part := range parts {
		with := line
		if with != "" && part != "" {
			with += m.signs.dot
		}
		if with += part; ansi.StringWidth(with) > m.width && line != "" {
			continue
		}
		line = with
	}
	line = m.cut(line, m.width)
	if rest, ok := strings.CutPrefix(line, state); ok && m.on {
		style := faint
		switch {
		case m.standing.Waiting != nil && m.turn == nil:
			style = yellow
		case m.turn != nil:
			style = cyan
		}
		return m.paint(style, state) + m.paint(faint, rest)
	}
	return line
}

// stateWord is where the run stands.
func (m *model) stateWord() string {
	switch {
	case m.turn != nil:
		seconds := int(m.now().Sub(m.turn.began).Seconds())
		return fmt.Sprintf("%s %ds", m.turn.word, seconds)
	case m.standing.Waiting != nil:
		return "waits: " + m.waitsFor()
	case m.busy:
		return "reading"
	case m.standing.elsewhere():
		return "at work elsewhere"
	}
	return "ready"
}
