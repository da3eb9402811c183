package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) askCommand() *cobra.Command {
	var run runFlags
	cmd := &cobra.Command{
		Use: "ask [TEXT]", Short: "Ask once, and keep nothing",
		Long: `Ask a model once: the same loop, the same tools and limits as chat, and nothing
is kept. Without TEXT or -m the question is all of stdin.`,
		Example: `  selvage ask "what is a selvage?"
  cat notes.txt | selvage ask`,
		Args: oneText,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, one, err := run.text(a, cmd, args)
			if err == nil && !one {
				if isTerminal(a.stdin) {
					return usage("for example: "+cmd.CommandPath()+` "what is a selvage?"`, "there is no question")
				}
				err = cmd.Flags().Set("message", "-")
				if err == nil {
					text, _, err = run.text(a, cmd, args)
				}
			}
			if err != nil {
				return err
			}
			return a.ask(cmd.Context(), text)
		},
	}
	run.register(a, cmd)
	return cmd
}

// errPatience is that an answer took longer than --wait.
var errPatience = errors.New("the wait is over")

func (a *app) ask(ctx context.Context, text string) error {
	if err := a.checkAgentSetting(); err != nil {
		return err
	}
	talk, err := a.beginAsk(ctx)
	if err != nil {
		return err
	}
	talk.noteIgnored()
	return talk.within(ctx, a.patience(), text)
}

// within sends a message of which nothing is kept, and gives up after d; zero
// is never.
func (c *conversation) within(ctx context.Context, d time.Duration, text string) error {
	if d == 0 {
		return c.turn(ctx, text)
	}
	waiting, stop := context.WithTimeoutCause(ctx, d, errPatience)
	defer stop()
	err := c.turn(waiting, text)
	if err != nil && errors.Is(context.Cause(waiting), errPatience) {
		return &failure{exit: exitTimeout, class: "timeout", err: fmt.Errorf("no answer within %s; as nothing is kept, it was given up", d)}
	}
	return err
}
