package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/runner"
)

// runFlags are the flags that chat and ask share.
type runFlags struct {
	message single
}

func (r *runFlags) register(a *app, cmd *cobra.Command) {
	f := cmd.Flags()
	f.VarP(&r.message, "message", "m", "send one message, `TEXT`, and print the reply; - reads it from stdin")
	f.String("model", "", "`PROVIDER/NAME` of the model, or replay:FILE")
	a.registerRecord(cmd)
	f.StringArray("fallback", nil, "ask this model, `PROVIDER/NAME`, when the one before cannot answer; repeatable; none takes all away")
	f.StringArray("tool", nil, "let the model call this tool, `NAME`; repeatable; none takes all away")
	f.String("system", "", "system prompt: `TEXT`, or @FILE")
	f.String("user", "", "`ID` of the user whom a new thread belongs to")
	f.Var(&checked{kind: "name", check: checkAgentFlag}, "agent", "`NAME` of the agent that runs are those of: made as its definition says, if there is one, and recorded under it")
	f.Var(bound(), "max-turns", "after this `NUMBER` of answers of the model a run waits until that is raised; none is no limit (default: 25)")
	f.Var(allowance(), "max-spend", "after so many `DOLLARS` a run waits until that is raised; none is no limit")
	f.Var(duration(), "max-duration", "end the run after this `DURATION`")
	f.StringArray("stop-on-tool", nil, "end the run when the model calls this tool, `NAME`, after its calls; repeatable")
	f.StringArray("stop-on-text", nil, "end the run after an answer that matches this `REGEXP`; repeatable")
	f.Var(number(), "context-tokens", "give the model at most this `NUMBER` of tokens (default: what it takes, if known)")
	f.Var(number(), "context-messages", "give the model at most this `NUMBER` of messages (default: 200)")
	f.String("rules", "", "`FILE` of rules about what a run does at its turning points")
	f.Bool("summarise", false, "summarise what no longer fits; the thread keeps everything")
	f.StringArray("cap", nil, "grant the run only what this `GLOB` matches, as tool.* or tool.NAME; repeatable; none grants nothing (default: the tools given)")
	f.Var(duration(), "wait", "wait this `DURATION` for the answer, then exit 124; the run is not ended")
	f.Var(&checked{kind: "mode", check: checkToolCalls}, "tool-calls", "`HOW` the calls of one turn run: sequential, parallel, or batch (parallel, and what is suspended goes on together)")
	_ = cmd.RegisterFlagCompletionFunc("tool", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return a.toolNames(), cobra.ShellCompDirectiveNoFileComp
	}) // it fails only for a flag that is not there
}

var agentPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

func checkAgent(name string) error {
	if !agentPattern.MatchString(name) {
		return fmt.Errorf("%q is not the name of an agent: letters, digits, '_', '.' and '-', beginning with a letter or a digit", name)
	}
	return nil
}

// checkAgentFlag leaves it to checkValues to tell that there is no name.
func checkAgentFlag(name string) error {
	if name == "" {
		return nil
	}
	return checkAgent(name)
}

func checkToolCalls(mode string) error {
	switch selvage.ToolCalls(mode) {
	case selvage.ToolCallsSequential, selvage.ToolCallsParallel, selvage.ToolCallsBatch:
		return nil
	}
	return fmt.Errorf("%q is not sequential, parallel or batch", mode)
}

// text returns the one message to send, and whether there is one: TEXT, the
// flag, or all of stdin.
func (r *runFlags) text(a *app, cmd *cobra.Command, args []string) (string, bool, error) {
	var text string
	switch {
	case r.message.set && len(args) > 0:
		return "", false, usage("give the message once", "there are two messages, %q and that of --message", args[0])
	case r.message.text == "-":
		text, err := readAll(cmd.Context(), a.stdin)
		if err == nil && strings.TrimSpace(text) == "" {
			err = usage("for example: echo hello | "+cmd.CommandPath()+" -m -", "nothing on stdin")
		}
		if err == nil {
			err = checkText(text)
		}
		return text, true, err
	case r.message.set:
		text = r.message.text
	case len(args) > 0:
		text = args[0]
	default:
		return "", false, nil
	}
	if strings.TrimSpace(text) == "" {
		return "", false, usage("for example: "+cmd.CommandPath()+` -m "hello"`, "the message is empty")
	}
	return text, true, checkText(text)
}

