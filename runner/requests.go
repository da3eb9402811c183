package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// What others ask of an open run stands in the state of its thread, under a
// key of its own, until the run has taken it up or the next one is prepared.
// Each request has a place of its own, so that no two contradict each other.
var cancelAt = state.At(state.RunKey, "cancel")

// decisionAt is where a decision waits for the call or ticket it is about.
func decisionAt(target string) state.Pointer { return state.At(state.RunKey, "decisions", target) }

// signalsAt is where signals of a name wait, each under an id that sorts them
// by when they came.
func signalsAt(name string) state.Pointer { return state.At(state.RunKey, "signals", name) }

// cancelRequest asks for the end of a run.
type cancelRequest struct {
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// CancelledError is why a run ends that somebody cancelled, or of which
// somebody aborted a call. It matches [context.Canceled].
type CancelledError struct {
	Code   string // [CodeDenied], or "" if the run as a whole was cancelled
	Reason string
	By     string // who, if that is known
}

// wasCancelled begins the error of a run that was cancelled as a whole. That it
// was is the kind of its outcome, of which the detail only says why.
const wasCancelled = "the run was cancelled"

func (e *CancelledError) Error() string {
	what := wasCancelled
	if e.Code == CodeDenied {
		what = "denied"
	}
	if e.By != "" {
		what += " by " + e.By
	}
	if e.Reason != "" {
		what += ": " + e.Reason
	}
	return what
}

// Is reports whether target is [context.Canceled].
func (e *CancelledError) Is(target error) bool { return target == context.Canceled }

// outcome is how a run ends that this ended.
func (e *CancelledError) outcome() selvage.Outcome {
	return selvage.Outcome{Kind: selvage.OutcomeCancelled, Code: e.Code, Detail: strings.TrimPrefix(strings.TrimPrefix(e.Error(), wasCancelled), ": ")}
}

// endRequested finds in a thread's state and open calls that the open run is
// to end, or nil.
func endRequested(doc state.Document, calls []selvage.Call) *CancelledError {
	if v, ok := doc.Get(cancelAt); ok {
		var asked cancelRequest
		_ = v.Decode(&asked) // unintelligibly asked is asked
		return &CancelledError{Reason: asked.Reason}
	}
	for i := range calls {
		if calls[i].Status != selvage.CallResuming {
			continue
		}
		if d, err := calls[i].Decided(); err == nil && d != nil && d.Action == selvage.DecisionAbort {
			return denial(d)
		}
	}
	return nil
}

// denial is the end of a run of which a call was aborted.
func denial(d *selvage.Decision) *CancelledError {
	return &CancelledError{Code: CodeDenied, Reason: d.Reason, By: d.By}
}

// asked decodes what stands at a place, and reports whether anything does.
func asked[T any](doc state.Document, at state.Pointer) (found T, ok bool, err error) {
	v, ok := doc.Get(at)
	if !ok {
		return found, false, nil
	}
	if err := v.Decode(&found); err != nil {
		return found, true, fmt.Errorf("%s: %w (%w)", at, err, selvage.ErrCorrupt)
	}
	return found, true, nil
}

// request is the patch that puts something at a place.
func request(at state.Pointer, what any) ([]selvage.StatePatch, error) {
	data, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	v, err := state.ParseValue(data)
	if err != nil {
		return nil, err
	}
	return []selvage.StatePatch{{Source: sourceRequest, Ops: state.Patch{state.Set(at, v)}}}, nil
}
