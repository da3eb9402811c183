package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/selvagehq/selvage/internal/settings"
)

// note tells a person something that is no result. --quiet leaves it out.
func (a *app) note(format string, args ...any) {
	if !a.flags.quiet {
		a.tell(format, args...)
	}
}

// tell tells even with --quiet. When errors are JSON it waits: stderr of a
// command that fails is then one document, with what was told in it.
func (a *app) tell(format string, args ...any) {
	text := clean(fmt.Sprintf(format, args...))
	if a.wantsJSON() {
		a.told = append(a.told, text)
		return
	}
	a.err.line("%s", a.err.style.dim(text))
}

// tellHeld tells what waited for the command to succeed.
func (a *app) tellHeld() {
	for _, text := range a.told {
		a.err.line("%s", text)
	}
	a.told = nil
}

// noteIgnored tells which keys of an untrusted file do not count.
func (a *app) noteIgnored() {
	for _, k := range a.conf.Ignored {
		a.note("%s:%d: %s does not count until you trust this directory: %s trust %s", k.File, k.Line, k.Key, a.name, quote(filepath.Dir(k.File)))
	}
}

// wantsJSON reports whether errors are to be JSON too. It must have an answer
// even when the command line could not be read.
func (a *app) wantsJSON() bool {
	if a.conf != nil {
		return a.conf.Get("output").Text != "table"
	}
	for i, arg := range a.args {
		next := ""
		if i+1 < len(a.args) {
			next = a.args[i+1]
		}
		switch {
		case arg == "--":
			return false
		case arg == "--json", (arg == "-o" || arg == "--output") && strings.HasPrefix(next, "json"),
			strings.HasPrefix(arg, "-ojson"), strings.HasPrefix(arg, "--output=json"), strings.HasPrefix(arg, "-o=json"):
			return true
		}
	}
	return false
}

// quote writes an argument as a shell reads it.
func quote(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if arg != "" && !strings.ContainsFunc(arg, func(r rune) bool { return !plain(r) }) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// again writes a command that goes on with the store of this one.
func (a *app) again(words ...string) string {
	line := []string{a.name}
	line = append(line, words...)
	if a.flags.store != "" {
		line = append(line, "--store", quote(settings.Redact(a.flags.store)))
	}
	return strings.Join(line, " ")
}
