package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/model"
)

// TestExitCodes pins the exit code of every class of error.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		exit int
		code string
	}{
		{errors.New("anything"), 1, "internal"},
		{selvage.ErrUnsupported, 1, "unsupported"},
		{selvage.ErrClosed, 1, "closed"},
		{usage("", "wrong"), 2, "usage"},
		{&selvage.InvalidError{Field: "x", Reason: "wrong"}, 2, "invalid"},
		{selvage.ErrTooLarge, 2, "too_large"},
		{selvage.ErrCursorExpired, 2, "cursor_expired"},
		{&settings.Error{Where: "a:1", Reason: "wrong"}, 2, "config"},
		{selvage.ErrNotFound, 3, "not_found"},
		{selvage.ErrGone, 3, "gone"},
		{&selvage.ConflictError{Thread: "t", Expected: 1, Actual: 2}, 4, "conflict"},
		{selvage.ErrAlreadyExists, 4, "already_exists"},
		{&selvage.BusyError{Thread: "t"}, 4, "busy"},
		{&selvage.FencedError{Thread: "t", Held: 1, Actual: 2}, 4, "fenced"},
		{selvage.ErrUnavailable, 5, "unavailable"},
		{&model.Error{Class: model.Transient, Err: errors.New("no route")}, 5, "unavailable"},
		{&model.Error{Class: model.Transient, Status: 500, Err: errors.New("oops")}, 1, "model_transient"},
		{&model.Error{Class: model.RateLimited, Status: 429, Err: errors.New("slow")}, 1, "model_rate_limited"},
		{&model.Error{Class: model.Quota, Status: 403, Err: errors.New("no credit")}, 1, "model_quota"},
		{&model.Error{Class: model.Cut, Err: errors.New("cut")}, 1, "model_cut"},
		{&model.Error{Class: model.Permanent, Status: 400, Err: errors.New("no")}, 1, "model_permanent"},
		{&model.Error{Class: model.Permanent, Status: 401, Err: errors.New("no")}, 8, "unauthorised"},
		{selvage.ErrCorrupt, 7, "corrupt"},
		{selvage.ErrUnknownOutcome, 9, "unknown_outcome"},
		{context.DeadlineExceeded, 124, "timeout"},
		{context.Canceled, 130, "cancelled"},
	}
	for _, tt := range tests {
		f := classify(fmt.Errorf("do something: %w", tt.err))
		if f.exit != tt.exit || f.class != tt.code {
			t.Errorf("%v: exit %d, code %s; want %d, %s", tt.err, f.exit, f.class, tt.exit, tt.code)
		}
		if h := classify(hinted(tt.err, "try this")); h.exit != tt.exit || h.hint != "try this" {
			t.Errorf("%v, hinted: exit %d, hint %q", tt.err, h.exit, h.hint)
		}
	}
}

// inProcess runs the commands in this process.
func inProcess(t *testing.T, env []string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(Options{Args: args, Env: append([]string{"HOME=" + t.TempDir()}, env...), Dir: t.TempDir(),
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &err})
	return code, out.String(), err.String()
}

// TestMainReadsNothingOfTheProcess: what the options give is all there is.
func TestMainReadsNothingOfTheProcess(t *testing.T) {
	t.Setenv("SELVAGE_MODEL", "nosuch/model")
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	code, stdout, stderr := inProcess(t, nil, "", "ask", "hello")
	if code != 0 || stdout != "You said: hello\n" || !strings.Contains(stderr, "sim/echo") {
		t.Errorf("ask = %d, %q, %q", code, stdout, stderr)
	}
}

func TestErrorsStayOnOneLine(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := inProcess(t, nil, "", "thread", "show", "a\x1b[31m\nb")
	if code != 2 || stdout != "" || strings.Contains(stderr, "\x1b") || strings.Count(stderr, "\n") != 2 {
		t.Errorf("show = %d, %q, %q; want two lines without escapes", code, stdout, stderr)
	}
}

// TestWithoutHome: without any home the answer says what to set.
func TestWithoutHome(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := Main(Options{Args: []string{"thread", "ls"}, Env: []string{}, Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	if code != 2 || !strings.Contains(errs.String(), "SELVAGE_HOME") {
		t.Errorf("ls = %d, %q", code, errs.String())
	}
}

// refusing is a stream that nobody reads.
type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, &fs.PathError{Op: "write", Err: syscall.EPIPE} }

func TestBrokenPipeIsNoFailure(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	code := Main(Options{Args: []string{"ask", "-q", "hello"}, Env: []string{"HOME=/"}, Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: refusing{}, Stderr: &errs})
	if code != 0 || errs.Len() > 0 {
		t.Errorf("ask = %d, %q; want 0 and nothing said", code, errs.String())
	}
}

// TestBrokenConnectionIsAFailure: a service that hangs up breaks its pipe, not
// ours.
func TestBrokenConnectionIsAFailure(t *testing.T) {
	t.Parallel()
	refused := &model.Error{Class: model.Transient, Err: fmt.Errorf("send: %w", syscall.EPIPE)}
	a, err := newApp(Options{Args: []string{}, Env: []string{}, Dir: t.TempDir(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
	if err != nil {
		t.Fatal(err)
	}
	if code := a.fail(t.Context(), "ask", refused); code != exitUnreachable {
		t.Errorf("exit %d; want %d", code, exitUnreachable)
	}
}

// full is a stream on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputThatIsLostIsAFailure(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	code := Main(Options{Args: []string{"version"}, Env: []string{"HOME=/"}, Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &errs})
	if code != 1 || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("version = %d, %q; want 1 and why", code, errs.String())
	}
}

func TestAskGivesUpInTime(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	code, _, stderr := inProcess(t, nil, "", "ask", "--wait", "20ms", "sleep 1m")
	if code != 124 || time.Since(begun) > 20*time.Second {
		t.Errorf("ask = %d after %s, %q; want 124 at once", code, time.Since(begun), stderr)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{"a-b_c.d/e": "a-b_c.d/e", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "$x": "'$x'", "é": "'é'"} {
		if got := quote(arg); got != want {
			t.Errorf("quote(%q) = %s; want %s", arg, got, want)
		}
	}
}
