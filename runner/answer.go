package runner

import (
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// answer is an answer of the model in the making: what has come of it, in as
// many attempts as it takes, and what they have used. It belongs to the
// goroutine of its run; draft may be called in any.
type answer struct {
	id     string // of the message it will be
	again  repetition
	tail   string // the beginning of a character of the text
	output bool   // the attempt under way has given something

	mu        sync.Mutex // guards what follows, except from reads of the owner
	arrived   model.Accumulator
	text      strings.Builder // of arrived
	reasoning strings.Builder // of arrived
	calls     []selvage.ToolCall
	writing   *writing
	frame     selvage.StreamCheckpoint // what a draft says besides, with the totals before the attempt
	meter     meter                    // of the attempt
}

// begin takes account of an attempt that is about to be made.
func (a *answer) begin(by *candidate, req *model.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.frame.Model, a.frame.Attempt = by.model.Name(), req.Attempt
	a.meter = meter{price: &by.price, req: req}
	a.again, a.tail, a.output = repetition{}, "", false
	if recognisable(req.Prefix) {
		a.again.of = req.Prefix
	}
}

// add takes the next chunk and returns what of the text there is now to tell.
func (a *answer) add(c model.Chunk) string {
	text := ""
	if c.Text != "" {
		text, a.tail = whole(a.tail + a.again.hear(c.Text))
	}
	a.output = a.output || c.Text != "" || c.Reasoning != "" || c.ToolCall != nil || c.Writing != nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.meter.add(&c)
	a.grow(text)
	c.Text, c.Usage, c.Finish = "", nil, ""
	a.arrived.Add(c)
	a.reasoning.WriteString(c.Reasoning)
	if c.ToolCall != nil {
		a.calls, a.writing = append(a.calls, *c.ToolCall), nil
	}
	if p := c.Writing; p != nil {
		if a.writing == nil || p.Name != "" {
			a.writing = &writing{id: p.ID, name: p.Name}
		}
		a.writing.arguments.WriteString(p.Arguments)
	}
	return text
}

// writing is a call that the model is writing.
type writing struct {
	id, name  string
	arguments strings.Builder
}

// partial is the call as far as it has come.
func (w *writing) partial() *selvage.PartialCall {
	if w == nil {
		return nil
	}
	valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	return &selvage.PartialCall{ID: valid(w.id), Name: valid(w.name), Arguments: valid(w.arguments.String())}
}

// end takes what was held back of an answer that is complete, and returns it.
func (a *answer) end() string {
	text := strings.ToValidUTF8(a.tail+a.again.rest(), "\uFFFD")
	a.tail = ""
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grow(text)
	return text
}

// grow continues the text. The caller holds mu.
func (a *answer) grow(text string) {
	a.arrived.Add(model.Chunk{Text: text})
	a.text.WriteString(text)
}

// take begins the answer with what another process had of it.
func (a *answer) take(c *selvage.StreamCheckpoint) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.arrived.Add(model.Chunk{Reasoning: c.Reasoning})
	a.reasoning.WriteString(c.Reasoning)
	a.grow(c.Text)
	a.frame.Usage, a.frame.Cost = c.Usage, c.Cost
}

// clear forgets what has come, but not what it used.
func (a *answer) clear(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.tail, a.again = id, "", repetition{}
	a.arrived, a.calls, a.writing = model.Accumulator{}, nil, nil
	a.text.Reset()
	a.reasoning.Reset()
}

// book closes the account of the attempt and returns what it used. One that
// was broken off is estimated where the provider said nothing.
func (a *answer) book(broken bool) (selvage.Usage, selvage.Money) {
	a.mu.Lock()
	defer a.mu.Unlock()
	usage, cost := a.meter.read(broken)
	a.meter = meter{}
	f := &a.frame
	f.Usage, f.Cost = f.Usage.Add(usage), f.Cost+cost
	f.RunUsage, f.RunCost = f.RunUsage.Add(usage), f.RunCost+cost
	return usage, cost
}

// empty reports whether there is nothing worth keeping.
func (a *answer) empty() bool {
	return a.text.Len() == 0 && a.reasoning.Len() == 0 && len(a.calls) == 0 && a.writing == nil && a.frame.Usage == selvage.Usage{}
}

// draft is the stream checkpoint of the answer as it stands.
func (a *answer) draft() selvage.StreamCheckpoint {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.frame
	c.Text, c.Reasoning, c.Calls = a.text.String(), strings.ToValidUTF8(a.reasoning.String(), "\uFFFD"), a.calls[:len(a.calls):len(a.calls)]
	c.InFlight = a.writing.partial()
	usage, cost := a.meter.read(true)
	c.Usage, c.Cost = c.Usage.Add(usage), c.Cost+cost
	c.RunUsage, c.RunCost = c.RunUsage.Add(usage), c.RunCost+cost
	until := time.Now().Add(partialLife)
	c.ExpiresAt = &until
	return c
}

// whole splits text before the character that it ends in the middle of.
func whole(text string) (valid, tail string) {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if i := len(text) - n; utf8.RuneStart(text[i]) {
			if !utf8.FullRuneInString(text[i:]) {
				text, tail = text[:i], text[i:]
			}
			break
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD"), tail
}

// repetition recognises a continuation that begins by repeating the whole of
// what it is to follow, and drops that. The zero value drops nothing.
type repetition struct {
	of    string
	heard int // bytes of it that were repeated
}

// hear takes the next piece of a continuation and returns what is new.
func (r *repetition) hear(text string) string {
	rest := r.of[r.heard:]
	switch {
	case rest == "":
		return text
	case len(text) < len(rest) && strings.HasPrefix(rest, text):
		r.heard += len(text)
		return ""
	case strings.HasPrefix(text, rest):
		*r = repetition{}
		return text[len(rest):]
	}
	return r.rest() + text
}

// rest returns what was held back because it could have become a repetition.
func (r *repetition) rest() string {
	held := r.of[:r.heard]
	*r = repetition{}
	return held
}

// recognisable reports whether a text is so particular that whoever says it
// twice repeats it: not a few characters, and not one pattern again and again,
// which may well go on.
func recognisable(text string) bool {
	if utf8.RuneCountInString(text) < 4 || !strings.ContainsFunc(text, unicode.IsLetter) {
		return false
	}
	// A text has the period n if it matches itself moved by n.
	for n := 1; n <= len(text)/2; n++ {
		if text[n:] == text[:len(text)-n] {
			return false
		}
	}
	return true
}
