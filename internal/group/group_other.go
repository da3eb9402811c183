//go:build !unix

package group

import (
	"os"
	"syscall"
)

func leader() *syscall.SysProcAttr { return nil }

func kill(p *os.Process) error { return p.Kill() }

func terminate(p *os.Process) error { return p.Kill() }
