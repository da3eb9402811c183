package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// verdict is what became of a mutant.
type verdict string

const (
	caught   verdict = "caught"
	survived verdict = "SURVIVED"
	unknown  verdict = "not tried"
)

// testTimeout bounds the tests of one mutant. Those that hang are red, too.
const testTimeout = "4m"

// try plants the mutant and runs its tests.
func (m *mutant) try(ctx context.Context, root string) (verdict, error) {
	folder, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return unknown, err
	}
	defer os.RemoveAll(folder)
	overlay, err := m.plant(root, folder)
	if err != nil {
		return unknown, err
	}
	out, err := test(ctx, root, m.pkg, m.tests, "-overlay="+overlay)
	return judge(out, err)
}

// judge reads what the go command made of the tests.
func judge(out string, err error) (verdict, error) {
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return unknown, err
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		return unknown, fmt.Errorf("it does not compile:\n%s", out)
	case strings.Contains(out, "no tests to run"):
		return unknown, errors.New("no test matches its pattern")
	case err == nil:
		return survived, nil
	case strings.Contains(out, "--- FAIL") || strings.Contains(out, "panic:") || strings.Contains(out, "fatal error:") || strings.Contains(out, "FAIL\t"):
		return caught, nil
	default:
		return unknown, fmt.Errorf("the tests could not be run:\n%s", out)
	}
}

// sound checks that the tests of the mutants are green without them: a test
// that is red anyway catches nothing.
func sound(ctx context.Context, root string, chosen []mutant) error {
	tests := make(map[string][]string) // by package
	for _, m := range chosen {
		if _, err := m.apply(root); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if !slices.Contains(tests[m.pkg], m.tests) {
			tests[m.pkg] = append(tests[m.pkg], m.tests)
		}
	}
	for pkg, patterns := range tests {
		for _, pattern := range patterns {
			out, err := test(ctx, root, pkg, pattern)
			if got, broken := judge(out, err); broken != nil {
				return fmt.Errorf("%s %s: %w", pkg, pattern, broken)
			} else if got != survived {
				return fmt.Errorf("%s %s is red without any mutant:\n%s", pkg, pattern, out)
			}
		}
	}
	return nil
}

// test runs tests and returns what they print. The cache is left out, because
// it does not know what chance and other processes bring.
func test(ctx context.Context, root, pkg, pattern string, flags ...string) (string, error) {
	args := append([]string{"test", "-count=1", "-vet=off", "-timeout=" + testTimeout, "-run", pattern}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