// oneText wants one argument at most.
func oneText(cmd *cobra.Command, args []string) error {
	if len(args) <= 1 {
		return nil
	}
	return usage("put quotes around the text: "+cmd.CommandPath()+" "+quote(strings.Join(args, " ")), "it takes one text, not %d arguments", len(args))
}

// limited returns options with the limits of a run, as get says what is
// configured.
func limited(o runner.Options, get func(key string) settings.Value) runner.Options {
	l := &o.Limits
	// The texts were checked when they were read.
	count := func(key string, limit **int) {
		if v := get(key); v.Set() {
			*limit, _ = settings.ParseBound(v.Text)
		}
	}
	count("max_turns", &l.Turns)
	if get("max_turns").Text == settings.None {
		o.MaxTurns = -1 // or there would be a limit unasked
	}
	count("max_spawns", &l.Spawns)
	count("max_depth", &l.Depth)
	var tokens *int
	if count("max_tokens", &tokens); tokens != nil {
		l.Tokens = new(int64(*tokens))
	}
	if v := get("max_spend"); v.Set() {
		l.Spend, _ = settings.ParseAllowance(v.Text)
	}
	return o
}

// stopRules are what ends a run, as get says what is configured.
func stopRules(get func(key string) settings.Value) selvage.StopRules {
	// The texts were checked when they were read.
	s := selvage.StopRules{Tools: distinct(get("stop_on_tool").Words), Contents: get("stop_on_text").Words}
	if v := get("max_duration"); v.Set() {
		d := durationOf(v.Text)
		s.Timeout = &d
	}
	if n, _ := settings.ParseNumber(get("stop_on_errors").Text); n > 0 {
		s.Errors = &n
	}
	s.Loop, _ = settings.ParseNumber(get("stop_on_loop").Text)
	return s
}

// rules are those of the file that is configured.
func (a *app) rules() ([]rules.Rule, error) {
	file := a.conf.Get("rules").Text
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, usage("name a readable file", "rules %s: %v", file, cause(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, rules.MaxBytes+1))
	if err != nil {
		return nil, usage("name a readable file", "rules %s: %v", file, cause(err))
	}
	list, err := rules.Parse(data)
	if err != nil {
		return nil, usage("", "%s: %v", file, err)
	}
	return list, nil
}

// contextRules are what is configured to bound what the model is given.
func (a *app) contextRules() selvage.ContextRules {
	// The texts were checked when they were read.
	c := selvage.ContextRules{Summarise: a.conf.Get("context.summarise").Text == "true"}
	c.Tokens, _ = settings.ParseNumber(a.conf.Get("context.tokens").Text)
	c.Messages, _ = settings.ParseNumber(a.conf.Get("context.messages").Text)
	return c
}

// granted are the capabilities that are configured, else those of a recorded
// run; nil is what the tools need.
func (a *app) granted(m *makeup) []string {
	if v, _ := a.ofAgent(m.agent, "caps"); v.Set() {
		return append([]string{}, distinct(v.Words)...)
	}
	return m.caps
}

// patience is how long to wait for an answer; zero is for ever.
func (a *app) patience() time.Duration { return durationOf(a.conf.Get("wait").Text) }

// onActive is what to do about a busy thread.
func (a *app) onActive() (runner.OnActive, error) {
	v := a.conf.Get("on_active")
	switch v.Text {
	case "queue":
		return runner.Queue, nil
	case "reject":
		return runner.Reject, nil
	case "interrupt":
		return runner.Interrupt, nil
	case "steer":
		return runner.Steer, nil
	}
	return "", usage("use queue, reject, interrupt or steer", "%s: %s is not one", v.Where, v.Text)
}

// keeps reports whether the conversation is kept.
func (a *app) keeps() bool { return a.conf.Get("memory_mode").Text == "persistent" }
