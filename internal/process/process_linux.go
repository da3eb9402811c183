package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// host is the boot of the machine, its name, and the namespace in which
// process ids count: two containers of one machine are two hosts.
func host() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // unknown: no host
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	machine, _ := os.ReadFile("/etc/machine-id") // many containers have none
	name, _ := os.Hostname()                     // likewise
	return identity(string(boot), namespace, string(machine), name)
}

func started() int64 {
	s, err := readStat("self")
	if err != nil {
		return 0
	}
	return s.started
}

// gone reports whether the process that had this id and start time has ended.
func gone(pid int, started int64) bool {
	// The signal asks the kernel itself: /proc may hide other users' processes.
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	s, err := readStat(strconv.Itoa(pid))
	switch {
	case err != nil:
		return false
	case s.ended():
		return true
	default:
		return started != 0 && s.started != started
	}
}

// stat is what matters here of /proc/PID/stat, see proc(5).
type stat struct {
	state   string
	threads int
	started int64 // in clock ticks after boot
}

// ended reports whether nothing of the process runs any more, though its
// parent has not yet asked how it ended.
func (s stat) ended() bool {
	return (s.state == "Z" || s.state == "X") && s.threads <= 1
}

func readStat(pid string) (stat, error) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(data))
}

// parseStat reads the fields after the name, which may itself hold spaces and
// parentheses.
func parseStat(line string) (stat, error) {
	_, name, _ := strings.Cut(line, "(")
	end := strings.LastIndexByte(name, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("process status %q has no name", line)
	}
	fields := strings.Fields(name[end+1:]) // fields[0] is field 3
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("process status has %d fields after the name, want 20 or more", len(fields))
	}
	threads, err := strconv.Atoi(fields[17])
	if err != nil {
		return stat{}, fmt.Errorf("process status: number of threads: %w", err)
	}
	started, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("process status: start time: %w", err)
	}
	return stat{state: fields[0], threads: threads, started: started}, nil
}
