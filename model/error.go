package model

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Class is what a failure of a model means to whoever asked.
type Class string

// The classes.
const (
	RateLimited Class = "rate_limited" // the provider asks for patience: wait, then try again
	Transient   Class = "transient"    // nothing of the answer arrived: trying again may help
	Quota       Class = "quota"        // what was paid for is used up: only another model, or money, helps
	Permanent   Class = "permanent"    // the same request will fail again
	Cut         Class = "cut"          // the stream broke after part of the answer had arrived
	Cancelled   Class = "cancelled"    // the caller's context ended
)

// Retryable reports whether the same request may succeed when sent again.
func (c Class) Retryable() bool {
	return c == RateLimited || c == Transient || c == Cut
}

// Error is a failure of a model. It never holds a key or a header.
type Error struct {
	Class      Class
	RetryAfter time.Duration // how long the provider asks to wait; zero if it does not say
	Status     int           // of the HTTP response; zero if there was none
	Err        error         // the cause; never nil
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s model error (status %d): %v", e.Class, e.Status, e.Err)
	}
	return fmt.Sprintf("%s model error: %v", e.Class, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err: that of the [Error] in its chain,
// [Cancelled] for a bare context error, "" for nil. Any other error is
// [Permanent], since nothing says that trying again would help.
func ClassOf(err error) Class {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Class
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Cancelled
	default:
		return Permanent
	}
}

var errUnfinished = errors.New("the stream ended before the answer did")

// Broken returns the error of a stream that broke: class [Cut] if part of the
// answer had arrived, [Transient] if nothing had.
func Broken(output bool, cause error) *Error {
	if output {
		return &Error{Class: Cut, Err: cause}
	}
	return &Error{Class: Transient, Err: cause}
}

// Ended returns the error of an answer whose context has ended: class
// [Cancelled], matching both the context's error and its cause.
func Ended(ctx context.Context) *Error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &Error{Class: Cancelled, Err: err}
}
