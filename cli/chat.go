package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage/internal/settings"
)

// chat is one call of the chat command.
type chat struct {
	*app
	run       runFlags
	thread    single
	continues bool
	mode      checked
}

func (a *app) chatCommand() *cobra.Command {
	c := &chat{app: a, mode: checked{kind: "mode", check: checkMemoryMode}}
	cmd := &cobra.Command{
		Use: "chat [TEXT]", Short: "Talk on a thread that is kept",
		Long: `Talk on a thread. On a terminal this is a conversation on a screen of its own,
or line by line with --plain; otherwise each line of stdin is one turn. With
TEXT or -m one message is sent and the reply printed.

Everything is recorded as it happens: go on later, in another process, with
--thread ID or --continue. A thread remembers the model, the system prompt and
the tools of its last run.`,
		Example: `  selvage chat
  selvage chat --thread t1 -m "remember the blue door"
  selvage chat --continue`,
		Args: oneText,
		RunE: func(cmd *cobra.Command, args []string) error { return c.chat(cmd, args) },
	}
	c.register(cmd)
	f := cmd.Flags()
	f.Bool("plain", false, "converse line by line, without a screen of its own")
	f.Var(&c.mode, "memory-mode", "`MODE`: persistent, or guest or incognito (nothing is kept)")
	f.BoolVar(&a.flags.incognito, "incognito", false, "the same as --memory-mode incognito")
	return cmd
}

// register adds the flags that say which thread, and what a run is made of.
func (c *chat) register(cmd *cobra.Command) {
	c.run.register(c.app, cmd)
	f := cmd.Flags()
	f.Var(&c.thread, "thread", "`ID` of the thread, which is made if it does not exist")
	f.BoolVar(&c.continues, "continue", false, "go on with the thread that was updated last")
	f.Var(&checked{kind: "choice", check: checkOnActive}, "on-active", "`WHAT` to do if another run is at work on the thread: queue (wait), reject (exit 4), interrupt (end it) or steer (give it the message)")
	_ = cmd.RegisterFlagCompletionFunc("thread", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return c.completeThreads(cmd, nil, begun)
	}) // it fails only for a flag that is not there
}

func checkOnActive(text string) error {
	switch text {
	case "queue", "reject", "interrupt", "steer":
		return nil
	}
	return errors.New(text + " is not queue, reject, interrupt or steer")
}

func checkMemoryMode(text string) error {
	switch text {
	case "persistent", "guest", "incognito":
		return nil
	}
	return errors.New(text + " is not persistent, guest or incognito")
}

func (c *chat) chat(cmd *cobra.Command, args []string) error {
	o, err := c.opening()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	text, one, err := c.run.text(c.app, cmd, args)
	waits := c.patience() > 0 && c.conf.Get("wait").Source == settings.FromFlag
	switch {
	case err != nil:
		return err
	case one && waits && c.keeps() && !c.detached():
		return c.detach(ctx, o, text)
	case one:
		return c.once(ctx, o, text)
	case waits:
		return usage("give the message with -m", "--wait is for one message")
	case c.format() == formatJSON:
		return usage("send one with -m, or use -o jsonl", "-o json is one document, for one message")
	case c.hasScreen():
		return c.screen(ctx, o)
	case isTerminal(c.stdin):
		return c.converse(ctx, o)
	default:
		return c.lines(ctx, o)
	}
}

// opening checks what the flags say about the thread.
func (c *chat) opening() (opening, error) {
	o := opening{thread: c.thread.text, latest: c.continues}
	var err error
	if o.onActive, err = c.onActive(); err != nil {
		return o, err
	}
	if c.thread.set {
		if _, err := threadID(c.thread.text); err != nil {
			return o, err
		}
	}
	if err := c.checkAgentSetting(); err != nil {
		return o, err
	}
	switch {
	case c.flags.incognito && c.mode.text != "" && c.mode.text != "incognito":
		return o, usage("leave one of them out", "--incognito and --memory-mode %s contradict each other", c.mode.text)
	case c.continues && c.thread.set:
		return o, usage("leave one of them out", "--continue and --thread contradict each other")
	case !c.keeps() && (c.continues || c.thread.set):
		return o, usage("leave --thread and --continue out", "a conversation that is not kept cannot go on with a thread")
	}
	return o, nil
}

// checkAgentSetting checks the name of an agent that came from anywhere.
func (a *app) checkAgentSetting() error {
	v := a.conf.Get("agent")
	if v.Text == "" {
		return nil
	}
	if err := checkAgent(v.Text); err != nil {
		return usage("", "%s: %v", v.Where, err)
	}
	return nil
}

// once sends one message and prints the reply.
func (c *chat) once(ctx context.Context, o opening, text string) (err error) {
	talk, err := c.beginChat(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, talk.close()) }()
	if c.keeps() {
		return talk.turn(ctx, text)
	}
	return talk.within(ctx, c.patience(), text)
}
