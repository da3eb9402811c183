package docs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/selvagehq/selvage/cli"
)

// TestTranscripts does what the console blocks of the documents show, one after
// the other, and holds the program to what they print. Ids and times differ from
// one time to the next, and how wide a column is with them. YAML that is named by
// a comment before it is the file of that name.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("they have commands for a Unix shell")
	}
	shown := 0
	for _, file := range documents(t) {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		for _, m := range regexp.MustCompile("(?s)<!-- ([a-z]+\\.yaml) -->\n```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
			if err := os.WriteFile(filepath.Join(home, m[1]), []byte(m[2]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
			for _, example := range strings.Split("\n"+block[1], "\n$ ")[1:] {
				shown++
				command, want, _ := strings.Cut(example, "\n")
				if got := perform(t, home, command); words(got) != words(want) {
					t.Errorf("%s: %s\nprints\n%s\nand is shown with\n%s", file, command, got, want)
				}
			}
		}
	}
	if shown == 0 {
		t.Error("the documents show no transcripts")
	}
}

// perform runs one command of a transcript in a home of its own. What follows
// as a comment is "exit N".
func perform(t *testing.T, home, command string) string {
	command, comment, _ := strings.Cut(command, " # ")
	code := 0
	if n, ok := strings.CutPrefix(comment, "exit "); ok {
		var err error
		if code, err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
	}
	args := arguments(command)
	if args[0] != "selvage" {
		t.Fatalf("%s is not a command of selvage", command)
	}
	var out screen
	got := cli.Main(cli.Options{Args: args[1:], Dir: home, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Env: []string{"USER=ada", "HOME=" + home, "PATH=" + os.Getenv("PATH"), "SELVAGE_STORE=" + filepath.Join(home, "selvage.db")}})
	if got != code {
		t.Errorf("%s: exit %d, want %d", command, got, code)
	}
	return strings.ReplaceAll(out.all.String(), home, "/home/ada")
}

// screen is where both outputs go, as on a terminal.
type screen struct {
	mu  sync.Mutex
	all bytes.Buffer // guarded by mu
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

// arguments divides a command as a shell does that knows quotes alone.
func arguments(command string) (args []string) {
	for _, m := range regexp.MustCompile(`'[^']*'|"[^"]*"|[^ ]+`).FindAllString(command, -1) {
		if q := m[0]; q == '\'' || q == '"' {
			m = strings.Trim(m, string(q))
		}
		args = append(args, m)
	}
	return args
}

// varying is what differs each time: ids, times and hashes.
var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|(call|loop)_[0-9a-z_]+|20[0-9-]+T[0-9:]+Z|\b[0-9a-f]{12}\b`)

// words is a text as transcripts are compared.
func words(text string) string {
	return strings.Join(strings.Fields(varying.ReplaceAllString(text, "~")), " ")
}
