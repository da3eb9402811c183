package tui

import "strings"

// maxOpen bounds the text that is rendered again with each piece that arrives.
const maxOpen = 8 << 10

// flow is markdown that arrives in pieces. Blocks that are whole are rendered
// once for a width; only the last one, which may go on, is rendered anew. A
// long answer therefore costs its length and not the square of it. Links that
// are defined in another block than they are used in are shown as written.
type flow struct {
	whole []passage
	text  strings.Builder
	open  string // the block that may go on
	read  int    // how much of open, in whole lines, has been looked at
	blank int    // where the empty lines before that begin; -1: there are none
	fence string // what closes the code at the end of open; "": it does not end in code
	code  bool   // open is nothing but that code
	begun bool   // and part of the code is in whole

	width   int // what the rest is for
	drawn   int // passages of whole that are in settled
	settled []string
	tail    []string
	tailed  int // length of open that tail was rendered from
}

// passage is a part that nothing can be added to.
type passage struct {
	text string
	code bool // lines of a program, without their fences
	goes bool // on from the passage before
}

func newFlow(text string) *flow {
	f := &flow{blank: -1, tailed: -1}
	f.add(text)
	return f
}

// add appends text.
func (f *flow) add(text string) {
	f.text.WriteString(text)
	f.open += text
	for {
		end := strings.IndexByte(f.open[f.read:], '\n')
		if end < 0 {
			break // a line that is not whole decides nothing
		}
		f.line(f.read, f.read+end+1)
	}
	for len(f.open) > 2*maxOpen && f.read <= maxOpen { // one line, and no end of it
		at := strings.LastIndexByte(f.open[:maxOpen], ' ') + 1
		if at == 0 {
			for at = maxOpen; at > 0 && f.open[at]&0xC0 == 0x80; at-- { // not within a character
			}
		}
		f.keep(at, at)
	}
}

// said is all the text that was added.
func (f *flow) said() string { return f.text.String() }

// line looks at the line of open from pos to next.
func (f *flow) line(pos, next int) {
	f.read = next
	text := f.open[pos : next-1]
	switch {
	case f.fence != "" && closes(text, f.fence):
		f.fence = ""
		if f.code {
			f.keep(pos, next)
			f.code, f.begun = false, false
		}
	case f.code && pos > maxOpen:
		f.keep(pos, pos)
	case f.fence != "":
	case strings.TrimSpace(text) == "":
		if f.blank < 0 {
			f.blank = pos
		}
	case opens(text) != "" && !indented(text):
		f.fence = opens(text)
		f.keep(pos, next)
		f.code = true
	case f.blank >= 0 && !continues(text), pos > maxOpen:
		f.keep(pos, pos)
		if opens(text) != "" {
			f.fence = opens(text)
		}
	default:
		f.blank, f.fence = -1, opens(text)
	}
}

// keep makes a passage of open up to at; what goes on begins at next.
func (f *flow) keep(at, next int) {
	text := f.open[:at]
	switch {
	case f.code && (text != "" || !f.begun):
		f.whole = append(f.whole, passage{text: text, code: true, goes: f.begun})
		f.begun = true
	case !f.code && strings.TrimSpace(text) != "":
		f.whole = append(f.whole, passage{text: text})
	}
	f.open, f.read, f.blank, f.tailed = f.open[next:], max(0, f.read-next), -1, -1
}

// opens returns the fence that a line opens code with, or "".
func opens(line string) string {
	trimmed := strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		n := len(trimmed) - len(strings.TrimLeft(trimmed, mark))
		if n >= 3 && (mark != "`" || !strings.Contains(trimmed[n:], "`")) {
			return strings.Repeat(mark, n)
		}
	}
	return ""
}

// closes reports whether a line closes code that a fence opened.
func closes(line, fence string) bool {
	trimmed := strings.TrimSpace(line)
	return strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == ""
}

func indented(line string) bool { return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") }

// continues reports whether a line after an empty one may still belong to the
// block before it: it is indented, or an item of a list.
func continues(line string) bool {
	if indented(line) {
		return true
	}
	rest := strings.TrimLeft(line, "0123456789")
	if n := len(line) - len(rest); n > 0 && n < 10 {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ")
}

// lines renders what there is for a width, in two parts to be read one after
// the other. They are valid until the next call.
func (f *flow) lines(p *palette, width int) (settled, tail []string) {
	if f.width != width {
		f.width, f.drawn, f.settled, f.tailed = width, 0, nil, -1
	}
	for ; f.drawn < len(f.whole); f.drawn++ {
		w := &f.whole[f.drawn]
		if f.drawn > 0 && !w.goes {
			f.settled = append(f.settled, "")
		}
		f.settled = append(f.settled, draw(p, w.text, w.code, width)...)
	}
	if f.tailed != len(f.open) {
		f.tail, f.tailed = f.tail[:0], len(f.open)
		if strings.TrimSpace(f.open) != "" {
			if len(f.settled) > 0 && !f.begun {
				f.tail = append(f.tail, "")
			}
			f.tail = append(f.tail, draw(p, f.open, f.code, width)...)
		}
	}
	return f.settled, f.tail
}

func draw(p *palette, text string, code bool, width int) []string {
	if code {
		return p.code(safe(text), width)
	}
	return p.markdown(text, width)
}
