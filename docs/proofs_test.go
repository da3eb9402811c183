package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProofs holds that every test a document names is one.
func TestProofs(t *testing.T) {
	t.Parallel()
	named := make(map[string]string)
	for _, file := range documents(t) {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`(Test[A-Za-z]+|[a-z]+_test\\.go)`").FindAllStringSubmatch(string(page), -1) {
			named[m[1]] = file
		}
	}
	if len(named) == 0 {
		t.Error("the documents name no tests")
	}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		delete(named, filepath.Base(path))
		source, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			delete(named, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for test, file := range named {
		t.Errorf("%s names %s, which is not there", file, test)
	}
}
