package group

import (
	"runtime"
	"syscall"
)

// tied lets a child be killed when this process dies. The system minds the
// thread that began it, so the goroutine keeps its thread until release.
func tied(attr *syscall.SysProcAttr) (release func()) {
	attr.Pdeathsig = syscall.SIGKILL
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
