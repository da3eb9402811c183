package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/cli/tui"
	"github.com/selvagehq/selvage/runner"
)

// hasScreen reports whether the conversation can have a screen of its own, and
// nobody asked for plain lines.
func (c *chat) hasScreen() bool {
	kind, _ := c.lookup("TERM")
	plain := c.conf.Get("plain").Text
	return isTerminal(c.stdin) && c.out.terminal && kind != "" && kind != "dumb" && plain != "true" && plain != "1" &&
		c.format() == formatTable && !c.flags.quiet
}

// screen is the conversation on a screen of its own.
func (c *chat) screen(ctx context.Context, o opening) (err error) {
	s := &screenTalk{}
	told := *c.app
	told.out, told.err = newStream(&s.notes), newStream(&s.notes)
	told.log = told.newLog()
	if s.talk, err = told.beginChat(ctx, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.talk.close()) }()
	left, err := tui.Run(ctx, tui.Options{Conversation: s, Input: c.stdin, Output: c.out.w, Env: c.env, Colour: c.out.style.on})
	// Whatever was not shown is told now, below the conversation.
	for _, note := range s.notes.take() {
		c.note("%s", note)
	}
	switch {
	case err != nil:
		return hinted(fmt.Errorf("the terminal: %w", err), "--plain does without a screen")
	case left.Interrupted:
		return interruptedHint(s.talk)
	case left.Waits != "" && s.talk.kept():
		c.note("the run waits for %s; this asks again: %s", left.Waits, s.talk.goOn())
	case left.Talked && s.talk.kept():
		c.note("go on with: %s", s.talk.goOn())
	}
	return nil
}

// screenTalk is a conversation as a screen needs it. Reading goes on beside a
// turn; whatever changes the conversation itself does not.
type screenTalk struct {
	notes notes
	mu    sync.Mutex // held while talk is read or replaced
	talk  *conversation
}

// now is the conversation as it stands.
func (s *screenTalk) now() *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.talk
}

// Send implements [tui.Conversation].
func (s *screenTalk) Send(ctx context.Context, text string) iter.Seq2[runner.Event, error] {
	return func(yield func(runner.Event, error) bool) {
		c := s.now()
		if err := checkText(text); err != nil {
			yield(runner.Event{}, err)
			return
		}
		failed := false
		for e, err := range c.begin(ctx, text) {
			if err != nil {
				failed = true
				err = c.explain(ctx, err)
			} else if e.Durable() {
				s.mu.Lock()
				c.fresh = false // the status line names the thread
				s.mu.Unlock()
			}
			if !yield(e, err) {
				return
			}
		}
		if !failed {
			s.mu.Lock()
			c.update = nil
			s.mu.Unlock()
		}
	}
}

