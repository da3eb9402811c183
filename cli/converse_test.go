package cli

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
)

// begun returns a conversation on a thread in memory.
func begun(t *testing.T) (*conversation, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	a, err := newApp(Options{Args: []string{}, Env: []string{"HOME=/", "SELVAGE_STORE=memory:", "SELVAGE_MODEL=sim/echo"}, Dir: t.TempDir(),
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &bytes.Buffer{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.prepare(a.rootCommand()); err != nil {
		t.Fatal(err)
	}
	c, err := a.beginChat(t.Context(), opening{thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c, &out
}

// TestInterruptEndsTheTurn: a signal ends what goes on, which is recorded as
// cancelled, and the conversation goes on.
func TestInterruptEndsTheTurn(t *testing.T) {
	t.Parallel()
	c, out := begun(t)
	signals := make(chan os.Signal, 1)
	go func() {
		none := 0
		for t.Context().Err() == nil {
			if head, err := c.store.Load(t.Context(), "t", selvage.LoadOptions{Messages: &none}); err == nil && head.OpenRun != nil {
				signals <- os.Interrupt
				return
			}
			runtime.Gosched()
		}
	}()
	leave, err := c.interruptibly(t.Context(), signals, "sleep 1h")
	if f := classify(err); leave || f.exit != exitInterrupted {
		t.Fatalf("interrupted turn = %v, %v (exit %d); want to stay, exit %d", leave, err, f.exit, exitInterrupted)
	}
	limit := 1
	runs, err := c.store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t", Limit: &limit})
	if err != nil || len(runs.Items) != 1 || runs.Items[0].Outcome == nil || runs.Items[0].Outcome.Kind != selvage.OutcomeCancelled {
		t.Fatalf("runs = %+v, %v; want one that was cancelled", runs.Items, err)
	}
	if leave, err := c.interruptibly(t.Context(), signals, "hello"); leave || err != nil {
		t.Fatalf("next turn = %v, %v", leave, err)
	}
	if !strings.HasSuffix(out.String(), "You said: hello\n") {
		t.Errorf("printed %q", out)
	}
}

func TestSlashCommands(t *testing.T) {
	t.Parallel()
	c, out := begun(t)
	for _, step := range []struct {
		line, printed string // what the line prints on stdout
		leave, fails  bool
	}{
		{line: "/history"},
		{line: "/state"},
		{line: "remember ONE", printed: "I will remember: ONE\n"},
		{line: "/state", printed: "{}\n"},
		{line: "/history", printed: "1     user\n      remember ONE\n2     assistant\n      I will remember: ONE\n"},
		{line: "//help", printed: "You said: /help\n"},
		{line: "/nosuch"},
		{line: "/fork"},
		{line: "/model"},
		{line: "/model nosuch/x", fails: true},
		{line: "/model sim/echo"},
		{line: "recall", printed: "You asked me to remember: ONE\n"},
		{line: "/exit", leave: true},
		{line: "/quit", leave: true},
	} {
		out.Reset()
		leave, err := c.take(t.Context(), step.line)
		if leave != step.leave || (err != nil) != step.fails || out.String() != step.printed {
			t.Errorf("%s = %v, %v, printed %q; want %v, error %v, %q", step.line, leave, err, out, step.leave, step.fails, step.printed)
		}
	}
}

// TestTellerOnATerminal: deltas go out as they come, and what goes to stderr
// never lands in the middle of a line.
func TestTellerOnATerminal(t *testing.T) {
	t.Parallel()
	c, out := begun(t)
	c.show.live = true
	c.out.terminal = true
	if err := c.turn(t.Context(), "stream 3"); err != nil {
		t.Fatal(err)
	}
	if out.String() != "1 2 3\n" {
		t.Errorf("printed %q; want the stream once", out)
	}
	out.Reset()
	if err := c.turn(t.Context(), "say \x1b]0;owned\x07 this"); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07") {
		t.Errorf("printed %q; escapes must not reach a terminal", out)
	}
}
