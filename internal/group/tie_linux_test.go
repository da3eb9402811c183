package group_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"github.com/selvagehq/selvage/internal/group"
)

// TestMain is also a process that runs a command until it is killed itself.
func TestMain(m *testing.M) {
	if os.Getenv("GROUP_TEST_RUN") == "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command("sh", "-c", "echo ready; exec sleep 1000")
	cmd.Stdout = os.Stdout
	_, _ = group.Run(cmd) // it is killed
}

// A command does not outlive the process that runs it: it holds the pipe, which
// ends only when it is gone.
func TestRunDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	runs := exec.Command(os.Args[0])
	runs.Env = append(os.Environ(), "GROUP_TEST_RUN=1")
	out, err := runs.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runs.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("read %q, %v", lines.Text(), lines.Err())
	}
	if err := runs.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("read %q, %v", lines.Text(), lines.Err())
	}
	if err := runs.Wait(); err == nil {
		t.Error("it ended well")
	}
}
