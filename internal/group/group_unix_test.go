//go:build unix

package group_test

import (
	"bufio"
	"os/exec"
	"testing"

	"github.com/selvagehq/selvage/internal/group"
)

// What a command started in the background dies with it: it holds the pipe,
// which ends only when nobody is left.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*exec.Cmd) error{"Kill": group.Kill, "Terminate": group.Terminate} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", "sleep 1000 & sleep 1000 & echo ready; wait")
			group.Lead(cmd)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "ready" {
				t.Fatalf("read %q, %v", lines.Text(), lines.Err())
			}
			if err := end(cmd); err != nil {
				t.Error(err)
			}
			if lines.Scan() || lines.Err() != nil {
				t.Errorf("read %q, %v", lines.Text(), lines.Err())
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it ended well")
			}
			if err := end(cmd); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}
