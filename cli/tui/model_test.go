package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// telling is a turn of these events, the delay between them.
func telling(events ...runner.Event) func(context.Context, string, func(runner.Event) bool) error {
	return func(_ context.Context, _ string, yield func(runner.Event) bool) error {
		for _, e := range events {
			if !yield(e) {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	}
}

func TestAnswerStreams(t *testing.T) {
	a := &actor{turn: telling(
		runner.Event{Kind: runner.EventReasoning, Note: "let me see"},
		delta("# A title\n\nSome **bold** words"), delta(" and more.\n\n- one\n- two\n"),
		answerOf("# A title\n\nSome **bold** words and more.\n\n- one\n- two\n"),
		endOf(runner.Result{RunID: "r1", Version: 7, Usage: selvage.Usage{InputTokens: 12, OutputTokens: 34}, Cost: 1000}),
	)}
	rigged(t, a, true, 60, 20, func(r *rig) {
		r.typed("hello")
		r.press("enter")
		r.wait(15 * time.Millisecond)
		r.sees("❯ hello", "A title", "Some bold words", "answering 0s")
		r.misses("and more")
		r.wait(time.Second)
		r.sees("thinking: let me see", "Some bold words and more.", "• one", "• two", "ready", "12 in 34 out", "v7", "sim/echo")
		r.misses("**", "# A")
		r.fits()
		if !slices.Equal(a.sent, []string{"hello"}) {
			r.t.Errorf("sent %q", a.sent)
		}
	})
}

func TestWithoutColour(t *testing.T) {
	call := selvage.ToolCall{ID: "c1", Name: "note", Arguments: json.RawMessage(`{"text":"x"}`)}
	a := &actor{turn: telling(
		runner.Event{Kind: runner.EventReasoning, Note: "hm"},
		answerOf("# T\n\n**b** `c` *i*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q\n\n```\ncode\n```\n", call),
		resultOf("c1", "done"), answerOf("- x"), endOf(runner.Result{RunID: "r1"}))}
	rigged(t, a, false, 60, 40, func(r *rig) {
		r.typed("go")
		r.press("enter")
		r.wait(time.Second)
		r.press("ctrl+o")
		r.sees("> go", "# T", "**b** `c` *i*", "| code", "ok note", "- x")
		for _, c := range r.View().Content {
			if c != '\n' && (c < ' ' || c > '~') {
				r.t.Fatalf("the screen has %q:\n%q", c, r.View().Content)
			}
		}
	})
}

func TestFolding(t *testing.T) {
	call := selvage.ToolCall{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"at":"a place"}`)}
	a := &actor{turn: telling(answerOf("", call), runner.Event{Kind: runner.EventCall, Call: &call},
		runner.Event{Kind: runner.EventProgress, Call: &call, Note: "half"},
		resultOf("c1", "first line\nsecond line"), answerOf("That is it."), endOf(runner.Result{}))}
	rigged(t, a, true, 60, 20, func(r *rig) {
		r.typed("look")
		r.press("enter")
		r.wait(25 * time.Millisecond)
		r.sees("running look", "→ half")
		r.wait(time.Second)
		r.sees(`▸ ✓ look {"at":"a place"} → first line second line`)
		r.press("tab", "enter")
		r.sees("▾ ✓ look", `"at": "a place"`, "  first line\n", "  second line")
		r.press("enter", "esc")
		r.sees("▸ ✓ look")
		r.press("ctrl+o")
		r.sees("  second line")
		r.press("ctrl+o")
		r.misses("  second line")
	})
}

// TestHostileText holds that nothing that others wrote reaches the terminal as
// a command.
func TestHostileText(t *testing.T) {
	evil := "a\x1b]0;owned\x07b\x1b[2Jc\u009b31md\u202ee\rf &#27;[31m &#x9b;2J `\x1b[5m` [l](http://x/\x1b[1m) <b\x1b>\x00"
	call := selvage.ToolCall{ID: "c1", Name: "n\x1b[7m", Arguments: json.RawMessage(`{"a":"\u001b[2J"}`)}
	a := &actor{
		history: History{Messages: []selvage.Message{selvage.UserText(evil)}},
		turn: telling(runner.Event{Kind: runner.EventReasoning, Note: evil}, delta(evil+"\n\n```\n"+evil+"\n```\n\n| "+evil+" | b |\n|---|---|\n| "+evil+" | d |\n"),
			answerOf(evil+"\n\n<div>\n"+evil+"\n</div>", call), runner.Event{Kind: runner.EventProgress, Call: &call, Note: evil},
			resultOf("c1", evil), runner.Event{Kind: runner.EventRetry, Note: evil}, runner.Event{Kind: runner.EventQueued, Note: evil}, endOf(runner.Result{})),
		command: func(string) (Reply, error) { return Reply{Text: evil}, errors.New(evil) },
	}
	a.notes = []string{evil}
	a.standing = Standing{Run: "r1", Waiting: &selvage.Waiting{Reason: selvage.WaitApproval},
		Questions: []Question{{CallID: "c1", Tool: "n" + evil, Arguments: json.RawMessage(evil),
			Ticket: selvage.Ticket{ID: "t1", Message: evil, Details: json.RawMessage(evil)}}}}
	rigged(t, a, false, 70, 60, func(r *rig) {
		check := func(what string) {
			r.t.Helper()
			for _, c := range r.View().Content {
				if c != '\n' && harmful(c) && c != '\uFFFD' {
					r.t.Fatalf("%s: %q reaches the terminal:\n%q", what, c, r.View().Content)
				}
			}
		}
		check("a question")
		r.press("esc")
		a.standing = Standing{}
		r.typed("/x")
		r.press("enter")
		check("a command")
		r.press("ctrl+g", "esc")
		r.model.standing, r.model.ask = Standing{}, nil
		r.typed("hi")
		r.press("enter")
		for range 10 {
			r.wait(10 * time.Millisecond)
			r.press("ctrl+o")
			check("a turn")
		}
		r.wait(time.Second)
		r.send(tea.WindowSizeMsg{Width: 70, Height: 300})
		r.sees("owned")
		check("all of it")
	})
}

func TestResize(t *testing.T) {
	text := strings.Repeat("words that wrap 世界 e\u0301 ", 40) + "\n\n| one | two |\n|---|---|\n| " + strings.Repeat("long ", 20) + " | x |\n\n```\n" +
		strings.Repeat("x", 300) + "\n```\n"
	a := &actor{history: History{Messages: []selvage.Message{selvage.UserText("q"), {Role: selvage.RoleAssistant, Content: selvage.Text(text)}}}, turn: telling()}
	rigged(t, a, true, 100, 30, func(r *rig) {
		for _, size := range [][2]int{{40, 10}, {200, 60}, {20, 5}, {7, 3}, {1, 1}, {80, 24}} {
			r.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			r.rest()
			r.fits()
		}
		r.sees("words that wrap 世界")
	})
}

func TestScrolling(t *testing.T) {
	var said []selvage.Message
	for i := range 50 {
		said = append(said, selvage.UserText(fmt.Sprintf("line %d. %s", i, strings.Repeat("and more ", i%7))))
	}
	a := &actor{history: History{Messages: said}, turn: telling(delta("new"), answerOf("new"))}
	rigged(t, a, true, 80, 12, func(r *rig) {
		r.sees("line 49.")
		r.press("pgup", "pgup")
		r.misses("line 49.")
		r.sees("more below")
		first := regexp.MustCompile(`line \d+\.`).FindString(r.screen())
		for _, width := range []int{30, 200, 25} {
			r.send(tea.WindowSizeMsg{Width: width, Height: 12})
			if now := regexp.MustCompile(`line \d+\.`).FindString(r.screen()); now != first {
				r.t.Errorf("at a width of %d it begins with %s instead of %s:\n%s", width, now, first, r.screen())
			}
		}
		for range 60 {
			r.press("pgup")
		}
		r.sees("line 0.")
		for range 80 {
			r.press("pgdown")
		}
		r.sees("line 49.")
		r.misses("more below")
	})
}

// TestCounts holds that totals of a run, which are absolute, add up over runs.
func TestCounts(t *testing.T) {
	used := func(run selvage.RunID, in int64) runner.Event {
		return runner.Event{Kind: selvage.EventRun, RunID: run, Run: &selvage.RunUpdate{ID: run, Usage: &selvage.Usage{InputTokens: in, OutputTokens: 1}}}
	}
	a := &actor{turn: func(_ context.Context, text string, yield func(runner.Event) bool) error {
		for _, in := range []int64{10, 25, 30} {
			yield(used(selvage.RunID(text), in))
		}
		return nil
	}}
	rigged(t, a, true, 80, 12, func(r *rig) {
		for _, text := range []string{"r1", "r2"} {
			r.typed(text)
			r.press("enter")
			r.wait(time.Second)
		}
		r.sees("60 in 2 out")
	})
}

func TestQueuedTyping(t *testing.T) {
	a := &actor{turn: func(ctx context.Context, text string, yield func(runner.Event) bool) error {
		time.Sleep(time.Second)
		yield(answerOf("answer to " + text))
		return nil
	}}
	rigged(t, a, true, 60, 20, func(r *rig) {
		r.typed("first")
		r.press("enter")
		r.typed("second")
		r.press("enter")
		r.sees("queued: second")
		r.wait(1500 * time.Millisecond)
		r.sees("answer to first")
		r.misses("queued: second")
		r.wait(time.Second)
		r.sees("answer to second")
		if !slices.Equal(a.sent, []string{"first", "second"}) {
			r.t.Errorf("sent %q", a.sent)
		}
	})
}

// TestCancel holds that Ctrl-C ends the run before it ends the conversation,
// and that what was queued for after is not sent.
func TestCancel(t *testing.T) {
	a := &actor{turn: func(ctx context.Context, _ string, yield func(runner.Event) bool) error {
		yield(delta("half of it"))
		<-ctx.Done()
		return errors.New("interrupted")
	}}
	rigged(t, a, true, 60, 20, func(r *rig) {
		r.typed("go")
		r.press("enter")
		r.typed("next")
		r.press("enter", "ctrl+c")
		r.wait(time.Second)
		r.sees("half of it", "interrupted", "hint: try again", "❯ next", "ready")
		if n := strings.Count(r.screen(), "interrupted"); n != 1 {
			r.t.Errorf("it is told %d times:\n%s", n, r.screen())
		}
		if r.quit || len(a.sent) != 1 {
			r.t.Errorf("left: %v; sent %q", r.quit, a.sent)
		}
		r.press("ctrl+c") // clears what was typed
		r.misses("❯ next")
		r.press("ctrl+c")
		if !r.quit || !r.left.Interrupted {
			r.t.Error("did not leave")
		}
	})
}

func TestLeaving(t *testing.T) {
	a := &actor{turn: func(ctx context.Context, _ string, _ func(runner.Event) bool) error { <-ctx.Done(); return ctx.Err() }}
	rigged(t, a, true, 60, 20, func(r *rig) {
		r.typed("go")
		r.press("enter", "ctrl+d")
		r.sees("a run goes on")
		if r.quit {
			r.t.Fatal("left at once")
		}
		r.press("ctrl+d")
		if !r.quit || r.left.Interrupted {
			r.t.Error("did not leave, or as if interrupted")
		}
	})
}

func TestInputHistoryAndLines(t *testing.T) {
	a := &actor{turn: telling(answerOf("ok")), history: History{Messages: []selvage.Message{selvage.UserText("from before")}}}
	rigged(t, a, true, 60, 20, func(r *rig) {
		r.typed("one")
		r.press("ctrl+j")
		r.typed("two")
		r.press("alt+enter")
		r.typed("three")
		r.press("enter")
		r.wait(time.Second)
		if want := "one\ntwo\nthree"; len(a.sent) != 1 || a.sent[0] != want {
			r.t.Fatalf("sent %q", a.sent)
		}
		r.typed("draft")
		r.press("up")
		if got := r.input.Value(); got != "one\ntwo\nthree" {
			r.t.Errorf("up recalls %q", got)
		}
		r.press("up", "up", "up")
		if got := r.input.Value(); got != "from before" {
			r.t.Errorf("then %q", got)
		}
		r.press("down", "down", "down", "down")
		if got := r.input.Value(); got != "draft" {
			r.t.Errorf("down leads to %q", got)
		}
	})
}

func TestCommands(t *testing.T) {
	a := &actor{turn: telling(answerOf("ok")), command: func(line string) (Reply, error) {
		switch line {
		case "/state":
			return Reply{Text: `{"a": 1}`}, nil
		case "/rewind":
			return Reply{Text: "back at version 1", Changed: true}, nil
		case "/exit":
			return Reply{Leave: true}, nil
		}
		return Reply{}, errors.New("what?")
	}}
	rigged(t, a, true, 60, 20, func(r *rig) {
		for _, line := range []string{"/state", "/nothing", "//slash"} {
			r.typed(line)
			r.press("enter")
			r.wait(time.Second)
		}
		r.sees(`{"a": 1}`, "✗ what?", "❯ /slash")
		if !slices.Equal(a.sent, []string{"/slash"}) {
			r.t.Errorf("sent %q", a.sent)
		}
		a.history = History{Messages: []selvage.Message{selvage.UserText("what is left")}, Version: 9}
		r.typed("/rewind")
		r.press("enter")
		r.sees("what is left", "back at version 1", "v9")
		r.misses("/slash")
		r.typed("/exit")
		r.press("enter")
		if !r.quit {
			r.t.Error("/exit does not leave")
		}
	})
}

// TestRetryTakesBack holds that what a repeated request said before is gone.
func TestRetryTakesBack(t *testing.T) {
	a := &actor{turn: telling(delta("half an ans"), runner.Event{Kind: runner.EventRetry, Note: "cut"}, delta("the answer"), answerOf("the answer"))}
	rigged(t, a, true, 60, 20, func(r *rig) {
		r.typed("go")
		r.press("enter")
		r.wait(time.Second)
		r.misses("half an ans")
		r.sees("trying again: cut", "the answer")
	})
}

// TestContinueGoesOn holds that an answer that is gone on with stands there
// once.
func TestContinueGoesOn(t *testing.T) {
	a := &actor{turn: telling(delta("half an "), runner.Event{Kind: runner.EventContinue, Note: "cut"}, delta("answer"), answerOf("half an answer"))}
	rigged(t, a, true, 60, 20, func(r *rig) {
		r.typed("go")
		r.press("enter")
		r.wait(25 * time.Millisecond)
		r.sees("half an answer", "goes on: cut")
		r.wait(time.Second)
		if n := strings.Count(r.screen(), "half"); n != 1 {
			r.t.Errorf("it stands there %d times:\n%s", n, r.screen())
		}
	})
}

// BenchmarkAnswer streams an answer in pieces and looks at each; the cost of a
// byte must not grow with the answer.
func BenchmarkAnswer(b *testing.B) {
	unit := "A paragraph with **bold** words and `code`, long enough to wrap.\n\n- an item\n- another\n\n"
	for _, size := range []int{10 << 10, 100 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dK", size>>10), func(b *testing.B) {
			text := strings.Repeat(unit, size/len(unit))
			p := paletteOf(true)
			for range b.N {
				s := transcript{palette: p, width: 100, height: 40, follow: true}
				f := newFlow("")
				s.add(&answer{f})
				for rest := text; rest != ""; {
					n := min(40, len(rest))
					f.add(rest[:n])
					rest = rest[n:]
					s.window()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
		})
	}
}
