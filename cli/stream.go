package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/term"
)

// stream is stdout or stderr. It remembers the first failure, so that callers
// need not look at each write.
type stream struct {
	w        io.Writer
	terminal bool
	style    style
	err      error
}

func newStream(w io.Writer) *stream { return &stream{w: w, terminal: isTerminal(w)} }

// isTerminal reports whether a stream of the process is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Write implements [io.Writer].
func (s *stream) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	if err != nil {
		s.err = &outputError{err}
	}
	return n, s.err
}

// outputError is that a stream of ours took no more. Errors of other streams
// must not be taken for it: a connection breaks with the same number.
type outputError struct{ err error }

func (e *outputError) Error() string { return e.err.Error() }

func (e *outputError) Unwrap() error { return e.err }

// line writes one line.
func (s *stream) line(format string, args ...any) {
	_, _ = fmt.Fprintf(s, format+"\n", args...) // s.err keeps it
}

// text writes text as a person may see it: on a terminal without what could
// steer the terminal.
func (s *stream) text(text string) {
	if s.terminal {
		text = clean(text)
	}
	_, _ = io.WriteString(s, text) // s.err keeps it
}

// raw writes text as it is, control sequences included.
func (s *stream) raw(text string) {
	_, _ = io.WriteString(s, text) // s.err keeps it
}

// json writes v as one document, indented.
func (s *stream) json(v any) { s.encode(v, "  ") }

// jsonLine writes v as one line.
func (s *stream) jsonLine(v any) { s.encode(v, "") }

func (s *stream) encode(v any, indent string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		s.err = errors.Join(s.err, err)
		return
	}
	_, _ = s.Write(b.Bytes()) // s.err keeps it
}

// clean replaces control characters, tabs and line breaks apart. Text that a
// model or another user wrote must not move the cursor or rename the window.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// brokenPipe reports whether err is that nobody reads our stdout any more.
func brokenPipe(err error) bool {
	var output *outputError
	return errors.As(err, &output) && errors.Is(output, syscall.EPIPE)
}

// style colours text, or leaves it alone.
type style struct{ on bool }

func (s style) bold(text string) string { return s.wrap("1", text) }
func (s style) dim(text string) string  { return s.wrap("2", text) }
func (s style) red(text string) string  { return s.wrap("31", text) }

func (s style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
