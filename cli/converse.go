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
	lines := typed(reading, c.stdin)
	for {
		_, _ = io.WriteString(c.err, c.err.style.bold("> ")) // c.err keeps it
		var in line
		var more bool
		select {
		case in, more = <-lines:
		case <-signals:
			c.err.line("")
			return interruptedHint(talk)
		}
		switch {
		case in.err != nil:
			return in.err
		case !more:
			c.err.line("")
			return nil
		case strings.TrimSpace(in.text) == "":
			continue
		}
		leave, err := talk.interruptibly(ctx, signals, in.text)
		if leave || c.out.err != nil {
			return err
		}
		switch {
		case err == nil:
		case classify(err).exit == exitInterrupted:
			c.note("%v; type on, or leave with /exit", err)
		default:
			c.fail(ctx, "chat", err)
		}
	}
}

// interruptibly takes one line; a signal cancels what it began.
func (c *conversation) interruptibly(ctx context.Context, signals <-chan os.Signal, text string) (leave bool, err error) {
	turn, cancel := context.WithCancel(ctx)
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
	return c.take(turn, text)
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
