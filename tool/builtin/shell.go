package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/group"
	"github.com/selvagehq/selvage/tool"
)

// Shell says how shell runs commands. With the zero value somebody is asked
// before each.
type Shell struct {
	// Allow lists what runs unasked: a first word ("ls": with whatever
	// follows), a whole command ("git status") or a pattern for one, in which
	// * stands for anything ("git log *"). Only commands of letters, digits,
	// spaces and -_./:@%+=, can be allowed: what a shell could read otherwise is
	// asked about.
	Allow []string

	// Dir is the working directory. Empty is that of the process.
	Dir string

	// Env is where PATH, HOME, USER, LANG, TZ, TMPDIR and names that begin with
	// LC_ are taken from; a command is given nothing else. Nil is the
	// environment of the process.
	Env []string

	// Timeout bounds one command. Zero means a minute.
	Timeout time.Duration
}

// Bounds of shell.
const (
	shellTimeout   = time.Minute
	shellGrace     = 2 * time.Second // for what holds the output of a command that is over
	maxCommand     = 32 << 10
	maxShellOutput = 64 << 10 // told to the model, half of it from the beginning
)

type shellIn struct {
	Command string `json:"command" jsonschema:"command for sh -c"`
}

// shell runs commands. What it starts ends with the call, the background
// included.
func shell(opts Shell) tool.Tool {
	timeout := opts.Timeout
	if timeout <= 0 {
		timeout = shellTimeout
	}
	run := func(ctx context.Context, in shellIn) (selvage.ToolResult, error) {
		if err := checkCommand(in.Command); err != nil {
			return selvage.ToolResult{}, err
		}
		return opts.run(ctx, in.Command)
	}
	return tool.Func("shell", "Runs a command with sh and tells its output.", run, tool.Options{
		Effect: selvage.EffectOnce, OnUnknown: tool.AskUnknown, Timeout: timeout,
		Gate: func(_ context.Context, c *tool.Call) error {
			var in shellIn
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return err
			}
			if err := checkCommand(in.Command); err != nil {
				return err
			}
			if opts.allows(in.Command) {
				return nil
			}
			details, err := json.Marshal(map[string]string{"command": in.Command, "dir": opts.Dir})
			if err != nil {
				return err
			}
			return tool.Suspend(selvage.Ticket{Reason: selvage.WaitApproval, Message: "run: " + onOneLine(clip(in.Command, 400)), Details: details})
		}})
}

// onOneLine shows a command on one line: who approves it must see that there are
// several, where a line break shown as a space would make them look like one.
func onOneLine(command string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(command)
}

func checkCommand(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return errors.New("there is no command")
	case len(command) > maxCommand:
		return fmt.Errorf("the command has more than %d bytes", maxCommand)
	case strings.ContainsRune(command, 0):
		return errors.New("a command has no zero bytes")
	}
	return nil
}

// plain reports whether a shell reads the command as nothing but words.
func plain(command string) bool {
	return !strings.ContainsFunc(command, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(" -_./:@%+=,", r)
	})
}

// allows reports whether a command may run unasked.
func (o *Shell) allows(command string) bool {
	words := strings.Fields(command)
	if !plain(command) || strings.Contains(words[0], "=") {
		return false
	}
	whole := strings.Join(words, " ")
	return slices.ContainsFunc(o.Allow, func(entry string) bool {
		entry = strings.Join(strings.Fields(entry), " ")
		switch {
		case strings.Contains(entry, "*"):
			// path.Match has a slash end what * stands for; a command does not.
			ok, err := path.Match(strings.ReplaceAll(entry, "/", "\n"), strings.ReplaceAll(whole, "/", "\n"))
			return ok && err == nil
		case strings.Contains(entry, " "):
			return entry == whole
		}
		return entry == words[0]
	})
}

// run runs a command and waits for it and what it started.
func (o *Shell) run(ctx context.Context, command string) (selvage.ToolResult, error) {
	out := &capture{limit: maxShellOutput}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.Dir, o.environment(), out, out
	cmd.Cancel = func() error { return group.Kill(cmd) }
	cmd.WaitDelay = shellGrace
	began, err := group.Run(cmd)
	var exit *exec.ExitError
	switch {
	case !began:
		return selvage.ToolResult{}, fmt.Errorf("start the command: %w", err)
	case ctx.Err() != nil:
		return selvage.ToolResult{}, fmt.Errorf("the command was ended: %w", ctx.Err())
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // something in the background held the output
	case err != nil && !errors.As(err, &exit):
		return selvage.ToolResult{}, fmt.Errorf("run the command: %w", err)
	}
	text := out.text()
	if exit != nil {
		return tool.Failed("%s", strings.TrimPrefix(text+"\n("+exit.Error()+")", "\n")), nil
	}
	if text == "" {
		text = "(no output)"
	}
	return tool.Text(text), nil
}

// environment is what a command is given.
func (o *Shell) environment() []string {
	from := o.Env
	if from == nil {
		from = os.Environ()
	}
	env := []string{}
	for _, entry := range from {
		switch name, _, _ := strings.Cut(entry, "="); {
		case slices.Contains([]string{"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"}, name), strings.HasPrefix(name, "LC_"):
			env = append(env, entry)
		}
	}
	return env
}

// capture keeps the beginning and the end of what is written to it.
type capture struct {
	limit      int
	head, tail []byte
	written    int
}

// Write implements [io.Writer] and never fails.
func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.written += n
	if room := c.limit/2 - len(c.head); room > 0 {
		room = min(room, len(p))
		c.head, p = append(c.head, p[:room]...), p[room:]
	}
	c.tail = append(c.tail, p...)
	if over := len(c.tail) - c.limit/2; over > c.limit {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return n, nil
}

// text is what was written, as text.
func (c *capture) text() string {
	tail := c.tail[max(0, len(c.tail)-c.limit/2):]
	if binary(c.head) || !utf8.Valid(c.head) && odd(c.head) {
		return fmt.Sprintf("(%d bytes of output that are not text)", c.written)
	}
	text := string(c.head)
	if left := c.written - len(c.head) - len(tail); left > 0 {
		text += fmt.Sprintf("\n(%d bytes left out)\n", left)
	}
	return strings.TrimRight(strings.ToValidUTF8(text+string(tail), "\uFFFD"), "\n")
}

// odd reports whether a third of some bytes is no text.
func odd(b []byte) bool {
	faults := 0
	for _, r := range string(b) {
		if r == utf8.RuneError {
			faults++
		}
	}
	return faults*3 > len(b)
}
