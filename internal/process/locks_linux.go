package process

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Holders returns the other processes of this host that hold a lock to write on
// one of the files, as far as the system tells: nothing is no proof that there is
// none.
func Holders(files ...string) []Holder {
	var inodes []uint64
	for _, file := range files {
		var info syscall.Stat_t
		if syscall.Stat(file, &info) == nil {
			inodes = append(inodes, info.Ino)
		}
	}
	table, err := os.ReadFile("/proc/locks")
	if err != nil || len(inodes) == 0 {
		return nil
	}
	var found []Holder
	for line := range strings.Lines(string(table)) {
		pid, inode, ok := writeLock(line)
		known := func(h Holder) bool { return h.PID == pid }
		if !ok || pid == os.Getpid() || !slices.Contains(inodes, inode) || slices.ContainsFunc(found, known) || !opens(pid, files) {
			continue
		}
		found = append(found, holder(pid))
	}
	return found
}

// writeLock reads a line of /proc/locks, see proc_locks(5), that is of a lock to
// write which is held, and not waited for.
func writeLock(line string) (pid int, inode uint64, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[1] != "POSIX" || fields[3] != "WRITE" {
		return 0, 0, false
	}
	pid, err := strconv.Atoi(fields[4])
	if err != nil || pid <= 0 {
		return 0, 0, false
	}
	at := strings.Split(fields[5], ":")
	inode, err = strconv.ParseUint(at[len(at)-1], 10, 64)
	return pid, inode, err == nil
}

// opens reports whether a process has one of the files open, or may not be
// looked at: a file of another device may have the same number.
func opens(pid int, files []string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return os.IsPermission(err)
	}
	for _, e := range entries {
		open, err := os.Stat(dir + e.Name())
		if err != nil {
			continue
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && os.SameFile(open, info) {
				return true
			}
		}
	}
	return false
}

func holder(pid int) Holder {
	h := Holder{PID: pid}
	dir := "/proc/" + strconv.Itoa(pid)
	if name, err := os.ReadFile(dir + "/comm"); err == nil {
		h.Command = strings.TrimSpace(string(name))
	}
	if s, err := readStat(strconv.Itoa(pid)); err == nil {
		h.Stopped = s.state == "T" || s.state == "t"
	}
	return h
}
