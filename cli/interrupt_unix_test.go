//go:build unix

package cli

import (
	"syscall"
	"testing"
)

// A supervisor that sends its signal to a process and then to its group does
// not end it before the turn under way is recorded. It is not parallel: the
// signals are those of the process.
func TestInterruptedTwiceAtOnce(t *testing.T) {
	ctx, stop := interruptible(t.Context())
	defer stop()
	for range 3 {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
	}
}
