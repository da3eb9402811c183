package toystore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestPage holds that the code on the page about writing a store is this
// store's: each block stands in the file that is named above it.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/writing-a-store.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("(?s)<!-- examples/toystore/([a-z_]+\\.go) -->\n```go\n(.*?)```").FindAllSubmatch(page, -1)
	if all := bytes.Count(page, []byte("```go\n")); len(named) != all || all == 0 {
		t.Errorf("the page has %d blocks of Go, %d of them named after their file; want all of several", all, len(named))
	}
	for _, block := range named {
		file := filepath.Base(string(block[1]))
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(source, block[2]) {
			t.Errorf("a block of the page is not in %s:\n%s", file, block[2])
		}
	}
}
