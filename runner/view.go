package runner

import (
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// view is what the model is to see of the conversation.
func (x *run) view() []selvage.Message {
	messages, _ := x.compose()
	return messages
}

// compose returns what the model is to see of the conversation, and an account
// of it: the summary of what it covers, and after that as much of the end as
// there is room for.
func (x *run) compose() ([]selvage.Message, *frame) {
	if view, f, ok := x.glance(); ok {
		return view, f
	}
	all := x.uncovered()
	from := cut(all, x.keep)
	if room := x.roomForMessages(); room > 0 {
		from += fitting(all[from:], int(float64(room)/x.scale()))
	}
	f := x.frameOf(all, from)
	return f.compose(all[from:], x.summary), f
}

// uncovered is the conversation without its summaries, from where the one in
// force ends.
func (x *run) uncovered() []selvage.Message {
	messages := x.messages()
	until := int64(0)
	if x.summary != nil {
		until = x.summary.ToSeq
	}
	covered := func(m *selvage.Message) bool {
		return summarises(m) || m.Seq > 0 && m.Seq <= until && !x.openCallOf(m)
	}
	for i := range messages {
		if covered(&messages[i]) {
			return slices.DeleteFunc(slices.Clone(messages), func(m selvage.Message) bool { return covered(&m) })
		}
	}
	return messages
}

// openCallOf reports whether a message makes a call that is open still.
func (x *run) openCallOf(m *selvage.Message) bool {
	return slices.ContainsFunc(m.ToolCalls, func(c selvage.ToolCall) bool { return x.isOpen(c.ID) })
}

// fitting returns the least index from which messages take no more than so
// many tokens and no call is separated from its result. The last messages that
// belong together are kept even if they take more.
func fitting(messages []selvage.Message, tokens int) int {
	whole := wholeFrom(messages)
	best, said, sum := -1, false, 0
	for i := len(messages) - 1; i >= 0; i-- {
		sum += estimate(&messages[i])
		said = said || messages[i].Role != selvage.RoleTool
		if sum > tokens && best >= 0 {
			break
		}
		if whole[i] && said {
			best = i
		}
	}
	return max(best, 0)
}

// wholeFrom reports of each index whether the messages from there on hold the
// calls of all results that they hold, as far as these calls are there at all.
func wholeFrom(messages []selvage.Message) []bool {
	made := make(map[string]bool)
	for i := range messages {
		for _, c := range messages[i].ToolCalls {
			made[c.ID] = true
		}
	}
	whole, lost := make([]bool, len(messages)), make(map[string]bool)
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Role == selvage.RoleTool && made[m.ToolCallID] {
			lost[m.ToolCallID] = true
		}
		for _, c := range m.ToolCalls {
			delete(lost, c.ID)
		}
		whole[i] = len(lost) == 0
	}
	return whole
}

// What is not text takes about so many tokens.
const (
	messageTokens = 4
	partTokens    = 1000 // of an image or a file
)

// estimate is about how many tokens a message takes.
func estimate(m *selvage.Message) int {
	chars, tokens := 0, messageTokens
	for i := range m.Content {
		p := &m.Content[i]
		chars += len(p.Text) + len(p.Value)
		if p.Type == selvage.PartImage || p.Type == selvage.PartFile {
			tokens += partTokens
		}
	}
	for i := range m.ToolCalls {
		chars += len(m.ToolCalls[i].Name) + len(m.ToolCalls[i].Arguments)
	}
	return tokens + int(tokensOf(chars))
}

func estimateAll(messages []selvage.Message) int {
	sum := 0
	for i := range messages {
		sum += estimate(&messages[i])
	}
	return sum
}

// overhead is about how many tokens the model is given besides messages.
func (x *run) overhead() int {
	chars := len(x.spec.System)
	for i := range x.tools {
		t := &x.tools[i]
		chars += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return int(tokensOf(chars))
}

// room is how many tokens the model may be given: what the run says, else what
// the models that may answer take, less what they may answer with. 0 is
// unbounded.
func (x *run) room() int {
	if n := x.context.rules.Tokens; n > 0 {
		return n
	}
	room := 0
	for i := range x.chain {
		if size, known := x.r.contextSize(x.chain[i].model); known {
			output := min(8192, size/4)
			if n := x.spec.MaxOutputTokens; n > 0 {
				output = min(n, size/2)
			}
			if room == 0 || size-output < room {
				room = size - output
			}
		}
	}
	return room
}

// contextSize is how many tokens a model takes, if that is known.
func (r *Runner) contextSize(m model.Model) (int, bool) {
	if n := r.opts.ContextSizes[m.Name()]; n > 0 {
		return n, true
	}
	return model.ContextTokens(m)
}

// roomForMessages is what of the room is left for messages; 0 is unbounded.
func (x *run) roomForMessages() int {
	room := x.room()
	if room == 0 {
		return 0
	}
	fixed := x.overhead()
	if x.summary != nil {
		fixed += estimate(&x.summary.message)
	}
	return max(room-int(float64(fixed)*x.scale()), 1)
}

// calibrate takes in how many tokens the model counted of what it was given,
// so that what it is given next is estimated as it counts.
func (x *run) calibrate(counted int64) {
	if f := x.context.sent; f != nil && counted > 0 {
		f.Used = counted
		x.context.scale = scaleOf(counted, f.Tokens)
	}
}

// scale is how many tokens the model counts for one that is estimated. What it
// counted last tells, if need be in a run before.
func (x *run) scale() float64 {
	if x.context.scale == 0 {
		x.context.scale = 1
		for i := range slices.Backward(x.window) {
			if f := frameIn(&x.window[i]); f != nil {
				x.context.scale = scaleOf(f.Used, f.Tokens)
				break
			}
		}
	}
	return x.context.scale
}

// scaleWeight is how many estimated tokens a count must be of to outweigh the
// estimate: of a few words a provider's count tells little of a long text.
const scaleWeight = 200

// scaleOf is how many tokens a model counts for one that is estimated.
func scaleOf(counted, estimated int64) float64 {
	if counted <= 0 || estimated <= 0 {
		return 1
	}
	return min(max(float64(counted+scaleWeight)/float64(estimated+scaleWeight), 0.1), 10)
}
