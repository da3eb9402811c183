package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = "../.."

// TestMutantsFit checks that every mutant still finds what it replaces, and
// leaves a file that can be read.
func TestMutantsFit(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, m := range mutants() {
		if names[m.name] || m.name == "" || m.pkg == "" || m.tests == "" || len(m.edits) == 0 {
			t.Errorf("mutant %q lacks something, or is there twice", m.name)
		}
		names[m.name] = true
		files, err := m.apply(module)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		for name, text := range files {
			if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// toy is a module with a function and a test of it.
func toy(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module toy\n\ngo 1.26\n",
		"a.go":        "package toy\n\nfunc Double(n int) int { return n + n }\n\nfunc Half(n int) int { return n / 2 }\n",
		"a_test.go":   "package toy\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif Double(3) != 6 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
		"red_test.go": "package toy\n\nimport \"testing\"\n\nfunc TestRed(t *testing.T) { t.Error(\"always\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestVerdicts tries mutants of every fate.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	root := toy(t)
	plant := func(old, new, tests string) []mutant {
		return []mutant{{"it", []edit{{"a.go", old, new}}, ".", tests}}
	}
	tests := map[string]struct {
		mutants []mutant
		code    int
		says    string
	}{
		"caught":           {plant("n + n", "n * n", "TestDouble"), 0, "caught"},
		"survived":         {plant("n / 2", "n / 3", "TestDouble"), 1, "SURVIVED"},
		"not up to date":   {plant("n - n", "n", "TestDouble"), 2, "0 times instead of once"},
		"ambiguous":        {plant("return n", "return 1 + n", "TestDouble"), 2, "2 times instead of once"},
		"does not compile": {plant("n + n", "m", "TestDouble"), 2, "does not compile"},
		"no such test":     {plant("n + n", "n * n", "TestNothing"), 2, "no test matches"},
		"red anyway":       {plant("n + n", "n * n", "TestRed"), 2, "red without any mutant"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			if code := try(t.Context(), root, test.mutants, &out, &errs); code != test.code {
				t.Errorf("exit code %d; want %d\n%s%s", code, test.code, &out, &errs)
			}
			if text := out.String() + errs.String(); !strings.Contains(text, test.says) {
				t.Errorf("it says %q; want %q in it", text, test.says)
			}
		})
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"-list", "-run", "^sqlite: NORMAL"}, &out, &errs); code != 0 || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("exit code %d, and it lists %q", code, &out)
	}
	if code := run(t.Context(), []string{"-run", "("}, &out, &errs); code != 2 {
		t.Errorf("a pattern that is none: exit code %d", code)
	}
}
