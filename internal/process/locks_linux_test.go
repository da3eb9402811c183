package process_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/selvagehq/selvage/internal/process"
)

// lock is what a child process runs that keeps a lock on a file, until its
// stdin ends.
func lock(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: 120, Len: 1}); err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString("locked\n"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func TestHolders(t *testing.T) {
	t.Parallel()
	file, other := filepath.Join(t.TempDir(), "a.db-shm"), filepath.Join(t.TempDir(), "b.db-shm")
	for _, path := range []string{file, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCESS_TEST_CHILD=1", "PROCESS_TEST_LOCK="+file)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	pid := cmd.Process.Pid
	found := process.Holders(file+".none", file)
	if len(found) != 1 || found[0].PID != pid || found[0].Stopped || !strings.Contains(found[0].String(), "(process.test)") {
		t.Errorf("holders %+v, want process %d", found, pid)
	}
	if found := process.Holders(other); len(found) != 0 {
		t.Errorf("holders of another file: %+v", found)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, nil, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	if found := process.Holders(file); len(found) != 1 || !found[0].Stopped {
		t.Errorf("holders %+v, want a stopped one", found)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if found := process.Holders(file); len(found) != 0 {
		t.Errorf("holders after it has ended: %+v", found)
	}
}
