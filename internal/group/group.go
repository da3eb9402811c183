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

// Run starts a command as the leader of a group, waits for it, and ends what it
// left in the group. The error is that of [exec.Cmd.Start], which is told apart
// by began, or of [exec.Cmd.Wait]. On Linux the command is killed when this
// process dies before it, of whatever; what it had started by then goes on.
func Run(cmd *exec.Cmd) (began bool, err error) {
	Lead(cmd)
	release := tied(cmd.SysProcAttr)
	defer release()
	if err := cmd.Start(); err != nil {
		return false, err
	}
	err = cmd.Wait()
	_ = Kill(cmd) // what it left in the background
	return true, err
}

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
