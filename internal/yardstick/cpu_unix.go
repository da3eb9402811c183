//go:build unix

package yardstick

import (
	"syscall"
	"time"
)

// ProcessTime is the time that the process has had of processors, on all of its
// threads. What other processes take meanwhile is not in it.
func ProcessTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // it cannot fail for the process itself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
