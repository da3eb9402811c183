//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is the program on a terminal of its own.
type terminal struct {
	t    *testing.T
	file *os.File
	cmd  *exec.Cmd
	done chan struct{} // nothing more will be read
	more chan struct{} // holds one: something was read

	screen bool // it has a screen of its own

	mu   sync.Mutex
	seen bytes.Buffer
}

// onTerminal starts selvage on a terminal of 80 columns and 24 lines.
func onTerminal(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"selvage"}, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"TERM=xterm-256color", "PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "SELVAGE_HOME=" + cmd.Dir}, env...)
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, file: file, cmd: cmd, done: make(chan struct{}), more: make(chan struct{}, 1)}
	go term.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be over
		_ = file.Close()
		<-term.done
	})
	return term
}

// read keeps what the program writes, until it is over.
func (p *terminal) read() {
	defer close(p.done)
	buf := make([]byte, 4096)
	for {
		n, err := p.file.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		p.mu.Unlock()
		select {
		case p.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// types types text.
func (p *terminal) types(text string) {
	p.t.Helper()
	if _, err := p.file.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// escapes are a terminal's commands, but those that move the cursor to the
// right, which stand for spaces.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?<>=]*[ -/]*[@-BD-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78]`)

var skips = regexp.MustCompile(`\x1b\[[0-9]*C`)

// sees waits until the program has written text since it was last seen. A
// screen may write a line in pieces, and is asked to be drawn anew then.
func (p *terminal) sees(text string) {
	p.t.Helper()
	late := time.After(20 * time.Second)
	for {
		p.mu.Lock()
		all := p.seen.String()
		got := skips.ReplaceAllString(escapes.ReplaceAllString(all, ""), " ")
		found := strings.Contains(got, text)
		p.screen = p.screen || strings.Contains(all, "\x1b[?1049h")
		if found {
			p.seen.Reset()
		}
		p.mu.Unlock()
		if found {
			return
		}
		select {
		case <-p.more:
		case <-time.After(500 * time.Millisecond):
			if p.screen {
				p.mu.Lock()
				p.seen.Reset()
				p.mu.Unlock()
				p.types("\x0c")
			}
		case <-late:
			p.t.Fatalf("the terminal does not show %q, but\n%q", text, got)
		}
	}
}

// leaves waits until the program is over and returns its exit code and what it
// wrote at last.
func (p *terminal) leaves() (code int, last string) {
	p.t.Helper()
	late := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Wait() // its exit code tells
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.ProcessState.ExitCode(), p.seen.String()
}

// quits types a key until the program is over: what is seen of the end of a
// run may come before the end, and such a key is then about the run.
func (p *terminal) quits(key string) (code int, last string) {
	p.t.Helper()
	for range 20 {
		p.types(key)
		select {
		case <-p.done:
			return p.leaves()
		case <-time.After(time.Second):
		}
	}
	p.t.Fatalf("it does not leave by %q", key)
	return 0, ""
}

// TestScreen talks to the program as a person at a terminal does.
func TestScreen(t *testing.T) {
	t.Parallel()
	p := onTerminal(t, nil, "chat", "--thread", "t1", "--model", "sim/echo", "--tool", "note")
	p.sees("a message, or /help")
	p.types("hello\r")
	p.sees("You said: hello")
	p.types(`call note {"text":"kept"}` + "\r")
	p.sees("Done: Noted: kept")
	if err := pty.Setsize(p.file, &pty.Winsize{Rows: 10, Cols: 50}); err != nil {
		t.Fatal(err)
	}
	p.sees("Done: Noted: kept") // drawn anew
	p.types("stream 500\r")
	p.sees("answering")
	p.types("\x03")
	p.sees("interrupted")
	code, last := p.quits("\x04")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	_, left, ok := strings.Cut(last, "\x1b[?1049l") // the screen of before is back
	if !ok || !strings.Contains(left, "You said: hello") || !strings.Contains(left, "go on with: selvage chat --thread t1") {
		t.Errorf("left in the scrollback: %q", left)
	}
}

// TestScreenWithoutColour holds that nothing is coloured if nobody wants it,
// and that Ctrl-C leaves with the code of an interrupt.
func TestScreenWithoutColour(t *testing.T) {
	t.Parallel()
	p := onTerminal(t, []string{"NO_COLOR=1"}, "chat", "--thread", "t1", "--model", "sim/echo")
	p.sees("a message, or /help")
	p.types("**bold** and `code`\r")
	p.sees("You said: **bold** and `code`")
	code, last := p.quits("\x03")
	if code != 130 || !strings.Contains(last, "hint: go on with: selvage chat --thread t1") {
		t.Errorf("exit %d, %q", code, last)
	}
	if m := regexp.MustCompile(`\x1b\[[0-9;:]*[1-9][0-9;:]*m`).FindString(last); m != "" {
		t.Errorf("a colour was written: %q", m)
	}
}

// TestPlainConversation holds that who asks for lines gets lines.
func TestPlainConversation(t *testing.T) {
	t.Parallel()
	for name, how := range map[string][2]string{"flag": {"--plain", ""}, "variable": {"", "SELVAGE_PLAIN=1"}, "dumb": {"", "TERM=dumb"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"chat", "--thread", "t1", "--model", "sim/echo"}
			if how[0] != "" {
				args = append(args, how[0])
			}
			p := onTerminal(t, []string{how[1]}, args...)
			p.sees("/help lists commands")
			p.types("hello\r")
			p.sees("You said: hello")
			if code, last := p.quits("\x04"); code != 0 || strings.Contains(last, "\x1b[?1049") {
				t.Errorf("exit %d, %q", code, last)
			}
		})
	}
}

// TestScreenApproves answers what a run asks, and finds the question again in
// a process that comes later.
func TestScreenApproves(t *testing.T) {
	t.Parallel()
	home := "SELVAGE_HOME=" + t.TempDir()
	args := []string{"chat", "--thread", "t1", "--model", "sim/echo", "--tool", "ask_user", "--tool", "note"}
	p := onTerminal(t, []string{home}, args...)
	p.sees("a message, or /help")
	p.types(`call ask_user {"question":"Red or blue?","options":["red","blue"]}` + "\r")
	p.sees("[2] blue")
	p.types("l\r")
	p.sees("(ctrl+g)")
	if code, last := p.quits("\x04"); code != 0 || !strings.Contains(last, "the run waits for your answer; this asks again: selvage chat --thread t1") {
		t.Errorf("exit %d, %q", code, last)
	}
	p = onTerminal(t, []string{home}, args...)
	p.sees("[2] blue")
	p.types("2\r")
	p.sees("Done: blue")
	if code, _ := p.quits("\x04"); code != 0 {
		t.Errorf("exit %d", code)
	}
}
