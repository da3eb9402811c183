package cli

import (
	"strings"

	"github.com/selvagehq/selvage"
)

// noteThread says what a person has to know before the first turn.
func (c *conversation) noteThread(head *selvage.Head, last *makeup, picked *choice) {
	c.noteIgnored()
	c.notePicked(picked)
	switch {
	case !c.kept():
		c.note("nothing of this conversation is kept")
	case head == nil:
		c.fresh = true
	case last != nil:
		if d := last.differences(&c.made); d != "" {
			c.note("thread %s goes on with %s", c.id, d)
		} else if better, err := c.choose(); err == nil && simulated(c.made.model) && !simulated(better.model) {
			c.note("thread %s goes on with %s, as before; --model %s would answer for real", c.id, c.made.model, better.model)
		}
	}
}

// noteFresh tells of a new thread as soon as there is something to go on with.
func (c *conversation) noteFresh() {
	if c.fresh {
		c.show.aside("new thread %s; go on with: %s", c.id, c.goOn())
		c.fresh = false
	}
}

// about is what a turn says about its thread: a new one that is kept is called
// as its first message begins.
func (c *conversation) about(text string) *selvage.ThreadUpdate {
	title := titleOf(text)
	if !c.fresh || title == "" {
		return c.update
	}
	update := selvage.ThreadUpdate{Title: &title}
	if c.update != nil {
		update.UserID = c.update.UserID
	}
	return &update
}

// maxTitle bounds the title of a new thread, in characters.
const maxTitle = 60

// titleOf is the first line of a message that says something, cut to what a
// list can show.
func titleOf(text string) string {
	for line := range strings.Lines(text) {
		line = oneLine(line)
		if line == "" {
			continue
		}
		if r := []rune(line); len(r) > maxTitle {
			return strings.TrimSpace(string(r[:maxTitle-3])) + "..."
		}
		return line
	}
	return ""
}

// notePicked says which model answers if nobody named one.
func (c *conversation) notePicked(picked *choice) {
	switch {
	case picked == nil:
	case picked.variable != "":
		c.note("model %s, because %s is set; --model chooses another", picked.model, picked.variable)
	default:
		c.note("no model is configured, so %s answers: it is offline and does what it is told. Things to type:", fallbackModel)
		c.note("  remember the key is under the mat")
		c.note("  recall")
		c.note("  stream 10")
		c.note("for a real model: export OPENAI_API_KEY=... (or ANTHROPIC_API_KEY, GEMINI_API_KEY), or --model ollama/NAME")
	}
}
