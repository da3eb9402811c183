package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRooms holds that the page about the architecture knows every package.
func TestRooms(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "tools" || d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case !d.IsDir() && filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			room := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), "../"))
			seen++
			if room != ".." && !strings.Contains(string(page), "`"+room+"`") {
				t.Errorf("docs/architecture.md says nothing of %s", room)
				return fs.SkipDir
			}
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Errorf("read %d files, error %v", seen, err)
	}
}
