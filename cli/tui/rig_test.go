package tui

import (
	"context"
	"errors"
	"iter"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

func TestMain(m *testing.M) { os.Exit(m.Run()) }

// actor is a conversation whose turns are what a test says.
type actor struct {
	turn     func(ctx context.Context, text string, yield func(runner.Event) bool) error
	command  func(line string) (Reply, error)
	history  History
	resumed  [][]runner.Bump
	ended    []selvage.RunID
	decided  []selvage.Decision
	standing Standing

	mu    sync.Mutex
	sent  []string
	notes []string
}

func (a *actor) Send(ctx context.Context, text string) iter.Seq2[runner.Event, error] {
	a.mu.Lock()
	a.sent = append(a.sent, text)
	a.mu.Unlock()
	return a.lead(ctx, text)
}

func (a *actor) lead(ctx context.Context, text string) iter.Seq2[runner.Event, error] {
	return func(yield func(runner.Event, error) bool) {
		if err := a.turn(ctx, text, func(e runner.Event) bool { return yield(e, nil) }); err != nil {
			yield(runner.Event{}, err)
			time.Sleep(10 * time.Millisecond)
			yield(endOf(runner.Result{RunID: "r1"}), nil) // as a runner does: the events of the end follow
		}
	}
}

func (a *actor) Resume(ctx context.Context, raise []runner.Bump) iter.Seq2[runner.Event, error] {
	a.resumed = append(a.resumed, raise)
	return a.lead(ctx, "resume")
}

func (a *actor) Standing(context.Context) (Standing, error) { return a.standing, nil }

func (a *actor) Decide(_ context.Context, q Question, d selvage.Decision) (string, error) {
	a.decided = append(a.decided, d)
	a.standing = Standing{}
	return "decided " + q.Ticket.ID, nil
}

func (a *actor) End(_ context.Context, run selvage.RunID) error {
	a.ended = append(a.ended, run)
	a.standing = Standing{}
	return nil
}

func (a *actor) Command(_ context.Context, line string) (Reply, error) {
	if a.command == nil {
		return Reply{}, errors.New("no commands here")
	}
	return a.command(line)
}

func (a *actor) History(context.Context) (History, error) { return a.history, nil }

func (a *actor) Status() Status { return Status{Thread: "t1", Model: "sim/echo", Kept: true} }

func (a *actor) Notes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	notes := a.notes
	a.notes = nil
	return notes
}

func (a *actor) Explain(err error) (what, hint string) { return err.Error(), "try again" }

// rig drives a model as the program would, without a terminal.
type rig struct {
	*model
	t    *testing.T
	msgs chan tea.Msg
	quit bool
}

// rigged runs a test on a screen of a size.
func rigged(t *testing.T, a *actor, colour bool, width, height int, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hands := newCrew(t.Context())
		r := &rig{t: t, msgs: make(chan tea.Msg, 1000), model: newModel(a, paletteOf(colour), hands, time.Now)}
		r.run(r.Init())
		r.send(tea.WindowSizeMsg{Width: width, Height: height})
		r.rest()
		test(r)
		hands.leave()
		time.Sleep(time.Minute) // the ticks of the clock end
		synctest.Wait()
	})
	goleak.VerifyNone(t)
}

// run begins a command.
func (r *rig) run(cmd tea.Cmd) {
	if cmd != nil {
		go func() { r.msgs <- cmd() }()
	}
}

func (r *rig) send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			r.run(cmd)
		}
	case tea.QuitMsg:
		r.quit = true
	default:
		_, cmd := r.Update(msg)
		r.run(cmd)
	}
}

// rest handles messages until nothing comes any more but the ticks of a clock.
func (r *rig) rest() {
	for {
		synctest.Wait()
		select {
		case msg := <-r.msgs:
			r.send(msg)
		default:
			return
		}
	}
}

// wait lets time pass.
func (r *rig) wait(d time.Duration) {
	time.Sleep(d)
	r.rest()
}

// typed types text, a rune at a time.
func (r *rig) typed(text string) {
	for _, c := range text {
		r.send(tea.KeyPressMsg{Code: c, Text: string(c)})
	}
	r.rest()
}

var keys = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp},
	"down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown},
	"alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt},
	"ctrl+c":    {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+o": {Code: 'o', Mod: tea.ModCtrl},
	"ctrl+g": {Code: 'g', Mod: tea.ModCtrl}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl},
}

// press presses keys one after the other.
func (r *rig) press(names ...string) {
	r.t.Helper()
	for _, name := range names {
		k, known := keys[name]
		if !known {
			r.t.Fatalf("no key %q", name)
		}
		r.send(k)
		r.rest()
	}
}

// screen is what is seen, without colours.
func (r *rig) screen() string { return ansi.Strip(r.View().Content) }

// sees fails the test unless the screen shows each text.
func (r *rig) sees(texts ...string) {
	r.t.Helper()
	screen := r.screen()
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			r.t.Errorf("the screen does not show %q:\n%s", text, screen)
		}
	}
}

func (r *rig) misses(texts ...string) {
	r.t.Helper()
	screen := r.screen()
	for _, text := range texts {
		if strings.Contains(screen, text) {
			r.t.Errorf("the screen shows %q:\n%s", text, screen)
		}
	}
}

// fits fails the test unless the screen has its size exactly.
func (r *rig) fits() {
	r.t.Helper()
	lines := strings.Split(r.View().Content, "\n")
	if len(lines) != r.height {
		r.t.Errorf("%d lines on a screen of %d", len(lines), r.height)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > r.width {
			r.t.Errorf("a line of %d columns on a screen of %d: %q", w, r.width, line)
		}
	}
}

// Events as a runner tells them.

func delta(text string) runner.Event {
	return runner.Event{Kind: runner.EventDelta, MessageID: "m1", Text: text}
}

func answerOf(text string, calls ...selvage.ToolCall) runner.Event {
	return runner.Event{Kind: selvage.EventMessage, Position: selvage.Position{Version: 2},
		Message: &selvage.Message{Role: selvage.RoleAssistant, Content: selvage.Text(text), ToolCalls: calls}}
}

func resultOf(id, text string) runner.Event {
	return runner.Event{Kind: selvage.EventMessage, Position: selvage.Position{Version: 3},
		Message: &selvage.Message{Role: selvage.RoleTool, ToolCallID: id, Content: selvage.Text(text)}}
}

func endOf(r runner.Result) runner.Event { return runner.Event{Kind: runner.EventEnd, Result: &r} }
