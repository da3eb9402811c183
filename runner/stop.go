package runner

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Codes of outcomes of runs that a rule of [selvage.StopRules] stopped.
const (
	CodeTimeout           = "timeout"
	CodeTokenBudget       = "token_budget"
	CodeConsecutiveErrors = "consecutive_errors"
	CodeToolCalled        = "tool_called"
	CodeContentMatched    = "content_matched"
	CodeLoopDetected      = "loop_detected"
)

// The bounds of stop rules.
const (
	maxStopRules   = 100  // of one kind
	maxStopPattern = 1000 // bytes of a regular expression
	maxStopTurns   = 1000 // turns that are looked back at
)

// stopper is the stop rules of a run, ready to be asked, and what of the run's
// past they need. The zero stopper never stops.
type stopper struct {
	rules    selvage.StopRules
	contents []*regexp.Regexp
	failing  int      // turns in a row until now all of whose calls failed
	turns    []string // the calls of the last turns, each in one text
	over     int      // the turn that failing counts last
}

// newStopper checks stop rules. The error matches [selvage.ErrInvalid].
func newStopper(rules *selvage.StopRules) (stopper, error) {
	var s stopper
	if rules == nil {
		return s, nil
	}
	s.rules = *selvage.RunSpec{Stop: rules}.Clone().Stop
	bad := func(field, format string, args ...any) (stopper, error) {
		return stopper{}, &selvage.InvalidError{Field: "Stop." + field, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case s.rules.Turns != nil && *s.rules.Turns < 1:
		return bad("Turns", "a run that a rule stops has taken a turn; Limits allow none")
	case s.rules.Timeout != nil && *s.rules.Timeout <= 0:
		return bad("Timeout", "a run takes some time; leave it nil for no end")
	case s.rules.Errors != nil && (*s.rules.Errors < 1 || *s.rules.Errors > maxStopTurns):
		return bad("Errors", "it is a number from 1 to %d", maxStopTurns)
	case s.rules.Loop != 0 && (s.rules.Loop < 2 || s.rules.Loop > maxStopTurns):
		return bad("Loop", "a loop takes two turns at least, so it is a number from 2 to %d", maxStopTurns)
	case len(s.rules.Tools) > maxStopRules || len(s.rules.Contents) > maxStopRules:
		return bad("Tools", "there are more than %d", maxStopRules)
	}
	for i, text := range s.rules.Contents {
		pattern, err := regexp.Compile(text)
		if err != nil || text == "" || len(text) > maxStopPattern {
			return bad(fmt.Sprintf("Contents[%d]", i), "%.80q is not a regular expression of 1 to %d bytes", text, maxStopPattern)
		}
		s.contents = append(s.contents, pattern)
	}
	return s, nil
}

// answered asks the rules about an answer of the model, by what the run has
// used with it. What bounds how long a run goes on says nothing of an answer
// that is its last anyway.
func (s *stopper) answered(reply *selvage.Message, answers int, tokens int64) *selvage.Stop {
	r, goesOn := &s.rules, len(reply.ToolCalls) > 0
	called := slices.IndexFunc(reply.ToolCalls, func(c selvage.ToolCall) bool { return slices.Contains(r.Tools, c.Name) })
	text := reply.Text()
	matched := slices.IndexFunc(s.contents, func(p *regexp.Regexp) bool { return p.MatchString(text) })
	again := s.repeats(reply.ToolCalls)
	switch {
	case goesOn && r.Turns != nil && answers >= *r.Turns:
		return stopFor(CodeMaxTurns, "the run has taken %d turns", answers)
	case goesOn && r.Tokens != nil && tokens >= *r.Tokens:
		return stopFor(CodeTokenBudget, "the run has used %d tokens", tokens)
	case called >= 0:
		return stopFor(CodeToolCalled, "the model called %s", reply.ToolCalls[called].Name)
	case matched >= 0:
		return stopFor(CodeContentMatched, "the answer matches %s", s.contents[matched])
	case again:
		return stopFor(CodeLoopDetected, "the model made the same calls twice in %d turns", r.Loop)
	}
	return nil
}

func stopFor(code, format string, args ...any) *selvage.Stop {
	return &selvage.Stop{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// repeats reports whether one of the last turns made the same calls, and keeps
// these for the turns that follow.
func (s *stopper) repeats(calls []selvage.ToolCall) bool {
	if s.rules.Loop == 0 {
		return false
	}
	turn := callsText(calls)
	again := turn != "" && slices.Contains(s.turns, turn)
	s.turns = append(s.turns, turn)
	if extra := len(s.turns) - (s.rules.Loop - 1); extra > 0 {
		s.turns = slices.Delete(s.turns, 0, extra)
	}
	return again
}

// recorded is the rules as a run records them: nil if there are none.
func (s *stopper) recorded() *selvage.StopRules {
	if reflect.ValueOf(s.rules).IsZero() {
		return nil
	}
	rules := s.rules
	return &rules
}

// worked takes in that the calls of a turn are answered, and asks the rule
// about errors: enough turns in a row came to nothing.
func (s *stopper) worked(calls, failed int) *selvage.Stop {
	if calls == 0 || failed < calls {
		s.failing = 0
		return nil
	}
	s.failing++
	if s.rules.Errors == nil || s.failing < *s.rules.Errors {
		return nil
	}
	return stopFor(CodeConsecutiveErrors, "all calls failed in %d turns in a row", s.failing)
}

// callsText is the calls of a turn in one text that is the same for the same
// calls, in whatever order they and the keys of their arguments come.
func callsText(calls []selvage.ToolCall) string {
	texts := make([]string, len(calls))
	for i := range calls {
		arguments := calls[i].Arguments
		if v, err := state.ParseValue(arguments); err == nil {
			arguments = v.AppendCanonical(nil)
		}
		texts[i] = calls[i].Name + " " + hex.EncodeToString(arguments)
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}

// weigh asks the stop rules about the answer that was just given. A stop that
// a hook asked for goes before them.
func (x *run) weigh(reply *selvage.Message) {
	stop := x.stopper.answered(reply, x.answers, x.usage.InputTokens+x.usage.OutputTokens)
	if x.stop == nil {
		x.stop = stop
	}
}

// turnOver asks the stop rules, once, about the turn whose calls are answered
// as far as they can be now.
func (x *run) turnOver() {
	if x.stopper.rules.Errors == nil || x.stopper.over == x.answers {
		return
	}
	messages := x.messages()
	said := lastAnswer(messages, x.id, x.answers)
	if said < 0 {
		return
	}
	x.stopper.over = x.answers
	calls, failed := outcomes(messages[said:])
	if stop := x.stopper.worked(calls, failed); x.stop == nil {
		x.stop = stop
	}
}

// outcomes counts the calls of the answer that messages begin with, and those
// of them that failed. A call without a result did not fail yet.
func outcomes(messages []selvage.Message) (calls, failed int) {
	for i := range messages[0].ToolCalls {
		id := messages[0].ToolCalls[i].ID
		if slices.ContainsFunc(messages, func(m selvage.Message) bool {
			return m.Role == selvage.RoleTool && m.ToolCallID == id && len(m.Metadata[MetadataFailed]) > 0
		}) {
			failed++
		}
	}
	return len(messages[0].ToolCalls), failed
}

// recall reads from the log what the stop rules need of the past of a run that
// another process began. What the last turn came to is not part of it.
func (x *run) recall(ctx context.Context) error {
	deep := x.stopper.rules.Loop
	if e := x.stopper.rules.Errors; e != nil {
		deep = max(deep, *e)
	}
	if deep == 0 || x.answers == 0 {
		return nil
	}
	turns, err := x.lastTurns(ctx, deep)
	if err != nil {
		return fmt.Errorf("read the last turns for the stop rules: %w", err)
	}
	for i, turn := range turns {
		x.stopper.repeats(turn[0].ToolCalls)
		if i < len(turns)-1 {
			x.stopper.worked(outcomes(turn))
		}
	}
	return nil
}

// lastTurns returns the last turns of the run, each an answer with the results
// that follow it, in order.
func (x *run) lastTurns(ctx context.Context, most int) ([][]selvage.Message, error) {
	limit := selvage.MaxPage
	query := selvage.MessageQuery{At: x.version, RunID: x.id, Order: selvage.Descending, Limit: &limit}
	var turns [][]selvage.Message
	var results []selvage.Message
	for {
		page, err := x.store.Messages(ctx, x.thread, query)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Items {
			switch {
			case m.Role == selvage.RoleTool:
				results = append(results, m)
			case m.Role == selvage.RoleAssistant && m.Step > 0:
				turns, results = append(turns, append([]selvage.Message{m}, results...)), nil
			}
			if len(turns) == most {
				break
			}
		}
		if len(turns) == most || page.Next == "" {
			slices.Reverse(turns)
			return turns, nil
		}
		query.Cursor = page.Next
	}
}

// timeoutError is why a run is interrupted that a stop rule gives no more time,
// and with it what it spawned.
type timeoutError struct{ run selvage.RunID }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("run %s has taken as long as it may", e.run)
}

// outOfTime reports whether it is the time of this run that a context ended for.
func (x *run) outOfTime(ctx context.Context) bool {
	var timeout *timeoutError
	return errors.As(ended(ctx), &timeout) && timeout.run == x.id
}

// untilTimeout bounds a context by the timeout of the run, which another
// process may have begun.
func (x *run) untilTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if x.stopper.rules.Timeout == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, *x.stopper.rules.Timeout-x.r.opts.Now().Sub(x.begun), &timeoutError{x.id})
}

// overdue reports whether the run has taken as long as it may.
func (x *run) overdue() bool {
	timeout := x.stopper.rules.Timeout
	return timeout != nil && x.r.opts.Now().Sub(x.begun) >= *timeout
}

// timedOut is the outcome of a run whose timeout interrupted it.
func (x *run) timedOut() selvage.Outcome {
	return selvage.Outcome{Kind: selvage.OutcomeStopped, Code: CodeTimeout, Detail: fmt.Sprintf("the run may take %s", *x.stopper.rules.Timeout)}
}