// Resume implements [tui.Conversation].
func (s *screenTalk) Resume(ctx context.Context, raise []runner.Bump) iter.Seq2[runner.Event, error] {
	return func(yield func(runner.Event, error) bool) {
		c := s.now()
		stream, err := c.goOnWaiting(ctx, raise)
		if err != nil {
			yield(runner.Event{}, err)
			return
		}
		for e, err := range stream {
			if err != nil {
				err = c.explain(ctx, err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// goOnWaiting is the run of the thread that waits, going on with what it was
// made of.
func (c *conversation) goOnWaiting(ctx context.Context, raise []runner.Bump) (iter.Seq2[runner.Event, error], error) {
	head, err := bareHead(ctx, c.store, c.id)
	switch {
	case err != nil:
		return nil, err
	case head.OpenRun == nil:
		return nil, errors.New("the run has ended meanwhile")
	}
	run := head.OpenRun
	leads, err := c.runnerFor(ctx, run, "")
	if err != nil {
		return nil, hinted(fmt.Errorf("run %s cannot go on here: %w", run.ID, err), "what was decided is recorded; where that is there: "+c.again("run", "resume", quote(string(run.ID))))
	}
	return leads.ResumeStream(ctx, run.ID, runner.ResumeOptions{Bump: raise}), nil
}

// Standing implements [tui.Conversation].
func (s *screenTalk) Standing(ctx context.Context) (tui.Standing, error) {
	c := s.now()
	var none tui.Standing
	if c.store == nil {
		return none, nil
	}
	head, err := bareHead(ctx, c.store, c.id)
	switch {
	case errors.Is(err, selvage.ErrNotFound):
		return none, nil
	case err != nil || head.OpenRun == nil:
		return none, err
	}
	tickets, err := c.openTickets(ctx, c.store, head.OpenRun, head)
	if err != nil {
		return none, err
	}
	standing := tui.Standing{Run: head.OpenRun.ID, Waiting: head.OpenRun.Waiting}
	calls := map[string]*selvage.Call{}
	for i := range head.OpenCalls {
		call := &head.OpenCalls[i]
		calls[call.ID] = call
		standing.Ready = standing.Ready || call.RunID == head.OpenRun.ID && call.Status == selvage.CallResuming
	}
	for i := range tickets {
		t := &tickets[i]
		if t.Child != nil {
			standing.Elsewhere = append(standing.Elsewhere, t.Decide...)
		}
		if t.Child != nil || t.Signal != "" {
			continue // no person answers it here
		}
		q := tui.Question{Run: head.OpenRun.ID, CallID: t.CallID, Tool: t.Name, Arguments: t.Arguments, Ticket: t.Ticket}
		if call := calls[t.CallID]; call != nil {
			q.Key, q.Started = call.IdempotencyKey, call.CreatedAt
		}
		standing.Questions = append(standing.Questions, q)
	}
	return standing, nil
}

// Decide implements [tui.Conversation].
func (s *screenTalk) Decide(ctx context.Context, q tui.Question, d selvage.Decision) (string, error) {
	c := s.now()
	d.By = c.userName()
	decided, err := runner.Decide(ctx, c.store, q.Run, d, q.Ticket.ID)
	if err != nil || decided.Status == runner.Recorded {
		return "", err
	}
	return decided.String(), nil
}

// End implements [tui.Conversation].
func (s *screenTalk) End(ctx context.Context, run selvage.RunID) error {
	_, err := runner.Cancel(ctx, s.now().store, run, "ended in the conversation")
	return err
}

// Command implements [tui.Conversation]. What the command prints comes back as
// text.
func (s *screenTalk) Command(ctx context.Context, line string) (tui.Reply, error) {
	var printed bytes.Buffer
	s.mu.Lock()
	c := s.talk
	own, talk := *c.app, *c
	s.mu.Unlock()
	own.out, own.err = newStream(&printed), newStream(&printed)
	talk.app, talk.show = &own, newTeller(&own)
	leave, err := talk.command(ctx, strings.TrimPrefix(line, "/"))
	reply := tui.Reply{Text: strings.TrimRight(printed.String(), "\n"), Leave: leave}
	if err != nil {
		return reply, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reply.Changed = talk.id != c.id || strings.HasPrefix(line, "/rewind")
	if reply.Changed || talk.made.model != c.made.model {
		talk.app, talk.show = c.app, c.show
		s.talk = &talk
	}
	return reply, nil
}

// History implements [tui.Conversation].
func (s *screenTalk) History(ctx context.Context) (tui.History, error) {
	c := s.now()
	if c.store == nil {
		return tui.History{}, nil
	}
	head, err := bareHead(ctx, c.store, c.id)
	if errors.Is(err, selvage.ErrNotFound) {
		return tui.History{}, nil
	}
	if err != nil {
		return tui.History{}, err
	}
	page, err := c.store.Messages(ctx, c.id, selvage.MessageQuery{Order: selvage.Descending})
	slices.Reverse(page.Items)
	return tui.History{Messages: page.Items, Earlier: page.Next != "", Version: head.Thread.Version}, err
}

// Status implements [tui.Conversation].
func (s *screenTalk) Status() tui.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return tui.Status{Thread: s.talk.id, Model: s.talk.made.model, Kept: s.talk.kept()}
}

// Notes implements [tui.Conversation].
func (s *screenTalk) Notes() []string { return s.notes.take() }

// Explain implements [tui.Conversation].
func (s *screenTalk) Explain(err error) (what, hint string) {
	f := classify(err)
	if f.exit == exitInterrupted {
		f.hint = "" // the conversation goes on right here
	}
	return oneLine(f.err.Error()), strings.ReplaceAll(f.hint, "`selvage ", "`"+s.now().name+" ")
}

// notes keeps what is told, line by line, until it is taken. It is safe for
// concurrent use.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// maxNotes bounds what is kept for a screen that does not look.
const maxNotes = 1 << 20

// Write implements [io.Writer].
func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.text.Len()+len(p) <= maxNotes {
		n.text.Write(p)
	}
	return len(p), nil
}

// take returns the whole lines that were written.
func (n *notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	end := bytes.LastIndexByte(n.text.Bytes(), '\n') + 1
	if end == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(n.text.Next(end)), "\n"), "\n")
}
