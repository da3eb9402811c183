//go:build unix

package group

import (
	"errors"
	"os"
	"syscall"
)

func leader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func kill(p *os.Process) error { return signal(p, syscall.SIGKILL) }

func terminate(p *os.Process) error { return signal(p, syscall.SIGTERM) }

func signal(p *os.Process, s syscall.Signal) error {
	err := syscall.Kill(-p.Pid, s)
	// A group of which only the dead are left answers EPERM on some systems.
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return os.ErrProcessDone
	}
	return err
}
