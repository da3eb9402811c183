package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// binaries returns the directory of the server's programs, which it installs
// if there is none.
func binaries() (string, error) {
	if dir := installed(); dir != "" {
		return dir, nil
	}
	if err := install(); err != nil {
		return "", fmt.Errorf("no PostgreSQL server is installed, and none could be (set %s to the URL of one): %w", Environment, err)
	}
	if dir := installed(); dir != "" {
		return dir, nil
	}
	return "", errors.New("the package postgresql was installed and brought no server")
}

// installed returns the directory of the newest server's programs, or "".
func installed() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "postgres")); err == nil {
			return filepath.Dir(path)
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/[0-9]*/bin/initdb")
	if err != nil || len(found) == 0 {
		return ""
	}
	// Two digits each, for long enough.
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1])
}

// install installs Debian's server and keeps it from starting one by itself.
func install() error {
	const conf = "/etc/postgresql-common/createcluster.conf"
	if _, err := os.Stat(conf); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(conf), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(conf, []byte("create_main_cluster = false\n"), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "-o", "Dpkg::Options::=--force-confold", "postgresql"}} {
		cmd := exec.Command("apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}
