package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/selvagehq/selvage/internal/group"
)

// maxLine bounds one message of a server, and one of its lines on standard
// error that is logged.
const (
	maxLine    = 16 << 20
	maxLogLine = 2 << 10
)

// process is a server that runs as a child, with whatever it starts.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	said   lastWords
	grace  time.Duration
	ended  chan struct{} // closed when it was waited for
	state  error         // how it ended; valid when ended is closed
}

// start starts the command of a server. Its life does not depend on a context.
func start(s *Server, log *slog.Logger, grace time.Duration) (*process, error) {
	cmd := exec.Command(s.Command, s.Args...) //nolint:noctx // stop ends it
	cmd.Dir, cmd.Env = s.Dir, environment(s.Env)
	group.Lead(cmd)
	p := &process{cmd: cmd, grace: grace, ended: make(chan struct{})}
	p.said.log = log
	cmd.Stderr = &p.said
	cmd.WaitDelay = grace // for whoever still holds its standard error
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, p.stdout = in, out
	err = cmd.Start()
	_ = in.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", s.Command, err), out.Close(), p.stdin.Close())
	}
	go func() {
		defer close(p.ended)
		p.state = cmd.Wait()
	}()
	return p, nil
}

// environment is what a server is given: what is configured, PATH and HOME.
func environment(configured []string) []string {
	env := []string{}
	for _, name := range []string{"PATH", "HOME"} {
		has := func(entry string) bool { return strings.HasPrefix(entry, name+"=") }
		if value, ok := os.LookupEnv(name); ok && !slices.ContainsFunc(configured, has) {
			env = append(env, name+"="+value)
		}
	}
	return append(env, configured...)
}

// stop ends the process and waits for it: its input ends, then it is asked to
// end, then it is killed with all it started.
func (p *process) stop() {
	_ = p.stdin.Close() // it may have been closed before
	for _, next := range []func(*exec.Cmd) error{group.Terminate, group.Kill} {
		timer := time.NewTimer(p.grace)
		select {
		case <-p.ended:
		case <-timer.C:
			_ = next(p.cmd) // the last one cannot be refused
		}
		timer.Stop()
	}
	<-p.ended
	_ = group.Kill(p.cmd) // what it left behind
	_ = p.stdout.Close()  // it may have been closed before
}

// fate tells how it ended, or "" if it runs.
func (p *process) fate() string {
	select {
	case <-p.ended:
	default:
		return ""
	}
	how := "exit status 0"
	if p.state != nil {
		how = p.state.Error()
	}
	if said := p.said.last(); said != "" {
		how += ": " + said
	}
	return how
}

// transport speaks over the streams of the process.
func (p *process) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: &lines{from: bufio.NewReaderSize(p.stdout, 64<<10), close: p.stdout.Close}, Writer: p.stdin, MaxLineLength: -1}
}

// lines reads the messages of a server, one a line.
type lines struct {
	from  *bufio.Reader
	close func() error
	rest  []byte
}

// Read implements [io.Reader].
func (l *lines) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := readLine(l.from, maxLine)
		if err != nil {
			return 0, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.rest = append(exactly(line), '\n')
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close implements [io.Closer].
func (l *lines) Close() error { return l.close() }

var errLongLine = fmt.Errorf("a message has more than %d bytes", maxLine)

// readLine reads up to a line break. What ends without one is no line.
func readLine(from *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := from.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > limit:
			return nil, errLongLine
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// lastWords logs what a process writes to its standard error, and keeps the
// last line.
type lastWords struct {
	log  *slog.Logger
	mu   sync.Mutex
	part []byte // of a line that has not ended; guarded by mu
	line string // guarded by mu
}

// Write implements [io.Writer] and never fails.
func (w *lastWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for piece := range bytes.Lines(b) {
		w.part = append(w.part, piece[:min(len(piece), maxLogLine-min(len(w.part), maxLogLine))]...)
		if piece[len(piece)-1] == '\n' {
			w.endLine()
		}
	}
	return len(b), nil
}

func (w *lastWords) endLine() {
	text := strings.TrimSpace(strings.ToValidUTF8(string(w.part), "\uFFFD"))
	w.part = w.part[:0]
	if text != "" {
		w.line = text
		w.log.LogAttrs(context.Background(), slog.LevelInfo, "MCP server says", slog.String("text", text))
	}
}

// last returns the last line, as far as it has come.
func (w *lastWords) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.part) > 0 {
		w.endLine()
	}
	line := w.line
	return strings.ToValidUTF8(line[:min(len(line), 300)], "")
}
