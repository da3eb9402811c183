package builtin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

func named(t *testing.T, name string, opts builtin.Options) *tool.Bound {
	t.Helper()
	tl, err := builtin.Named(name, opts)
	if err != nil {
		t.Fatal(err)
	}
	b, err := tool.Bind(tl)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// call runs a built-in tool as a run would.
func call(t *testing.T, b *tool.Bound, doc state.Document, args any) (selvage.ToolResult, *tool.Call) {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c := &tool.Call{Arguments: data, Before: doc}
	if err := b.Check(c); err != nil {
		t.Fatal(err)
	}
	result, _ := b.Run(t.Context(), c)
	return result, c
}

func TestEffects(t *testing.T) {
	t.Parallel()
	want := map[string]selvage.Effect{"append_file": selvage.EffectOnce, "ask_user": selvage.EffectNone, "clock": selvage.EffectNone,
		"forget": selvage.EffectIdempotent, "http_get": selvage.EffectNone, "note": selvage.EffectIdempotent, "remember": selvage.EffectIdempotent,
		"search_memory": selvage.EffectNone, "shell": selvage.EffectOnce, "spawn_agent": selvage.EffectIdempotent}
	for _, name := range builtin.Names() {
		if got := named(t, name, builtin.Options{}).Spec(); got.Effect != want[name] || got.Name != name || got.Description == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, hint := range map[string]string{"Clock": `there is "clock"`, "notes": "there are append_file, ask_user, clock, forget, http_get, note, remember, search_memory, shell, spawn_agent"} {
		if _, err := builtin.Named(name, builtin.Options{}); !errors.Is(err, selvage.ErrNotFound) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	b := named(t, "clock", builtin.Options{Now: func() time.Time { return at }})
	for zone, want := range map[string]string{"": "2026-02-03T04:05:06Z", "UTC": "2026-02-03T04:05:06Z"} {
		if got, _ := call(t, b, state.Document{}, map[string]string{"zone": zone}); got.Content.Text() != want {
			t.Errorf("zone %q: %s", zone, got.Content.Text())
		}
	}
	if got, _ := call(t, b, state.Document{}, map[string]string{"zone": "Mars/Olympus"}); !got.Failed || !strings.Contains(got.Content.Text(), "Europe/Berlin") {
		t.Errorf("Mars: %+v", got)
	}
}

// Noting the same twice is noting it once.
func TestNote(t *testing.T) {
	t.Parallel()
	b, doc := named(t, "note", builtin.Options{}), state.Document{}
	for _, text := range []string{"milk", "eggs", "milk"} {
		result, c := call(t, b, doc, map[string]string{"text": text})
		if result.Failed || result.Content.Text() != "Noted: "+text {
			t.Errorf("result %+v", result)
		}
		doc = c.State()
	}
	if got := doc.String(); got != `{"notes":["milk","eggs"]}` {
		t.Errorf("state %s", got)
	}
}

func TestAppendFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	b := named(t, "append_file", builtin.Options{Root: root})
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"log.txt", "log.txt", "sub/log.txt", "sub/../log.txt"} {
		if got, _ := call(t, b, state.Document{}, map[string]string{"path": path, "line": "in " + path}); got.Failed {
			t.Errorf("%s: %s", path, got.Content.Text())
		}
	}
	content, err := os.ReadFile(filepath.Join(root, "log.txt"))
	if err != nil || string(content) != "in log.txt\nin log.txt\nin sub/../log.txt\n" {
		t.Errorf("content %q, %v", content, err)
	}
}

// No path leads out of the allowed directory, by whatever way.
func TestAppendFileStaysInside(t *testing.T) {
	t.Parallel()
	outside, root := t.TempDir(), t.TempDir()
	b := named(t, "append_file", builtin.Options{Root: root})
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link": secret, "dir": outside, "dangling": filepath.Join(outside, "new")} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	up, err := filepath.Rel(root, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{secret, up, "../" + filepath.Base(outside) + "/secret", "link", "dir/secret", "dir/new", "dangling", "", ".", "..", "sub/none/file", "a\x00b"} {
		if got, _ := call(t, b, state.Document{}, map[string]string{"path": path, "line": "x"}); !got.Failed {
			t.Errorf("%q was written: %s", path, got.Content.Text())
		}
	}
	for path, want := range map[string]string{
		secret:                   "outside the directory that append_file may write to; name a path inside it",
		up:                       "outside the directory",
		"link":                   "outside the directory",
		"dir/new":                "outside the directory",
		"":                       "path is empty",
		".":                      "not a regular file",
		"sub/none/file":          "the folder of",
		"a\x00b":                 "invalid argument",
		strings.Repeat("a", 300): "name too long",
	} {
		got, _ := call(t, b, state.Document{}, map[string]string{"path": path, "line": "x"})
		if text := got.Content.Text(); !strings.Contains(text, want) || strings.Contains(text, "at "+path) {
			t.Errorf("%q: the model is told %q, want %q", path, text, want)
		}
	}
	for _, line := range []string{"two\nlines", "a\rb"} {
		if got, _ := call(t, b, state.Document{}, map[string]string{"path": "f", "line": line}); !got.Failed {
			t.Errorf("line %q was written", line)
		}
	}
	entries, err := os.ReadDir(outside)
	content, readErr := os.ReadFile(secret)
	if err != nil || readErr != nil || len(entries) != 1 || string(content) != "untouched" {
		t.Errorf("outside there is now %v with %q (%v, %v)", entries, content, err, readErr)
	}
	if got, _ := call(t, named(t, "append_file", builtin.Options{Root: filepath.Join(root, "nowhere")}), state.Document{}, map[string]string{"path": "f", "line": "x"}); !got.Failed || !strings.Contains(got.Content.Text(), "tools.append_file.root") {
		t.Errorf("a root that does not exist: %q", got.Content.Text())
	}
}

// Lines appended at once do not mix.
func TestAppendFileAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	b := named(t, "append_file", builtin.Options{Root: root})
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			call(t, b, state.Document{}, map[string]string{"path": "f", "line": strings.Repeat(fmt.Sprint(i), 1000)})
		})
	}
	done.Wait()
	content, err := os.ReadFile(filepath.Join(root, "f"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	if len(lines) != 8 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		if len(l) != 1000 || strings.Trim(l, l[:1]) != "" {
			t.Errorf("mixed line %.20q of %d bytes", l, len(l))
		}
	}
}

func ExampleNamed() {
	note, err := builtin.Named("note", builtin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := note.Spec()
	fmt.Println(spec.Name, spec.Effect)
	_, err = builtin.Named("Note", builtin.Options{})
	fmt.Println(err)
	// Output:
	// note idempotent
	// there is no built-in tool "Note", but there is "note": not found
}
