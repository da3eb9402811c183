package tui

// transcript is what was said, as a column of entries of which a window is
// seen.
type transcript struct {
	*palette
	entries []entry
	width   int
	height  int
	top     int  // the first line seen, if it does not follow
	follow  bool // the end is seen, whatever is added
	cut     bool // entries were dropped
}

// maxEntries bounds what is kept of a long conversation.
const maxEntries = 4000

func (t *transcript) add(e entry) {
	if len(t.entries) >= maxEntries {
		t.entries = append(t.entries[:0], t.entries[maxEntries/4:]...)
		t.cut = true
	}
	t.entries = append(t.entries, e)
}

// remove takes an entry away again.
func (t *transcript) remove(gone entry) {
	for i, e := range t.entries {
		if e == gone {
			t.entries = append(t.entries[:i], t.entries[i+1:]...)
			return
		}
	}
}

// placed is an entry where it stands.
type placed struct {
	entry
	at            int // its first line
	settled, tail []string
}

// end is the line after its last.
func (p *placed) end() int { return p.at + len(p.settled) + len(p.tail) }

// layout places the entries that have lines, and counts all lines.
func (t *transcript) layout() (all []placed, total int) {
	all = make([]placed, 0, len(t.entries))
	for _, e := range t.entries {
		settled, tail := e.lines(t.palette, t.width)
		if len(settled)+len(tail) == 0 {
			continue
		}
		if len(all) > 0 && apart(all[len(all)-1].entry, e) {
			total++
		}
		all = append(all, placed{e, total, settled, tail})
		total = all[len(all)-1].end()
	}
	return all, total
}

// apart reports whether an empty line stands between two entries. Calls and
// notices that follow each other are a list.
func apart(a, b entry) bool {
	switch a.(type) {
	case *call:
		_, same := b.(*call)
		return !same
	case *notice:
		_, same := b.(*notice)
		return !same
	}
	return true
}

// window returns the lines that are seen, at most height of them.
func (t *transcript) window() []string {
	all, total := t.layout()
	last := max(0, total-t.height)
	if t.follow || t.top >= last {
		t.top, t.follow = last, true
	}
	return slice(all, t.top, min(t.height, total-t.top))
}

// slice returns count lines from the line numbered from.
func slice(all []placed, from, count int) []string {
	out := make([]string, 0, max(0, count))
	for i := range all {
		p := &all[i]
		if p.end() <= from {
			continue
		}
		for ; len(out) < count && from+len(out) < p.at; out = append(out, "") {
		}
		for ; len(out) < count && from+len(out) < p.end(); out = append(out, p.line(from+len(out))) {
		}
	}
	return out
}

// line returns a line by its number in the transcript.
func (p *placed) line(n int) string {
	if n -= p.at; n < len(p.settled) {
		return p.settled[n]
	}
	return p.tail[n-len(p.settled)]
}

// text returns the last lines, at most so many, and how many came before.
func (t *transcript) text(most int) (lines []string, before int) {
	all, total := t.layout()
	before = max(0, total-most)
	return slice(all, before, total-before), before
}

// scroll moves the window by lines, down if n is positive.
func (t *transcript) scroll(n int) {
	_, total := t.layout()
	t.settle(t.place(total)+n, total)
}

// place is the first line seen.
func (t *transcript) place(total int) int {
	if t.follow {
		return max(0, total-t.height)
	}
	return t.top
}

func (t *transcript) settle(top, total int) {
	last := max(0, total-t.height)
	t.top = min(max(0, top), last)
	t.follow = t.top == last
}

// reveal scrolls as little as possible so that the begin of an entry is seen.
func (t *transcript) reveal(wanted entry) {
	all, total := t.layout()
	top := t.place(total)
	for i := range all {
		if p := &all[i]; p.entry == wanted {
			t.settle(max(min(top, p.at), p.at-t.height+1), total)
		}
	}
}

// resize gives the window another size. The entry at its top stays there: the
// lines themselves are others now.
func (t *transcript) resize(width, height int) {
	var first entry
	if t.width > 0 && !t.follow {
		all, _ := t.layout()
		for i := len(all) - 1; i >= 0 && all[i].end() > t.top; i-- {
			first = all[i].entry
		}
	}
	t.width, t.height = width, max(0, height)
	if first == nil {
		return
	}
	all, total := t.layout()
	for i := range all {
		if all[i].entry == first {
			t.settle(all[i].at, total)
		}
	}
}
