package selvage

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The classes of errors. Every error of a [Store] matches exactly one of them,
// or a context error. Unless a method says otherwise, [ErrUnknownOutcome] and
// [ErrUnavailable] during a write leave its outcome unknown, [ErrCorrupt] says
// nothing about it, and all others mean that nothing was written.
var (
	ErrNotFound       = errors.New("not found")
	ErrAlreadyExists  = errors.New("already exists")
	ErrConflict       = errors.New("conflict")        // see [ConflictError] and [StaleError]
	ErrInvalid        = errors.New("invalid")         // see [InvalidError]
	ErrFenced         = errors.New("fenced")          // see [FencedError]
	ErrUnknownOutcome = errors.New("unknown outcome") // send the same set with the same id again
	ErrCorrupt        = errors.New("corrupt")         // see [CorruptError]
	ErrUnsupported    = errors.New("unsupported")
	ErrTooLarge       = errors.New("too large")
	ErrGone           = errors.New("gone") // deleted, compacted or erased
	ErrCursorExpired  = errors.New("cursor expired")
	ErrBusy           = errors.New("busy") // see [BusyError]
	ErrClosed         = errors.New("closed")
	ErrUnavailable    = errors.New("unavailable")
)

// codes are the wire names of the classes, in the order in which [Code] asks.
var codes = []struct {
	err  error
	code string
}{
	{ErrNotFound, "not_found"}, {ErrAlreadyExists, "already_exists"}, {ErrConflict, "conflict"},
	{ErrInvalid, "invalid"}, {ErrFenced, "fenced"}, {ErrUnknownOutcome, "unknown_outcome"},
	{ErrCorrupt, "corrupt"}, {ErrUnsupported, "unsupported"}, {ErrTooLarge, "too_large"},
	{ErrGone, "gone"}, {ErrCursorExpired, "cursor_expired"}, {ErrBusy, "busy"},
	{ErrClosed, "closed"}, {ErrUnavailable, "unavailable"},
	{context.DeadlineExceeded, "timeout"}, {context.Canceled, "cancelled"},
}

// Code returns the stable name of err's class for the wire and for scripts:
// "not_found", "conflict", ... It is "" for nil and "internal" for an error of
// no class.
func Code(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "internal"
}

// ConflictError reports an append whose [Precondition] no longer held. It
// matches [ErrConflict]; nothing was written.
type ConflictError struct {
	Thread   ThreadID
	Expected Version // what the caller held
	Actual   Version // what the store holds
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("thread %q is at version %d, not %d", e.Thread, e.Actual, e.Expected)
}

// Is reports whether target is [ErrConflict].
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// StaleError reports a write to something other than a thread, an entry of a
// [Memory] or a resource of a [Config], whose [Precondition] no longer held. It
// matches [ErrConflict]; nothing was written.
type StaleError struct {
	What     string  // "memory user:alice facts/name", "agent writer"
	Expected Version // what the caller held
	Actual   Version // what the store holds; 0: nothing
}

func (e *StaleError) Error() string {
	if e.Actual == 0 {
		return fmt.Sprintf("%s is not there, so it is not at version %d", e.What, e.Expected)
	}
	return fmt.Sprintf("%s is at version %d, not %d", e.What, e.Actual, e.Expected)
}

// Is reports whether target is [ErrConflict].
func (e *StaleError) Is(target error) bool { return target == ErrConflict }

// InvalidError reports input that breaks a rule. It matches [ErrInvalid];
// nothing was written.
type InvalidError struct {
	Field  string // which part of the input, "messages[2].role"; may be empty
	Reason string // the rule, for a person
}

func (e *InvalidError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}

// Is reports whether target is [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// CorruptError reports a version of a thread that is not what was appended. It
// matches [ErrCorrupt].
type CorruptError struct {
	Thread  ThreadID
	Version Version
	Reason  string // what does not fit, for a person
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("thread %q version %d: %s: %v", e.Thread, e.Version, e.Reason, ErrCorrupt)
}

// Is reports whether target is [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// FencedError reports a writer whose lease was taken over. It matches
// [ErrFenced]; nothing was written, and nothing this writer sends will be.
type FencedError struct {
	Thread ThreadID
	Held   int64 // the epoch the writer holds
	Actual int64 // the epoch the thread is at
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("thread %q was taken over: it is at epoch %d, this writer holds %d", e.Thread, e.Actual, e.Held)
}

// Is reports whether target is [ErrFenced].
func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// BusyError reports a thread whose lease somebody else holds. It matches
// [ErrBusy].
type BusyError struct {
	Thread ThreadID
	Owner  Owner
	Until  time.Time // when the lease runs out unless it is renewed
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("thread %q is in use by %s", e.Thread, e.Owner)
}

// Is reports whether target is [ErrBusy].
func (e *BusyError) Is(target error) bool { return target == ErrBusy }
