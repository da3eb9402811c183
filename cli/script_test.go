package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/selvagehq/selvage/cli"
)

// TestMain lets the scripts run the real command: this binary, called selvage.
func TestMain(m *testing.M) {
	testscript.Main(leakless{m}, map[string]func(){
		"selvage":   func() { os.Exit(cli.Main(cli.Options{Version: "v0.0.0-test"})) },
		"weaver":    weaver,
		"mcpserver": mcpServer,
	})
}

// leakless are tests that leave no goroutine behind.
type leakless struct{ *testing.M }

func (m leakless) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		_, _ = fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   filepath.Join("testdata", "script"),
		Setup: isolate,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":   codeCommand,
			"json":   jsonCommand,
			"damage": damageCommand,
			"newer":  newerCommand,
			"await":  awaitCommand,
		},
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// isolate gives a script a home of its own, and nothing of ours: no keys, no
// settings.
func isolate(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	var vars []string
	for _, v := range env.Vars {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "PATH", "TMPDIR", "WORK", "/", ":", "$", "exe", "devnull":
			vars = append(vars, v)
		}
	}
	env.Vars = append(vars, "HOME="+home, "SELVAGE_HOME="+filepath.Join(home, "data"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
	// The race detector makes every process linger for a second otherwise.
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	serve(env)
	serveMCP(env)
	return nil
}

// codeCommand runs a command that must exit with a code: code 3 selvage ...
func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exited *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exited) {
		got = exited.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d; want %d", got, want)
	}
}

// jsonCommand looks into the JSON that was printed last:
// json [stderr] items.0.version REGEXP. A length is asked for with #.
func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	source := "stdout"
	if len(args) > 0 && args[0] == "stderr" {
		source, args = args[0], args[1:]
	}
	if len(args) != 2 {
		ts.Fatalf("usage: json [stderr] PATH REGEXP")
	}
	var doc any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(source)))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		ts.Fatalf("%s is not JSON: %v", source, err)
	}
	if d.More() {
		ts.Fatalf("%s holds more than one document", source)
	}
	steps := strings.Split(args[0], ".")
	if pointer, ok := strings.CutPrefix(args[0], "/"); ok { // for keys that hold dots
		steps = strings.Split(pointer, "/")
	}
	got, found := dig(doc, steps)
	matched, err := regexp.MatchString("^(?:"+args[1]+")$", got)
	ts.Check(err)
	if neg == (found && matched) {
		ts.Fatalf("%s is %s (there: %v); want %s", args[0], got, found, args[1])
	}
}

// dig returns what is at a path, as JSON, strings without their quotes.
func dig(v any, path []string) (string, bool) {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return "", false
			}
			v = next
		case []any:
			if step == "#" {
				v = json.Number(strconv.Itoa(len(at)))
				continue
			}
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return "", false
			}
			v = at[i]
		default:
			return "", false
		}
	}
	if s, ok := v.(string); ok {
		return s, true
	}
	data, err := json.Marshal(v)
	return string(data), err == nil
}
