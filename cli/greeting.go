package cli

import "github.com/selvagehq/selvage"

// noteThread says what a person has to know before the first turn.
func (c *conversation) noteThread(head *selvage.Head, last *makeup, picked *choice) {
	c.noteIgnored()
	c.notePicked(picked)
	switch {
	case !c.kept():
		c.note("nothing of this conversation is kept")
	case head == nil:
		c.note("new thread %s; go on with: %s", c.id, c.goOn())
	case last != nil:
		if d := last.differences(&c.made); d != "" {
			c.note("thread %s goes on with %s", c.id, d)
		} else if better, err := c.choose(); err == nil && simulated(c.made.model) && !simulated(better.model) {
			c.note("thread %s goes on with %s, as before; --model %s would answer for real", c.id, c.made.model, better.model)
		}
	}
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
