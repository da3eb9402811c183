package process_test

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
)

// child starts this test binary once more; it waits until its input closes and
// tells how it names itself.
func child(t *testing.T) (owner selvage.Owner, kill func(), reap func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCESS_TEST_CHILD=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends a child that still lives
		_ = cmd.Wait() // it may have been reaped already
	})
	data := make([]byte, 4096)
	n, err := out.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	kill = func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, out) // ends when the child has
	}
	reap = func() { _ = cmd.Wait() } // it was killed, and says so
	return decode(t, data[:n]), kill, reap
}

func TestTheLivingAreNotDead(t *testing.T) {
	t.Parallel()
	self := process.Self("me")
	if process.Dead(self) {
		t.Errorf("this very process %+v counts as dead", self)
	}
	owner, _, _ := child(t)
	if process.Dead(owner) {
		t.Errorf("a running child %+v counts as dead", owner)
	}
	if owner.Host != self.Host {
		t.Errorf("child names its host %q, parent %q: same machine, same name", owner.Host, self.Host)
	}
}

func TestTheUnknownAreNotDead(t *testing.T) {
	t.Parallel()
	owner, kill, reap := child(t)
	kill()
	reap()
	elsewhere, nowhere, nobody := owner, owner, owner
	elsewhere.Host = "another host"
	nowhere.Host = ""
	nobody.PID = 0
	for _, o := range []selvage.Owner{{}, elsewhere, nowhere, nobody} {
		if process.Dead(o) {
			t.Errorf("%+v counts as dead, though nothing about it is certain here", o)
		}
	}
}

func TestTokensDiffer(t *testing.T) {
	t.Parallel()
	if a, b := process.Self("me"), process.Self("me"); a.Token == b.Token || a.Token == "" {
		t.Errorf("two owners of one process have the tokens %q and %q, want different ones", a.Token, b.Token)
	}
}
