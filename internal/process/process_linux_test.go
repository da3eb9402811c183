package process_test

import (
	"syscall"
	"testing"

	"github.com/selvagehq/selvage/internal/process"
)

func TestDead(t *testing.T) {
	t.Parallel()
	owner, kill, reap := child(t)
	kill()
	waitUnreaped(t, owner.PID)
	if !process.Dead(owner) {
		t.Errorf("killed but not yet reaped: %+v counts as alive", owner)
	}
	reap()
	if !process.Dead(owner) {
		t.Errorf("killed and reaped: %+v counts as alive", owner)
	}
}

func TestReusedID(t *testing.T) {
	t.Parallel()
	owner := process.Self("me")
	if owner.Started == 0 || owner.Host == "" {
		t.Fatalf("own identity %+v lacks start time or host", owner)
	}
	owner.Started--
	if !process.Dead(owner) {
		t.Errorf("%+v counts as alive, though its id now belongs to a process that started later", owner)
	}
	owner.Started = 0
	if process.Dead(owner) {
		t.Errorf("%+v counts as dead, though its id is in use and its start time unknown", owner)
	}
}

// waitUnreaped waits until a child has ended and leaves it to be reaped.
func waitUnreaped(t *testing.T, pid int) {
	t.Helper()
	const byPID, exited, leaveIt = 1, 0x4, 0x1000000 // P_PID, WEXITED, WNOWAIT
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), 0, exited|leaveIt, 0, 0)
		switch errno {
		case 0:
			return
		case syscall.EINTR:
		default:
			t.Fatalf("wait for child %d: %v", pid, errno)
		}
	}
}
