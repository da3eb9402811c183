package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/model"
)

// The exit codes. They are part of the surface: a script may rely on them.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitNotFound     = 3
	exitConflict     = 4
	exitUnreachable  = 5
	exitWaiting      = 6
	exitCorrupt      = 7
	exitUnauthorised = 8
	exitUnknown      = 9
	exitTimeout      = 124
	exitInterrupted  = 130
)

// failure is an error with what a person or a script needs of it.
type failure struct {
	exit    int            // exit code
	class   string         // stable name for scripts
	err     error          // WHY
	hint    string         // what to do next; may be empty
	details map[string]any // facts for scripts; may be nil
	told    bool           // a person has been told already
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// usage is a mistake of who typed the command.
func usage(hint, format string, args ...any) error {
	return &failure{exit: exitUsage, class: "usage", err: fmt.Errorf(format, args...), hint: hint}
}

// hinted adds what to do next to an error, whose class stays.
func hinted(err error, hint string) error {
	if err == nil {
		return nil
	}
	f := classify(err)
	f.err, f.hint = err, hint
	return f
}

// exits names the exit code and the usual hint of each class of the root's
// [selvage.Code].
func exits(code string) (exit int, hint string) {
	switch code {
	case "not_found":
		return exitNotFound, "`selvage thread ls` lists what is there"
	case "gone":
		return exitNotFound, "it was removed, and its id is not used again"
	case "conflict", "already_exists":
		return exitConflict, "read the thread again and retry"
	case "busy":
		return exitConflict, "wait until it is free, or let chat wait: --on-active queue"
	case "fenced":
		return exitConflict, "another process goes on with the thread; `selvage thread show` tells which"
	case "invalid", "too_large", "cursor_expired":
		return exitUsage, ""
	case "unavailable":
		return exitUnreachable, "`selvage doctor` looks for the reason"
	case "corrupt":
		return exitCorrupt, "keep a copy of the file; `selvage thread verify ID` tells which threads are whole"
	case "unknown_outcome":
		return exitUnknown, "look at the thread before sending anything again: `selvage thread log ID`"
	case "timeout":
		return exitTimeout, ""
	case "cancelled":
		return exitInterrupted, ""
	default:
		return exitFailed, ""
	}
}

// classify turns any error into a failure.
func classify(err error) *failure {
	var known *failure
	if errors.As(err, &known) {
		copied := *known
		copied.err = err
		return &copied
	}
	var configured *settings.Error
	if errors.As(err, &configured) {
		return &failure{exit: exitUsage, class: "config", err: err, hint: configured.Hint, details: map[string]any{"where": configured.Where}}
	}
	var answered *model.Error
	if errors.As(err, &answered) {
		return classifyModel(answered, err)
	}
	class := selvage.Code(err)
	exit, hint := exits(class)
	return &failure{exit: exit, class: class, err: err, hint: hint, details: detailsOf(err)}
}

// classifyModel tells a refused key and an unreachable service from a failure
// of the model.
func classifyModel(e *model.Error, err error) *failure {
	f := &failure{exit: exitFailed, class: "model_" + string(e.Class), err: err, details: map[string]any{"class": e.Class}}
	switch {
	case e.Class != model.Quota && (e.Status == 401 || e.Status == 403):
		f.exit, f.class, f.hint = exitUnauthorised, "unauthorised", "check the API key; `selvage config show` tells where it comes from"
	case e.Class == model.Cancelled:
		f.exit, f.class = exitInterrupted, "cancelled"
	case e.Class == model.Quota:
		f.hint = "what was paid for, or granted for the day, is used up: see to the account, or choose another --model"
	case e.Class == model.RateLimited:
		f.hint = "the provider asks for patience; send it again later"
	case e.Class == model.Transient && e.Status == 0:
		f.exit, f.class, f.hint = exitUnreachable, "unavailable", "check the network and the address of the provider"
	}
	if e.Status != 0 {
		f.details["status"] = e.Status
	}
	return f
}

// detailsOf are the facts that the root's typed errors carry.
func detailsOf(err error) map[string]any {
	var conflict *selvage.ConflictError
	if errors.As(err, &conflict) {
		return map[string]any{"thread": conflict.Thread, "expected": conflict.Expected, "actual": conflict.Actual}
	}
	var invalid *selvage.InvalidError
	if errors.As(err, &invalid) {
		return map[string]any{"field": invalid.Field, "reason": invalid.Reason}
	}
	var fenced *selvage.FencedError
	if errors.As(err, &fenced) {
		return map[string]any{"thread": fenced.Thread, "held": fenced.Held, "actual": fenced.Actual}
	}
	var busy *selvage.BusyError
	if errors.As(err, &busy) {
		return map[string]any{"thread": busy.Thread, "owner": busy.Owner.String(), "until": busy.Until}
	}
	return nil
}

// failureDocument is a failure in JSON.
type failureDocument struct {
	Error struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Hint    string         `json:"hint"`
		Details map[string]any `json:"details,omitempty"`
		Notes   []string       `json:"notes,omitempty"` // what was told before it failed
	} `json:"error"`
}

// fail tells err on stderr and returns the exit code. What names the command,
// "thread show".
func (a *app) fail(ctx context.Context, what string, err error) int {
	if brokenPipe(err) {
		return exitOK // whoever read stdout has seen enough
	}
	f := classify(err)
	if f.told {
		return f.exit
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && f.exit == exitInterrupted {
		f.err = errors.New("interrupted")
	}
	message := oneLine(f.err.Error())
	// Hints are written for the plain program.
	f.hint = strings.ReplaceAll(f.hint, "`selvage ", "`"+a.name+" ")
	if what != "" {
		message = what + ": " + message
	}
	if a.wantsJSON() {
		var doc failureDocument
		doc.Error.Notes, a.told = a.told, nil
		doc.Error.Code, doc.Error.Message, doc.Error.Hint, doc.Error.Details = f.class, message, f.hint, f.details
		a.err.json(&doc)
		return f.exit
	}
	a.err.line("%s %s", a.err.style.red(a.name+":"), message)
	if f.hint != "" {
		a.err.line("%s %s", a.err.style.dim("hint:"), f.hint)
	}
	return f.exit
}

// oneLine keeps a message on one line and free of what could steer a terminal.
func oneLine(text string) string {
	return clean(strings.Join(strings.Fields(text), " "))
}
