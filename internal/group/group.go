// Package group runs commands together with whatever they start, so that
// ending one leaves nothing of it behind.
package group

import (
	"errors"
	"os"
	"os/exec"
)

// Lead makes a command that is not started yet the leader of a group of
// processes. Where there are no groups it stands alone.
func Lead(cmd *exec.Cmd) { cmd.SysProcAttr = leader() }

// Kill ends the group of a command that was started, at once. Whoever left the
// group goes on. It is no error if nobody is left.
func Kill(cmd *exec.Cmd) error { return settled(kill(cmd.Process)) }

// Terminate asks the group of a command that was started to end.
func Terminate(cmd *exec.Cmd) error { return settled(terminate(cmd.Process)) }

func settled(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
