package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

// What becomes of a call of unknown outcome is asked unless somebody chose.
func TestAppendFileUnknown(t *testing.T) {
	t.Parallel()
	for chosen, want := range map[selvage.OnUnknown]selvage.OnUnknown{"": tool.AskUnknown, tool.ProbeUnknown: tool.ProbeUnknown,
		tool.RetryUnknown: tool.RetryUnknown, tool.FailUnknown: tool.FailUnknown} {
		if got := named(t, "append_file", builtin.Options{OnUnknown: chosen}).Spec().OnUnknown; got != want {
			t.Errorf("%q became %q, want %q", chosen, got, want)
		}
	}
	made, err := builtin.Named("append_file", builtin.Options{OnUnknown: "guess"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Bind(made); err == nil {
		t.Error("a choice that is not offered was taken")
	}
}

// A probe says only what the file proves.
func TestAppendFileProbe(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]tool.Finding{
		"":                       tool.Untouched,
		"one\ntwo\n":             tool.Untouched,
		"one\nline\n":            tool.Happened,
		"line\nlater\n":          tool.Happened,
		"line\nline\n":           tool.Unresolved,
		"one\nlin":               tool.Unresolved, // torn
		"one\nline":              tool.Unresolved, // the break is missing
		"line\nli":               tool.Unresolved,
		"one\nother beginning":   tool.Untouched,
		"a line\nline more\n":    tool.Untouched,
		"line\r\n":               tool.Untouched,
		strings.Repeat("x\n", 9): tool.Untouched,
	} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "f"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		b := named(t, "append_file", builtin.Options{Root: root, OnUnknown: tool.ProbeUnknown})
		found, result, err := b.Probe(t.Context(), &tool.Call{Arguments: json.RawMessage(`{"path":"f","line":"line"}`)})
		if found != want || err != nil || found == tool.Happened && result.Content.Text() != "Appended to f." {
			t.Errorf("in %q the probe finds %s (%+v), %v; want %s", content, found, result, err, want)
		}
		after, err := os.ReadFile(filepath.Join(root, "f"))
		if err != nil || string(after) != content {
			t.Errorf("the probe changed %q to %q, %v", content, after, err)
		}
	}
}

// Where there is nothing to look at, a probe knows that or says it does not.
func TestAppendFileProbeElsewhere(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := named(t, "append_file", builtin.Options{Root: root})
	for path, want := range map[string]tool.Finding{"none": tool.Untouched, "dir": tool.Unresolved, "../f": tool.Unresolved, "/etc/passwd": tool.Unresolved} {
		args, err := json.Marshal(map[string]string{"path": path, "line": "x"})
		if err != nil {
			t.Fatal(err)
		}
		if found, _, _ := b.Probe(t.Context(), &tool.Call{Arguments: args}); found != want {
			t.Errorf("%s: %s, want %s", path, found, want)
		}
	}
}
