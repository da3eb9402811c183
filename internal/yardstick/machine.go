package yardstick

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine tells what figures are taken on: processor, system, toolchain, and
// the kind of file system that dir is on, unless it is "".
func Machine(dir string) string {
	parts := []string{processor(), fmt.Sprintf("%d CPUs", runtime.NumCPU()), runtime.GOOS + " " + kernel(), runtime.Version()}
	if dir != "" {
		parts = append(parts, "disk: "+fileSystem(dir))
	}
	return strings.Join(parts, " · ")
}

// Driver is the path and version of a module that this program was built with.
func Driver(path string) string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, dep := range info.Deps {
			if dep.Path == path {
				return path + " " + dep.Version
			}
		}
	}
	return path
}

func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range bytes.Lines(data) {
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	data, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// fileSystem is the kind of file system a directory is on.
func fileSystem(dir string) string {
	f, err := os.Open("/proc/mounts")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	best, kind := "", "unknown"
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			continue
		}
		mount := strings.TrimSuffix(fields[1], "/") + "/"
		if strings.HasPrefix(dir+"/", mount) && len(mount) > len(best) {
			best, kind = mount, fields[2]
		}
	}
	return kind
}
