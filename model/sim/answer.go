package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// pace is the time between the chunks of stream.
const pace = 50 * time.Millisecond

// answer is what the simulation will do about a request.
type answer struct {
	delay  time.Duration // before anything else
	words  []string      // the text, cut into chunks
	pace   time.Duration // between chunks
	calls  []selvage.ToolCall
	usage  selvage.Usage
	fail   model.Class // at once, or for Cut at the end of words
	finish model.Finish
}

// reply decides the answer to req.
func reply(req model.Request) answer {
	t := read(req.Messages)
	a := answer{finish: model.FinishStop}
	text, output := "", int64(-1)
	switch t.command.verb {
	case remember:
		text = "I will remember: " + t.command.text
	case recall:
		text = recollection(req.Messages[:t.user])
	case callTools, loop:
		text, a.calls = t.work()
	case stream:
		text, a.pace = numbers(t.command.n), pace
	case sleep:
		text, a.delay = "Slept "+t.command.text+".", t.command.delay
	case tokens:
		if text = t.echo(); req.Prefix == "" {
			output = t.command.n // the rest of it costs what it says
		}
	case describe:
		text = fmt.Sprintf("Context: %d messages, first %q", len(req.Messages), req.Messages[0].Text())
	case fail:
		text = t.echo()
		if t.command.n < 0 || int64(req.Attempt) < t.command.n {
			a.fail = t.command.class
		}
	default:
		text = t.echo()
	}
	// The rest of an answer that broke off is what the whole one goes on with.
	a.words = split(strings.TrimPrefix(text, req.Prefix))
	if a.fail == model.Cut {
		a.words = a.words[:(len(a.words)+1)/2]
	}
	if len(a.calls) > 0 {
		a.finish = model.FinishToolCalls
	}
	if output < 0 {
		output = int64(len(a.words))
	}
	if limit := req.MaxOutputTokens; limit > 0 && output > int64(limit) {
		output, a.finish = int64(limit), model.FinishLength
		a.words = a.words[:min(limit, len(a.words))]
	}
	a.usage = selvage.Usage{InputTokens: countWords(req.Messages), OutputTokens: output}
	a.usage.InputTokens += int64(len(strings.Fields(req.Prefix)))
	return a
}

// failure is the error of a failing answer, with the status that providers
// give to its class.
func (a *answer) failure() error {
	err := &model.Error{Class: a.fail, Err: errors.New("the user asked the simulation to fail")}
	switch a.fail {
	case model.RateLimited:
		err.Status = 429
	case model.Transient:
		err.Status = 503
	case model.Quota:
		err.Status = 402
	case model.Permanent:
		err.Status = 400
	}
	return err
}

// echo repeats what the user said.
func (t *turn) echo() string {
	if t.user < 0 {
		return "You said nothing."
	}
	return "You said: " + t.messages[t.user].Text()
}

// recollection lists what the user asked to remember in messages.
func recollection(messages []selvage.Message) string {
	var things []string
	for i := range messages {
		if messages[i].Role != selvage.RoleUser {
			continue
		}
		if c := parse(messages[i].Text()); c.verb == remember {
			things = append(things, c.text)
		}
	}
	if len(things) == 0 {
		return "I remember nothing."
	}
	return "You asked me to remember: " + strings.Join(things, "; ")
}

// numbers counts from 1 to n.
func numbers(n int64) string {
	var b []byte
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, i+1, 10)
	}
	return string(b)
}

// split cuts text into chunks of one word each, with the white space after it
// and, in the first, before it. Joined they are text.
func split(text string) []string {
	var words []string
	start, between := 0, false
	seen := false
	for i, r := range text {
		space := unicode.IsSpace(r)
		if between && !space && seen {
			words = append(words, text[start:i])
			start = i
		}
		between, seen = space, seen || !space
	}
	if start < len(text) {
		words = append(words, text[start:])
	}
	return words
}

// countWords counts the words of messages.
func countWords(messages []selvage.Message) int64 {
	var n int64
	for i := range messages {
		n += int64(len(strings.Fields(textOf(&messages[i]))))
	}
	return n
}

// textOf is what a message says: its text, and its data as JSON.
func textOf(m *selvage.Message) string {
	var b strings.Builder
	for _, p := range m.Content {
		switch p.Type {
		case selvage.PartText:
			b.WriteString(p.Text)
		case selvage.PartData:
			b.Write(p.Value)
		}
	}
	return b.String()
}
