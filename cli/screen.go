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
func (s *screenTalk) Resume(ctx context.Context, raise tui.Raise) iter.Seq2[runner.Event, error] {
	return func(yield func(runner.Event, error) bool) {
		yield(runner.Event{}, usage("", "going on with a run that waits is not offered yet"))
	}
}

// Standing implements [tui.Conversation].
func (s *screenTalk) Standing(ctx context.Context) (tui.Standing, error) {
	return tui.Standing{}, nil
}

// Decide implements [tui.Conversation].
func (s *screenTalk) Decide(ctx context.Context, q tui.Question, d selvage.Decision) (string, error) {
	return "", usage("", "decisions are not offered yet")
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
	none := 0
	head, err := c.store.Load(ctx, c.id, selvage.LoadOptions{Messages: &none})
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
	return oneLine(f.err.Error()), f.hint
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
