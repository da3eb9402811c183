package docs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestCode holds that the Go of the documents is that of the file they name,
// which is compiled and tested with everything else.
func TestCode(t *testing.T) {
	t.Parallel()
	shown := 0
	for _, file := range documents(t) {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)<!-- ([a-z_/]+\\.go) -->\n```go\n(.*?)```").FindAllSubmatch(page, -1) {
			shown++
			source, err := os.ReadFile(filepath.Join("..", string(m[1])))
			if err != nil {
				t.Errorf("%s shows code of %s: %v", file, m[1], err)
			} else if !bytes.Contains(source, m[2]) {
				t.Errorf("%s shows code that is not in %s:\n%s", file, m[1], m[2])
			}
		}
	}
	if shown == 0 {
		t.Error("the documents show no code")
	}
}
