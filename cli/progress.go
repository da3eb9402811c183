package cli

import (
	"fmt"
	"time"
)

// progress tells on stderr how far long work has come: on a terminal in a line
// that is written over, elsewhere in plain lines now and then. Work that is
// over at once says nothing.
type progress struct {
	a     *app
	what  string // what is being done, "verified"
	unit  string // of what, "threads"
	total int64  // 0 if that is not known
	done  int64
	now   func() time.Time
	begun time.Time
	told  time.Time // when the last line was written
	shown bool      // a line stands on the terminal
}

// How often progress is told.
const (
	progressAfter    = time.Second
	progressTerminal = 200 * time.Millisecond
	progressPlain    = 5 * time.Second
)

// progress begins to tell about work. End it when the work is over.
func (a *app) progress(what, unit string, total int64) *progress {
	now := time.Now()
	return &progress{a: a, what: what, unit: unit, total: total, now: time.Now, begun: now, told: now}
}

// add counts n more units as done.
func (p *progress) add(n int64) {
	p.done += n
	every := progressPlain
	if p.a.err.terminal {
		every = progressTerminal
	}
	now := p.now()
	if p.a.flags.quiet || p.a.wantsJSON() || now.Sub(p.begun) < progressAfter || now.Sub(p.told) < every {
		return
	}
	p.told = now
	if !p.a.err.terminal {
		p.a.err.line("%s", p.line(now))
		return
	}
	p.shown = true
	p.a.err.raw("\r\x1b[K" + p.a.err.style.dim(p.line(now)))
}

// line is where the work stands: how much, how fast, and how long it will take
// at that rate.
func (p *progress) line(now time.Time) string {
	took := now.Sub(p.begun)
	rate := float64(p.done) / max(took.Seconds(), 0.001)
	if p.total <= 0 {
		return fmt.Sprintf("%s %d %s, %.0f/s", p.what, p.done, p.unit, rate)
	}
	left := "soon"
	if p.done > 0 && p.done < p.total {
		left = "in " + (time.Duration(float64(p.total-p.done)/rate*float64(time.Second)) + 500*time.Millisecond).Truncate(time.Second).String()
	}
	return fmt.Sprintf("%s %d of %d %s, %.0f/s, ready %s", p.what, p.done, p.total, p.unit, rate, left)
}

// end clears the line on the terminal.
func (p *progress) end() {
	if p.shown {
		p.a.err.raw("\r\x1b[K")
		p.shown = false
	}
}
