package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestNewFileOutlivesPower makes a file in directories that are made for it:
// every directory that got an entry has to be forced to the disk, with the
// entry in it.
func TestNewFileOutlivesPower(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "a", "b", "selvage.db")
	entries := map[string]string{filepath.Join(root, "a", "b"): "selvage.db", filepath.Join(root, "a"): "b", root: "a"}
	var synced []string
	sync := func(dir string) error {
		synced = append(synced, dir)
		if _, err := os.Stat(filepath.Join(dir, entries[dir])); err != nil {
			t.Errorf("%s is forced to the disk before its entry is there: %v", dir, err)
		}
		return sqlite.SyncDir(dir)
	}
	if _, err := sqlite.Locate(path, sync); err != nil {
		t.Fatal(err)
	}
	for dir := range entries {
		if !slices.Contains(synced, dir) {
			t.Errorf("%s is not forced to the disk; %v are", dir, synced)
		}
	}
	synced = nil
	if _, err := sqlite.Locate(path, sync); err != nil || len(synced) > 0 {
		t.Errorf("a file that is there: %v, and %v are forced to the disk", err, synced)
	}
	broken := errors.New("the disk went away")
	_, err := sqlite.Locate(filepath.Join(root, "other.db"), func(string) error { return broken })
	if !errors.Is(err, selvage.ErrUnavailable) || !errors.Is(err, broken) {
		t.Errorf("a directory that cannot be forced to the disk: %v; want ErrUnavailable", err)
	}
}
