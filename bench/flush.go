package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/selvagehq/selvage/store/sqlite"
)

// flushes counts, with strace, how often a process that appends one change set
// after another forces the disk: the difference between two runs of different
// length, neither of which is long enough for a checkpoint.
func flushes(ctx context.Context, cfg config) ([]gate, error) {
	short, long := 50, 250
	if cfg.quick {
		short, long = 5, 15
	}
	strace, err := exec.LookPath("strace")
	var gates []gate
	for _, profile := range []struct {
		durability sqlite.Durability
		want       float64
	}{{sqlite.Durable, 1}, {sqlite.CrashSafe, 0}} {
		g := gate{Name: fmt.Sprintf("flushes a group, %s", profile.durability), Must: fmt.Sprintf("= %.0f", profile.want)}
		if err != nil {
			g.Left = "strace is not installed"
			gates = append(gates, g)
			continue
		}
		first, err := countFlushes(ctx, cfg, strace, profile.durability, short)
		if err != nil {
			return nil, err
		}
		second, err := countFlushes(ctx, cfg, strace, profile.durability, long)
		if err != nil {
			return nil, err
		}
		g.Measured = float64(second-first) / float64(long-short)
		g.Pass = g.Measured == profile.want
		gates = append(gates, g.of(fmt.Sprintf("%d in %d groups more", second-first, long-short), "fsync and fdatasync, by strace"))
	}
	return gates, nil
}

var flushLine = regexp.MustCompile(`(?m)^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(fsync|fdatasync)$`)

// countFlushes runs this program under strace and reads its count.
func countFlushes(ctx context.Context, cfg config, strace string, durability sqlite.Durability, appends int) (n int, err error) {
	dir, err := os.MkdirTemp(cfg.dir, "selvage-bench-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	counts := filepath.Join(dir, "strace")
	args := append([]string{"-f", "-c", "-e", "trace=fsync,fdatasync", "-o", counts}, cfg.self...)
	args = append(args, "-child-file", filepath.Join(dir, "selvage.db"), "-child-durability", string(durability), "-child-appends", strconv.Itoa(appends))
	if out, err := exec.CommandContext(ctx, strace, args...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("strace: %w: %s", err, out)
	}
	table, err := os.ReadFile(counts)
	if err != nil {
		return 0, err
	}
	for _, m := range flushLine.FindAllSubmatch(table, -1) {
		calls, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return 0, err
		}
		n += calls
	}
	return n, nil
}

// appendAll is what that process does.
func appendAll(ctx context.Context, path, durability string, n int) (err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{Durability: sqlite.Durability(durability)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w := &writer{store: s, id: "one"}
	for range n {
		if err := w.append(ctx, bodySize); err != nil {
			return err
		}
	}
	return nil
}
