package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// lines leads one turn for each line of stdin, and stops at the first that
// fails: what comes after it was written for its answer.
func (c *chat) lines(ctx context.Context, o opening) (err error) {
	var talk *conversation
	defer func() {
		if talk != nil {
			err = errors.Join(err, talk.close())
		}
	}()
	lines := typed(ctx, c.stdin)
	for {
		var in line
		var more bool
		select {
		case in, more = <-lines:
		case <-ctx.Done():
			return interruptedHint(talk)
		}
		switch {
		case in.err != nil:
			return in.err
		case !more:
			return nil // no line is no turn
		case strings.TrimSpace(in.text) == "":
			continue
		}
		if talk == nil {
			// Only now is there anything to keep.
			if talk, err = c.beginChat(ctx, o); err != nil {
				return err
			}
		}
		leave, err := talk.take(ctx, in.text)
		if err != nil || leave || c.out.err != nil {
			return err
		}
	}
}

func interruptedHint(talk *conversation) error {
	f := &failure{exit: exitInterrupted, class: "interrupted", err: errors.New("interrupted")}
	if talk != nil && talk.kept() {
		f.hint = "go on with: " + talk.goOn()
	}
	return f
}

// typing is the conversation on a terminal, line by line.
type typing struct {
	*chat
	talk    *conversation
	lines   <-chan line
	signals <-chan os.Signal
}

// converse is the conversation on a terminal.
func (c *chat) converse(ctx context.Context, o opening) (err error) {
	// From here on an interrupt ends a turn, not the command.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	talk, err := c.beginChat(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, talk.close()) }()
	ctx = context.WithoutCancel(ctx)
	c.note("model %s; /help lists commands, /exit or Ctrl-D leaves", talk.made.model)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	t := &typing{chat: c, talk: talk, lines: typed(reading, c.stdin), signals: signals}
	leave, err := t.told(ctx, t.settle(ctx))
	for !leave && err == nil && c.out.err == nil {
		leave, err = t.told(ctx, t.next(ctx))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// errLeave is that the conversation is over.
var errLeave = errors.New("leave")

// next takes the next line.
func (t *typing) next(ctx context.Context) error {
	text, err := t.read("> ")
	if err != nil || strings.TrimSpace(text) == "" {
		return err
	}
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		if send, err := t.mayEnd(ctx); err != nil || !send {
			return err
		}
	}
	leave, err := t.talk.interruptibly(ctx, t.signals, text)
	switch {
	case leave:
		return errors.Join(errLeave, err)
	case err != nil && classify(err).exit == exitWaiting:
		return t.settle(ctx)
	}
	return err
}

// told tells what went wrong with a line, and reports whether the conversation
// is over, and why.
func (t *typing) told(ctx context.Context, err error) (leave bool, _ error) {
	switch {
	case err == nil:
	case errors.Is(err, errLeave), errors.Is(err, io.EOF):
		return true, nil
	case errors.Is(err, errStopped):
		return true, interruptedHint(t.talk)
	case classify(err).exit == exitInterrupted:
		t.note("%v; type on, or leave with /exit", err)
	default:
		t.fail(ctx, "chat", err)
	}
	return false, nil
}

// errStopped is that a signal came while nothing was at work.
var errStopped = errors.New("interrupted")

// read asks for a line. The error is [io.EOF] at the end of stdin.
func (t *typing) read(prompt string) (string, error) {
	_, _ = io.WriteString(t.err, t.err.style.bold(prompt)) // t.err keeps it
	select {
	case in, more := <-t.lines:
		if !more {
			t.err.line("")
			return "", io.EOF
		}
		return in.text, in.err
	case <-t.signals:
		t.err.line("")
		return "", errStopped
	}
}

// interruptibly takes one line; a signal cancels what it began.
func (c *conversation) interruptibly(ctx context.Context, signals <-chan os.Signal, text string) (leave bool, err error) {
	during(ctx, signals, func(ctx context.Context) { leave, err = c.take(ctx, text) })
	return leave, err
}

// during does something that a signal cancels.
func during(ctx context.Context, signals <-chan os.Signal, do func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-signals:
			cancel()
		case <-over:
		}
	}()
	defer func() {
		close(over)
		<-watched
		cancel()
	}()
	do(ctx)
}

// take does what a line says: a command, or a turn. It reports whether the
// conversation is over.
func (c *conversation) take(ctx context.Context, text string) (leave bool, err error) {
	command, isCommand := strings.CutPrefix(text, "/")
	switch {
	case isCommand && strings.HasPrefix(command, "/"):
		text = command // two of them stand for one
	case isCommand:
		return c.command(ctx, command)
	}
	return false, c.turn(ctx, text)
}
