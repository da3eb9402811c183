package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is a mistake that somebody could make, and the tests that must notice.
type mutant struct {
	name  string
	edits []edit
	pkg   string // "./store/sqlite"
	tests string // the -run pattern
}

// edit replaces a piece of a file, which must be there exactly once.
type edit struct{ file, old, new string }

// apply returns the files of the module with the mistake in them, by path.
func (m *mutant) apply(root string) (map[string]string, error) {
	files := make(map[string]string)
	for _, e := range m.edits {
		text, edited := files[e.file]
		if !edited {
			data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.file)))
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("%s holds what the mutant replaces %d times instead of once; bring the mutant up to date: %q", e.file, n, e.old)
		}
		files[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return files, nil
}

// plant writes the files into a folder and returns the overlay that has the
// compiler take them.
func (m *mutant) plant(root, folder string) (overlay string, err error) {
	files, err := m.apply(root)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	replace := make(map[string]string, len(files))
	for file, text := range files {
		planted := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(planted, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = planted
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}
