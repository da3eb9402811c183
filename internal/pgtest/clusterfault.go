package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Kill ends the server, if it is ours, by SIGKILL, and leaves its data.
func (c *Cluster) Kill(tb testing.TB) {
	tb.Helper()
	if c.dir == "" {
		tb.Fatalf("pgtest: the server of %s is not ours to kill; start one with Own", Environment)
	}
	c.end(tb, c.postmaster(tb))
	// The others notice it, and a new server waits until they have.
}

// KillBackend ends by SIGKILL a process of the server, if it is ours, that
// works for a database. The server then ends all the others and recovers.
func (c *Cluster) KillBackend(tb testing.TB, database string) {
	tb.Helper()
	if c.dir == "" {
		tb.Fatalf("pgtest: the server of %s is not ours to kill; start one with Own", Environment)
	}
	ctx := context.WithoutCancel(tb.Context())
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	defer conn.Close(ctx)
	var pid int
	err = conn.QueryRow(ctx, `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
		ORDER BY pid = pg_backend_pid(), query_start DESC LIMIT 1`).Scan(&pid)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	c.end(tb, pid)
}

// postmaster is the process id of the server.
func (c *Cluster) postmaster(tb testing.TB) int {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return pid
}

// end kills a process and waits until it is gone.
func (c *Cluster) end(tb testing.TB, pid int) {
	tb.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		tb.Fatalf("pgtest: kill process %d: %v", pid, err)
	}
	deadline := time.Now().Add(time.Minute)
	for alive(pid) {
		if time.Now().After(deadline) {
			tb.Fatalf("pgtest: process %d does not go away", pid)
		}
		runtime.Gosched()
	}
}

// alive reports whether a process runs. One that has ended and was not waited
// for by who started it does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// Revive starts the server that was killed.
func (c *Cluster) Revive(tb testing.TB) {
	tb.Helper()
	// The processes of the one before may be about to end still, in which case
	// the new one refuses to start.
	var err error
	for range 100 {
		if err = c.start(); err == nil {
			return
		}
	}
	tb.Fatalf("pgtest: %v", err)
}
