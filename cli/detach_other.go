//go:build !unix

package cli

import "syscall"

// ownSession changes nothing where there are no sessions.
func ownSession() *syscall.SysProcAttr { return nil }
