//go:build unix

package cli

import "syscall"

// ownSession keeps the signals of our terminal from a process.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
