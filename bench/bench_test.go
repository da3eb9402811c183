package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuick runs the whole benchmark in small and looks at what it says, not
// at how fast it was.
func TestQuick(t *testing.T) {
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "bench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-quick", "-json", "-dir", t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bench: %v", err)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("it printed no report: %v\n%s", err, out)
	}
	if !r.Quick || r.Machine == "" {
		t.Errorf("report of %q, quick %v", r.Machine, r.Quick)
	}
	for _, name := range []string{"disk, 1 writer: rate", "disk, 1 writer: p50", "memory, 1 writer: rate", "disk, 64 threads", "bytes stored, 1 KiB",
		"bytes stored, 4 KiB", "turn flat: statements", "turn flat: rows", "turn flat: bytes", "turn flat: p50", "load flat: p50", "flushes a group, durable",
		"loop: commits of a turn with one tool", "loop: commits of a turn with one tool of effect once", "loop: time of a turn",
		"PostgreSQL, 1 connection: rate", "PostgreSQL, 1 connection: p50", "PostgreSQL, 16 connections, sync on", "PostgreSQL, 16 connections, sync off",
		"PostgreSQL, bytes stored", "PostgreSQL, turn flat: p50", "PostgreSQL, turn flat: statements", "PostgreSQL, turn flat: rows",
		"PostgreSQL, turn flat: bytes", "PostgreSQL, load flat: p50"} {
		if !mentions(&r, name) {
			t.Errorf("no gate is about %q", name)
		}
	}
	for _, g := range r.Gates {
		counted := strings.HasPrefix(g.Name, "flushes")
		if g.Left == "" && (g.Ours == "" || g.Reference == "" || g.Measured <= 0 && !counted) {
			t.Errorf("gate %+v measured nothing", g)
		}
		// Counts do not depend on how fast the machine is.
		if exact := counted || strings.Contains(g.Name, "turn flat: statements") || strings.Contains(g.Name, "turn flat: rows") || strings.HasPrefix(g.Name, "loop: commits"); exact && g.Left == "" && !g.Pass {
			t.Errorf("gate %+v does not hold", g)
		}
	}
}

func mentions(r *report, name string) bool {
	for _, g := range r.Gates {
		if strings.HasPrefix(g.Name, name) {
			return true
		}
	}
	return false
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	r := report{Machine: "m", Rounds: 3, Gates: []gate{
		atLeast("fast", 0.5, 0.6, 0.7).of("a", "b"), atMost("small", 1, 1, 2).of("c", "d").note("n"), {Name: "gone", Left: "no disk"}}}
	var b strings.Builder
	if err := r.markdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"| fast | >= 0.50 | 0.70 | pass | a | b |", "| small (n) | <= 1.00 | 2.00 | **fail** | c | d |", "| gone |  | no disk | left out |"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line %q in\n%s", line, b.String())
		}
	}
}
