package runner

import (
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
)

// Result is what a run came to.
type Result struct {
	ThreadID selvage.ThreadID
	RunID    selvage.RunID
	Outcome  selvage.Outcome // zero while the run waits
	// Text is the model's last answer, if the run completed, or was stopped by
	// a rule after it.
	Text    string
	Usage   selvage.Usage
	Cost    selvage.Money
	Steps   int             // answers of the model
	Version selvage.Version // of the thread when the run ended, or began to wait
	// Waiting is what the run waits for; nil if it is over. Tickets are its calls that wait for a decision.
	Waiting *selvage.Waiting
	Tickets []Question
	// Replayed reports that the run had ended before: nothing was run now.
	Replayed bool
}

// FailedError reports a run that failed or was cancelled, and whose end is
// recorded. It matches what caused it.
type FailedError struct {
	ThreadID selvage.ThreadID
	RunID    selvage.RunID
	Outcome  selvage.Outcome
	Err      error // the cause; nil if it is no longer known
}

func (e *FailedError) Error() string {
	text := fmt.Sprintf("run %q of thread %q %s", e.RunID, e.ThreadID, e.Outcome.Kind)
	switch {
	case e.Outcome.Kind == selvage.OutcomeCancelled && errors.As(e.Err, new(*CancelledError)):
		if e.Outcome.Detail == "" {
			return text
		}
		return text + ": " + e.Outcome.Detail
	case e.Err != nil:
		return text + ": " + e.Err.Error()
	case e.Outcome.Detail != "":
		return text + ": " + e.Outcome.Detail
	case e.Outcome.Code != "":
		return text + ": " + e.Outcome.Code
	}
	return text
}

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// StateError reports a checkpoint that the store did not confirm, which ends
// the run. It matches the store's error. If nothing wraps it, not even the end
// of the run is known to be recorded; [Runner.Recover] will see to it.
type StateError struct {
	ThreadID selvage.ThreadID
	RunID    selvage.RunID
	Reason   selvage.Reason // of the change that was not confirmed
	Err      error
}

func (e *StateError) Error() string {
	return fmt.Sprintf("record %s of run %q: %v", e.Reason, e.RunID, e.Err)
}

// Unwrap returns the store's error.
func (e *StateError) Unwrap() error { return e.Err }
