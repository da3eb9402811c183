package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestReadme holds that the README shows this program, and in few lines.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README has no Go block")
	}
	if !bytes.Contains(program, block[1]) {
		t.Errorf("the README's program is not in main.go:\n%s", block[1])
	}
	if n := bytes.Count(block[1], []byte("\n")); n > 20 || !bytes.Contains(block[1], []byte("func main() {")) {
		t.Errorf("the README's program has %d lines; it is main, in at most 20", n)
	}
}

// TestKilledAndStartedAgain runs the program, kills it wherever it is, and
// runs it again, as the README promises. The child is this test binary.
func TestKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 6 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProgram$")
		cmd.Env = append(os.Environ(), "SELVAGE_QUICKSTART="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i < 5 {
			killer := time.AfterFunc(time.Duration(i)*15*time.Millisecond, func() { _ = cmd.Process.Kill() })
			_, _ = io.Copy(io.Discard, out)
			killer.Stop()
			_ = cmd.Wait() // killed or done, both are meant
			continue
		}
		said, err := io.ReadAll(out)
		if err := errors.Join(err, cmd.Wait()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(said), "Done: order 42 is at the depot") {
			t.Errorf("started again it says %q", said)
		}
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "app.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	open, err := store.Runs(context.Background(), selvage.RunQuery{Open: true})
	if err != nil || len(open.Items) != 0 {
		t.Errorf("runs left open: %+v, %v", open.Items, err)
	}
	messages, err := store.Messages(t.Context(), "order-42", selvage.MessageQuery{Visibility: selvage.ShowAll, Limit: new(selvage.MaxPage)})
	if err != nil {
		t.Fatal(err)
	}
	answered := map[string]int{}
	for _, m := range messages.Items {
		for _, c := range m.ToolCalls {
			answered[c.ID]--
		}
		if m.ToolCallID != "" {
			answered[m.ToolCallID]++
		}
	}
	for id, n := range answered {
		if n != 0 {
			t.Errorf("call %s has %+d answers too many", id, n)
		}
	}
}

// TestProgram is the child of TestKilledAndStartedAgain; by itself it runs
// the program in a folder of its own.
func TestProgram(t *testing.T) {
	dir := os.Getenv("SELVAGE_QUICKSTART")
	if dir == "" {
		dir = t.TempDir()
	}
	t.Chdir(dir)
	main()
}
