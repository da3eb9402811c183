package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestJSONIsDescribed holds that docs/cli-json.md has a section for every
// command that answers something.
func TestJSONIsDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/cli-json.md")
	if err != nil {
		t.Fatal(err)
	}
	described := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(page), -1) {
		for section := range strings.SplitSeq(m[1], "; ") {
			section, _, _ = strings.Cut(section, ":") // "thread ls: items"
			group := ""
			for name := range strings.SplitSeq(section, ", ") { // "thread rewind, fork, edit"
				if before, _, grouped := strings.Cut(name, " "); grouped {
					group = before + " "
				} else {
					name = group + name
				}
				described[name] = true
			}
		}
	}
	a, err := newApp(Options{Args: []string{}, Env: []string{}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var look func(cmd *cobra.Command, path string)
	look = func(cmd *cobra.Command, path string) {
		for _, c := range cmd.Commands() {
			name := strings.TrimSpace(path + " " + c.Name())
			switch {
			case c.HasSubCommands():
				look(c, name)
			case name != "help" && !strings.HasPrefix(name, "completion") && !c.Hidden && !described[name]:
				t.Errorf("docs/cli-json.md does not describe %q", name)
			}
		}
	}
	look(a.rootCommand(), "")
}
