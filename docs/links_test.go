// Package docs_test holds the documents to what they refer to.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestLinks holds that every relative link of every document leads to a file
// or folder, and to a heading of it if it names one.
func TestLinks(t *testing.T) {
	t.Parallel()
	read := 0
	for _, file := range documents(t) {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(page), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			read++
			to, section, _ := strings.Cut(m[1], "#")
			target := file
			if to != "" {
				target = filepath.Join(filepath.Dir(file), to)
			}
			switch at, err := os.ReadFile(target); {
			case section == "":
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s links to %s, which is not there", file, m[1])
				}
			case err != nil || !sections(string(at))[section]:
				t.Errorf("%s links to %s, which has no such heading", file, m[1])
			}
		}
	}
	if read == 0 {
		t.Error("the documents have no links")
	}
}

// documents are all Markdown files of the module.
func documents(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir
		case filepath.Ext(path) == ".md":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sections are the anchors of a document's headings.
func sections(page string) map[string]bool {
	anchors := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		anchors[anchor] = true
	}
	return anchors
}
