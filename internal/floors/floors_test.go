package floors

import (
	"os"
	"testing"
	"testing/fstest"
)

// TestHouse holds every import of the module against the plan.
func TestHouse(t *testing.T) {
	t.Parallel()
	faults, read, err := Violations(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
	if read < 20 {
		t.Errorf("read %d imports within the module; the walk must have missed the code", read)
	}
}

// TestViolations shows the check failing: each file below breaks a rule, and
// each rule is broken once.
func TestViolations(t *testing.T) {
	t.Parallel()
	importing := func(pkg string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package x\n\nimport _ \"" + Module + pkg + "\"\n")}
	}
	faulty := fstest.MapFS{
		"thread.go":              importing("/runner"),
		"id.go":                  importing("/internal/process"),
		"state/op.go":            importing(""),
		"store/sqlite/open.go":   importing("/store/inmem"),
		"model/sim/sim.go":       importing("/tool"),
		"runner/loop.go":         importing("/cli"),
		"internal/process/id.go": importing("/store/sqlite"),
		"attic/box.go":           importing(""),
		"stores/open.go":         importing("/attic"),
	}
	faults, _, err := Violations(faulty)
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) != len(faulty) {
		t.Errorf("%d files break a rule each, %d faults were found: %q", len(faulty), len(faults), faults)
	}
	sound := fstest.MapFS{
		"thread.go":              importing("/state"),
		"thread_test.go":         importing("/runner"),
		"store/sqlite/open.go":   importing("/store/commit"),
		"model/sim/sim.go":       importing("/model"),
		"runner/loop.go":         importing("/internal/process"),
		"cmd/selvage/main.go":    importing("/cli"),
		"bench/main.go":          importing("/store/sqlite"),
		"internal/process/id.go": importing(""),
		"runner/testdata/bad.go": importing("/cli"),
		".hidden/bad.go":         importing("/cli"),
	}
	if faults, read, err := Violations(sound); err != nil || len(faults) != 0 || read != 7 {
		t.Errorf("Violations = %q, %d imports, %v; want none in 7 imports", faults, read, err)
	}
}
