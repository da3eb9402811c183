package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoRoom: a folder that takes nothing needs a hand.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone", "a.db")
	if found := checkRoom("sqlite:" + gone); found.Status != broke || found.Hint == "" {
		t.Errorf("checkRoom = %+v; want it to fail", found)
	}
}

// TestPermissions looks at the files beside a database too.
func TestPermissions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.db")
	for name, mode := range map[string]fs.FileMode{path: 0o600, path + "-wal": 0o600} {
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if found := checkFile(path); found.Status != fine {
		t.Errorf("checkFile = %+v; want ok", found)
	}
	if err := os.Chmod(path+"-wal", 0o644); err != nil {
		t.Fatal(err)
	}
	if found := checkFile(path); found.Status != worth || !strings.Contains(found.Detail, "-wal") {
		t.Errorf("checkFile = %+v; want a warning about the file beside it", found)
	}
}
