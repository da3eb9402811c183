package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// progressOf is progress with a clock of its own.
func progressOf(t *testing.T, terminal bool, total int64) (p *progress, tick func(time.Duration), out *bytes.Buffer) {
	t.Helper()
	out = &bytes.Buffer{}
	a, err := newApp(Options{Args: []string{}, Dir: t.TempDir(), Stdout: out, Stderr: out})
	if err != nil {
		t.Fatal(err)
	}
	a.err.terminal = terminal
	p = a.progress("copied", "threads", total)
	clock := p.begun
	p.now = func() time.Time { return clock }
	return p, func(d time.Duration) { clock = clock.Add(d) }, out
}

func TestProgressIsPlainInAPipe(t *testing.T) {
	t.Parallel()
	p, tick, out := progressOf(t, false, 100)
	for range 10 {
		tick(time.Second)
		p.add(5)
	}
	p.end()
	if want := "copied 25 of 100 threads, 5/s, ready in 15s\ncopied 50 of 100 threads, 5/s, ready in 10s\n"; out.String() != want {
		t.Errorf("progress is\n%s, want\n%s", out, want)
	}
}

func TestProgressRewritesItsLine(t *testing.T) {
	t.Parallel()
	p, tick, out := progressOf(t, true, 0)
	tick(2 * time.Second)
	p.add(4)
	p.end()
	if got := out.String(); !strings.HasPrefix(got, "\r\x1b[K") || !strings.Contains(got, "copied 4 threads, 2/s") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("progress is %q", got)
	}
}

func TestProgressOfShortWork(t *testing.T) {
	t.Parallel()
	p, tick, out := progressOf(t, true, 2)
	tick(time.Millisecond)
	p.add(2)
	p.end()
	if out.Len() != 0 {
		t.Errorf("work that is over at once says %q", out)
	}
}
