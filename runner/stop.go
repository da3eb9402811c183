package runner

import (
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
)

// errTimeout is why a run is interrupted that has taken as long as it may.
var errTimeout = errors.New("the run has taken as long as it may")

// tripped is the outcome of a stop rule that holds between two turns, or nil.
func (x *run) tripped() *selvage.Outcome {
	if x.spec.Stop == nil {
		return nil
	}
	rules := x.spec.Stop
	switch tokens := x.usage.InputTokens + x.usage.OutputTokens; {
	case rules.Turns != nil && x.answers >= *rules.Turns:
		return trip(CodeMaxTurns, "the run may take %d turns", *rules.Turns)
	case rules.Tokens != nil && tokens >= *rules.Tokens:
		return trip(CodeMaxTokens, "the run may use %d tokens and has used %d", *rules.Tokens, tokens)
	case rules.Timeout != nil && x.r.opts.Now().Sub(x.begun) >= *rules.Timeout:
		return x.outOfTime()
	}
	return nil
}

// outOfTime is the outcome of a run that has taken as long as it may.
func (x *run) outOfTime() *selvage.Outcome {
	return trip(CodeDuration, "the run may take %s", *x.spec.Stop.Timeout)
}

// trip is the outcome of a run that a rule stopped.
func trip(code, format string, args ...any) *selvage.Outcome {
	return &selvage.Outcome{Kind: selvage.OutcomeStopped, Code: code, Detail: fmt.Sprintf(format, args...)}
}
