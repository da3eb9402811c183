package service

import "strings"

// GoOn asks a model that cannot simply be given the beginning of its answer to
// go on after it.
const GoOn = "Your answer above was cut off by a broken connection. Go on exactly where it stopped: begin with the very next " +
	"character, repeat nothing of it, and say nothing about the interruption."

// minRepeat is how long a prefix is at least, in bytes, for the same text at the
// beginning of the rest to be a repetition and no coincidence.
const minRepeat = 24

// Continuation passes on the rest of an answer that broke off, without what a
// model repeats of its beginning although it was asked not to. The zero value
// passes on everything.
type Continuation struct {
	prefix string // what may be repeated; "" once that is decided
	tail   string // white space at the end of the prefix that may be repeated
	held   string // what may turn out to be a repetition
}

// NewContinuation expects the rest of an answer that begins with prefix. Tail is
// the end of it that the server was not shown.
func NewContinuation(prefix, tail string) *Continuation {
	c := &Continuation{tail: tail}
	if len(prefix) >= minRepeat {
		c.prefix = prefix
	}
	return c
}

// Add takes the next piece of text and returns what of it, and of pieces before
// it, is to be passed on now.
func (c *Continuation) Add(text string) string {
	for c.tail != "" && text != "" {
		if text[0] != c.tail[0] {
			c.tail = ""
			break
		}
		text, c.tail = text[1:], c.tail[1:]
	}
	if c.prefix == "" {
		return text
	}
	c.held += text
	if len(c.held) < len(c.prefix) && strings.HasPrefix(c.prefix, c.held) {
		return ""
	}
	rest := strings.TrimPrefix(c.held, c.prefix)
	c.prefix, c.held = "", ""
	return rest
}

// End returns what is still held: it was no repetition of the whole.
func (c *Continuation) End() string {
	held := c.held
	c.prefix, c.held = "", ""
	return held
}
