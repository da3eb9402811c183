package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/runner"
)

// starting is one call of run start.
type starting struct {
	chat
	id         single
	background bool
}

// startedDocument is a run that was started, in JSON.
type startedDocument struct {
	selvage.Run
	RunID selvage.RunID `json:"run_id"` // the same as id
	Text  string        `json:"text"`   // its answer, if it completed
}

// runQueued is the status of a run that waits for another one on its thread. It
// is not recorded yet.
const runQueued selvage.RunStatus = "queued"

func (a *app) runStartCommand() *cobra.Command {
	s := &starting{chat: chat{app: a}}
	cmd := &cobra.Command{
		Use: "start [TEXT]", Short: "Send a message, and print the run that it starts",
		Long: `Send a message to a thread and print the run that it starts when it has ended or
waits; without TEXT or -m the message is all of stdin. With --detach a process
of its own leads the run, and its ids are printed as soon as it has begun:
` + "`run watch`" + ` tells how it goes on.

Starting a run again by its --id starts no other one: it prints what came of it.`,
		Example: `  selvage run start "clean the logs up" --thread t1 --tool shell
  selvage run watch $(selvage run start -q --detach "stream 50")`,
		Args: oneText,
		RunE: func(cmd *cobra.Command, args []string) error { return s.start(cmd, args) },
	}
	s.register(cmd)
	f := cmd.Flags()
	f.Var(&s.id, "id", "`ID` of the run")
	f.BoolVar(&s.background, "detach", false, "let a process of its own lead the run, and print its ids at once")
	return cmd
}

func (s *starting) start(cmd *cobra.Command, args []string) error {
	o, err := s.opening()
	if err != nil {
		return err
	}
	switch {
	case s.patience() > 0 && s.conf.Get("wait").Source == settings.FromFlag:
		return usage("start it with --detach, then `selvage run watch RUN --wait D`", "--wait is not for starting a run")
	case s.background && s.keeps() && s.forgets():
		return usage("leave --detach out, or use a store that stays", "with %s nobody can look at a run that another process leads", memoryStore)
	case !s.keeps():
		return usage("leave --memory-mode out, or use `selvage ask`", "a run that is not kept cannot be looked at")
	}
	if s.id.set {
		if _, err := runID(s.id.text); err != nil {
			return err
		}
	}
	text, one, err := s.run.text(s.app, cmd, args)
	if err == nil && !one {
		if isTerminal(s.stdin) {
			return usage("for example: "+cmd.CommandPath()+` "what is a selvage?"`, "there is no message")
		}
		if err = cmd.Flags().Set("message", "-"); err == nil {
			text, _, err = s.run.text(s.app, cmd, args)
		}
	}
	switch {
	case err != nil:
		return err
	case s.background && !s.detached():
		return s.leave(cmd.Context(), o, text)
	default:
		return s.lead(cmd.Context(), o, text)
	}
}

// lead leads the run in this process and prints it.
func (s *starting) lead(ctx context.Context, o opening, text string) (err error) {
	o.run = selvage.RunID(s.id.text)
	talk, err := s.beginChat(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, talk.close()) }()
	if talk.run = o.run; talk.run == "" {
		talk.run = selvage.RunID(selvage.NewID())
	}
	if s.background {
		talk.show.live = false
		talk.begun = func(e *runner.Event) { talk.begun = nil; s.announce(ctx, talk, e.Durable()) }
	}
	result, failed := talk.send(ctx, text)
	// It may have been cancelled, and is recorded all the same.
	ctx = context.WithoutCancel(ctx)
	run, err := findRun(ctx, talk.store, talk.run)
	switch {
	case errors.Is(err, selvage.ErrNotFound) && failed != nil:
		return failed // it did not begin
	case err != nil:
		return errors.Join(failed, err)
	case run.ThreadID != talk.id:
		return talk.belongs(run) // another process was faster
	case s.background && talk.begun != nil:
		s.announce(ctx, talk, true) // it had ended before
	case !s.background:
		s.printStarted(&startedDocument{*run, run.ID, result.Text})
	}
	if failed != nil {
		return failed
	}
	return s.ending(ctx, talk.store, run)
}

// announce tells the process that waits for it that the run has begun, or waits
// for its thread.
func (s *starting) announce(ctx context.Context, talk *conversation, recorded bool) {
	doc := &startedDocument{Run: selvage.Run{ID: talk.run, ThreadID: talk.id, AgentID: talk.made.agent, Status: runQueued}, RunID: talk.run}
	if recorded {
		if run, err := findRun(ctx, talk.store, talk.run); err == nil {
			doc.Run = *run
		}
	}
	s.out.jsonLine(doc)
}

// leave lets another process lead the run, and leaves when it has begun.
func (s *starting) leave(ctx context.Context, o opening, text string) error {
	if !s.fromCommandLine() {
		return usage("leave --detach out", "--detach needs a process of its own, and this command does not come from the command line")
	}
	args := s.args
	if o.thread == "" && !o.latest && !s.id.set {
		args = append([]string{"--thread=" + selvage.NewID()}, args...)
	}
	if !s.id.set {
		args = append([]string{"--id=" + selvage.NewID()}, args...)
	}
	told := &firstLine{line: make(chan []byte, 1)}
	w, err := s.startWorker(args, text, told)
	if err != nil {
		return fmt.Errorf("start the process that leads the run: %w", err)
	}
	interrupted := ctx.Done()
	for {
		select {
		case line := <-told.line:
			w.leave()
			return s.printLine(line)
		case err := <-w.ended:
			select {
			case line := <-told.line: // it has begun and ended
				return s.printLine(line)
			default:
				return err
			}
		case <-interrupted:
			interrupted = nil
			w.interrupt()
		}
	}
}

// printLine prints what the process said that leads the run.
func (s *starting) printLine(line []byte) error {
	var doc startedDocument
	if err := json.Unmarshal(line, &doc); err != nil {
		return fmt.Errorf("the process that leads the run said %q: %w", line, err)
	}
	s.printStarted(&doc)
	return nil
}

func (s *starting) printStarted(d *startedDocument) {
	_ = s.show(d, func() { // it never fails; the stream keeps what does

		if s.flags.quiet {
			s.out.line("%s", d.ID)
			return
		}
		s.fields([][2]string{{"run", string(d.ID)}, {"thread", string(d.ThreadID)}, {"status", standing(&d.Run)}, {"why", circumstance(&d.Run)}})
		if d.Text != "" {
			s.out.line("")
			s.out.text(d.Text)
			s.out.line("")
		}
		if s.background {
			s.note("it goes on in a process of its own: %s", s.again("run", "watch", quote(string(d.ID))))
		}
	})
}

// firstLine is a writer that hands its first line over and drops the rest.
type firstLine struct {
	line chan []byte
	held []byte
	done bool
}

// Write implements [io.Writer].
func (f *firstLine) Write(p []byte) (int, error) {
	if f.done {
		return len(p), nil
	}
	f.held = append(f.held, p...)
	if i := bytes.IndexByte(f.held, '\n'); i >= 0 {
		f.done = true
		f.line <- f.held[:i]
	}
	return len(p), nil
}
