//go:build unix

package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

// callOf is a call with these arguments.
func callOf(t *testing.T, args any) *tool.Call {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return &tool.Call{Arguments: data}
}

// Only what is allowed word for word runs unasked.
func TestShellAllow(t *testing.T) {
	t.Parallel()
	b := named(t, "shell", builtin.Options{Shell: builtin.Shell{Dir: "/srv", Allow: []string{"ls", "git status", "git log *", "go  test ./*", "echo"}}})
	for command, allowed := range map[string]bool{
		"ls":                    true,
		"  ls -la /tmp":         true,
		"git status":            true,
		"git  log -p a/b":       true,
		"go test ./tool/...":    true,
		"echo a=b":              true,
		"lsof":                  false,
		"./ls":                  false,
		"git":                   false,
		"git status -s":         false,
		"git logs x":            false,
		"git push":              false,
		"rm -rf /":              false,
		"ls; rm x":              false,
		"ls\nrm x":              false,
		"ls & rm x":             false,
		"ls | sh":               false,
		"ls > /etc/passwd":      false,
		"echo $(rm x)":          false,
		"echo `rm x`":           false,
		"echo $HOME":            false,
		"echo ~":                false,
		"echo *":                false,
		"echo \\x":              false,
		"echo 'x'":              false,
		"echo x # y":            false,
		"PATH=/tmp ls":          false,
		"ls\trm":                false,
		"ls \u00a0":             false,
		"git log \u2028rm":      false,
		"go test ./x && rm -rf": false,
	} {
		err := b.Gate(t.Context(), callOf(t, map[string]string{"command": command}))
		var s *tool.Suspended
		switch {
		case allowed && err != nil, !allowed && !errors.As(err, &s):
			t.Errorf("%q: %v; allowed should be %v", command, err, allowed)
		case !allowed:
			var details struct{ Command, Dir string }
			if err := json.Unmarshal(s.Ticket.Details, &details); err != nil || details.Command != command || details.Dir != "/srv" ||
				s.Ticket.Reason != selvage.WaitApproval || !strings.HasPrefix(s.Ticket.Message, "run: ") {
				t.Errorf("%q: ticket %+v, %v", command, s.Ticket, err)
			}
			if strings.ContainsAny(s.Ticket.Message, "\n\r") {
				t.Errorf("%q: %q shows the second line as if it belonged to the first", command, s.Ticket.Message)
			}
		}
	}
	for _, command := range []string{"", " \n", strings.Repeat("x", 40<<10), "a\x00b"} {
		c := callOf(t, map[string]string{"command": command})
		var s *tool.Suspended
		if err := b.Gate(t.Context(), c); err == nil || errors.As(err, &s) {
			t.Errorf("%.20q: %v; want it refused", command, err)
		}
		if got, _ := b.Run(t.Context(), c); !got.Failed {
			t.Errorf("%.20q ran", command)
		}
	}
	if spec := b.Spec(); spec.Effect != selvage.EffectOnce || spec.OnUnknown != tool.AskUnknown || spec.Timeout != time.Minute {
		t.Errorf("spec %+v", spec)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := named(t, "shell", builtin.Options{Shell: builtin.Shell{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/h", "LC_ALL=C", "OPENAI_API_KEY=sk-1", "SELVAGE_TOKEN=x"}}})
	for _, tt := range []struct {
		command, want string
		failed        bool
	}{
		{"echo hi; pwd", "hi\n" + dir, false},
		{"env | sed s/=.*// | sort | tr '\\n' ' '", "HOME LC_ALL PATH PWD ", false},
		{"true", "(no output)", false},
		{"echo out; echo err >&2; exit 3", "out\nerr\n(exit status 3)", true},
		{"cat", "(no output)", false}, // stdin is empty
		{"printf 'a\\0b'", "(3 bytes of output that are not text)", false},
		{"printf '\\377\\376\\375'", "(3 bytes of output that are not text)", false},
		{"printf 'caf\\303\\251 \\303'", "caf\u00e9 \uFFFD", false},
		{"kill -9 $$", "(signal: killed)", true},
		{"nosuchcommand", "not found\n(exit status 127)", true},
	} {
		got, _ := call(t, b, state.Document{}, map[string]string{"command": tt.command})
		text := strings.Replace(got.Content.Text(), " OLDPWD", "", 1)
		text = strings.Replace(text, " SHLVL", "", 1)
		text = strings.Replace(text, " _", "", 1)
		if got.Failed != tt.failed || !strings.HasSuffix(text, tt.want) {
			t.Errorf("%s: %q, failed %v; want %q", tt.command, got.Content.Text(), got.Failed, tt.want)
		}
	}
}

// What is written without end is told from both ends.
func TestShellOutput(t *testing.T) {
	t.Parallel()
	b := named(t, "shell", builtin.Options{})
	got, _ := call(t, b, state.Document{}, map[string]string{"command": "echo begin; yes x | head -c 3000000; echo; echo end"})
	text := got.Content.Text()
	if len(text) > 70<<10 || !strings.HasPrefix(text, "begin\n") || !strings.HasSuffix(text, "end") || !strings.Contains(text, "bytes left out)") {
		t.Errorf("%d bytes, begins %.20q", len(text), text)
	}
}

// A command that takes too long ends, and with it what it started; so does
// what a command leaves in the background.
func TestShellLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"timeout":    "sleep 1000 & echo $! > pid; wait",
		"background": "sleep 1000 > /dev/null 2>&1 & echo $! > pid",
		"held":       "sleep 1000 & echo $! > pid; echo done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := named(t, "shell", builtin.Options{Shell: builtin.Shell{Dir: dir, Timeout: 300 * time.Millisecond}})
			if name == "held" {
				b = named(t, "shell", builtin.Options{Shell: builtin.Shell{Dir: dir}})
			}
			got, err := call(t, b, state.Document{}, map[string]string{"command": command})
			if got.Failed != (name == "timeout") {
				t.Errorf("result %+v, %v", got, err)
			}
			gone(t, filepath.Join(dir, "pid"))
		})
	}
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		b := named(t, "shell", builtin.Options{Shell: builtin.Shell{Dir: dir}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := b.Run(ctx, callOf(t, map[string]string{"command": "mkfifo ready; sleep 1000 & echo $! > pid; echo > ready; wait"}))
			ended <- err
		}()
		awaitFIFO(t, filepath.Join(dir, "ready"))
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		gone(t, filepath.Join(dir, "pid"))
	})
}

// awaitFIFO returns when somebody has written to the named pipe.
func awaitFIFO(t *testing.T, path string) {
	t.Helper()
	for {
		if _, err := os.ReadFile(path); err == nil {
			return
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if t.Context().Err() != nil {
			t.Fatal("nobody came")
		}
	}
}

// gone fails unless the process whose id a file holds has ended. A process that
// was killed may still be waited for by its new parent, so it is looked at again
// until it is no more than that.
func gone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil && strings.Contains(string(status), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d goes on: %s", pid, status)
		}
	}
}
