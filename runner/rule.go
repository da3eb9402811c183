package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/state"
)

// Codes of outcomes that rules give if they name none.
const (
	CodeRule    = "rule"    // failed or cancelled by a rule
	CodeSkipped = "skipped" // completed: a rule left out the rest
)

// EventRule tells that a rule of a run held; Note is its name and what it says.
const EventRule selvage.EventKind = "rule"

// ruled is what a rule decided in the middle of a turn.
type ruled struct {
	result *rules.Result
	cause  error // what the rule is about; may be nil
}

func (e *ruled) Error() string {
	text := fmt.Sprintf("rule %q says %s", e.result.Rule, e.result.Do)
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *ruled) Unwrap() error { return e.cause }

// rule asks the rules about an event, tells those that hold, and returns what
// decides; nil if nothing does. The built-in rules are asked with those of the
// user; what they say is also what the run does without any.
func (x *run) rule(ctx context.Context, event rules.Event, facts map[string]any) *rules.Result {
	if !x.rules.own.Has(event) {
		return nil
	}
	d := x.rules.all.Decide(event, x.facts(event, facts))
	for i := range d.Told {
		x.tellRule(ctx, event, &d.Told[i])
	}
	if r := d.Result; r != nil {
		if r.Do == rules.Suspend && x.excused {
			x.excused = false // somebody had it go on
			return nil
		}
		if r.Layer != rules.BuiltInLayer || r.Do != rules.Retry { // that is told with the attempt
			x.tellRule(ctx, event, r)
		}
	}
	return d.Result
}

func (x *run) tellRule(ctx context.Context, event rules.Event, r *rules.Result) {
	x.log.InfoContext(ctx, "rule", "rule", r.Rule, "event", event, "do", r.Do, "message", r.Message(""), "run", x.id)
	e := x.event(EventRule)
	if e.Note = r.Rule; r.Message("") != "" {
		e.Note += ": " + r.Message("")
	}
	x.out.emit(e)
}

// facts is what rules are asked about: the run, its state, and what the event
// comes with.
func (x *run) facts(event rules.Event, more map[string]any) state.Document {
	all := map[string]any{"event": event, "run": map[string]any{"id": x.id, "thread_id": x.thread, "agent_id": x.r.opts.AgentID,
		"model": x.spec.Model, "step": x.step, "steps": x.answers, "usage": x.usage, "cost": x.cost.String(), "resumed": x.resumed,
		"elapsed": x.r.opts.Now().Sub(x.begun).Seconds()}}
	if x.reply != nil {
		calls := make([]string, len(x.reply.ToolCalls))
		for i := range calls {
			calls[i] = x.reply.ToolCalls[i].Name
		}
		all["reply"] = map[string]any{"text": x.reply.Text(), "calls": calls}
	}
	for key, value := range more {
		all[key] = value
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return state.Document{}
	}
	doc, err := state.Parse(raw)
	if err != nil {
		return state.Document{}
	}
	if whole, err := (state.Patch{state.Set(state.At("state"), x.doc.Root())}).Apply(doc); err == nil {
		return whole
	}
	return doc
}

// obey carries out what a rule decided. It returns an outcome if the run is
// over, and a result if it waits.
func (x *run) obey(ctx context.Context, r *rules.Result, otherwise string) (*selvage.Outcome, *Result, error) {
	over := func(kind selvage.OutcomeKind, code string) (*selvage.Outcome, *Result, error) {
		if named := r.Params["code"]; named != "" {
			code = named
		}
		return &selvage.Outcome{Kind: kind, Code: code, Detail: r.Message(otherwise)}, nil, nil
	}
	switch r.Do {
	case rules.Fail:
		return over(selvage.OutcomeFailed, CodeRule)
	case rules.Abort:
		return over(selvage.OutcomeCancelled, CodeRule)
	case rules.Skip:
		return over(selvage.OutcomeCompleted, CodeSkipped)
	case rules.Suspend:
		if x.stateless {
			return over(selvage.OutcomeStopped, CodeRule)
		}
		result, err := x.park(ctx, &selvage.Waiting{Reason: r.Reason(), Message: r.Message(otherwise)})
		return nil, result, err
	}
	return nil, nil, nil
}

// betweenSteps asks the rules about the step that is over and the one that is
// to begin.
func (x *run) betweenSteps(ctx context.Context) (*selvage.Outcome, *Result, error) {
	events := []rules.Event{rules.BeforeStep}
	switch {
	case x.answers == 0 && !x.resumed:
		events = []rules.Event{rules.RunStarted, rules.BeforeStep}
	case x.answers > 0:
		events = []rules.Event{rules.AfterStep, rules.BeforeStep}
	}
	for _, event := range events {
		r := x.rule(ctx, event, nil)
		if r == nil {
			continue
		}
		if outcome, result, err := x.obey(ctx, r, fmt.Sprintf("rule %q at %s", r.Rule, event)); outcome != nil || result != nil || err != nil {
			return outcome, result, err
		}
	}
	return nil, nil, nil
}

// ask has the model answer. Where a rule has the run go on after an error, the
// model is asked again with what that rule says. The error is a [ruled] if a
// rule decided what becomes of the run.
func (x *run) ask(ctx context.Context, offer []selvage.ToolSpec) (*model.Response, error) {
	x.failures = 0
	for asked := 1; ; asked++ {
		response, err := x.infer(ctx, offer)
		var r *ruled
		if !errors.As(err, &r) || r.result.Do != rules.Continue {
			return response, err
		}
		if asked >= x.r.opts.Retry.Attempts {
			return nil, r.cause
		}
		x.say(selvage.Message{Role: selvage.RoleSystem, Visibility: selvage.VisibleInternal, Step: x.step,
			Content: selvage.Text("[" + r.result.Message("The request before this one failed.") + "]")})
		if err := x.checkpointPending(ctx); err != nil {
			return nil, err
		}
		if sleep(ctx, x.r.opts.Retry.Initial) != nil {
			return nil, ended(ctx)
		}
	}
}

// atLimit asks the rules about a limit that was reached. Whatever they say, the
// run does not go on past it.
func (x *run) atLimit(ctx context.Context, limit *selvage.Waiting) (*selvage.Outcome, *Result, error) {
	r := x.rule(ctx, rules.Limit, map[string]any{"limit": map[string]any{"code": limit.LimitCode, "current": limit.Current, "max": limit.Max}})
	if r != nil && (r.Do == rules.Fail || r.Do == rules.Abort) {
		return x.obey(ctx, r, limit.Message)
	}
	if r != nil {
		limit.Message = r.Message(limit.Message)
	}
	if r == nil || r.Do == rules.Escalate {
		escalate(limit, r)
	}
	result, err := x.park(ctx, limit)
	return nil, result, err
}

// pressed asks the rules about a window of which much is used, and reports
// whether it is to be compacted.
func (x *run) pressed(ctx context.Context, p pressure) (bool, error) {
	byDefault := x.context.rules.Summarise && p.ratio >= rules.HighPressure && !x.context.steady
	if !x.rules.own.Has(rules.ContextPressure) {
		return byDefault, nil
	}
	r := x.rule(ctx, rules.ContextPressure, map[string]any{"pressure": map[string]any{"ratio": p.ratio, "tokens": p.tokens, "room": p.room,
		"messages": p.count, "rising": x.context.rules.Summarise && !x.context.steady}})
	switch {
	case r == nil, r.Do == rules.Skip, r.Do == rules.Continue:
		return false, nil
	case r.Do == rules.Compact:
		return !x.context.steady, nil
	}
	return false, &ruled{r, nil}
}

// atEnd asks the rules about a run whose model has nothing more to do.
func (x *run) atEnd(ctx context.Context, outcome *selvage.Outcome) *selvage.Outcome {
	r := x.rule(ctx, rules.Completed, map[string]any{"outcome": outcome})
	if r != nil && r.Do == rules.Fail {
		failed, _, _ := x.obey(ctx, r, fmt.Sprintf("rule %q", r.Rule)) // it has an outcome
		return failed
	}
	return outcome
}

// decided carries out what a rule decided in the middle of a turn, if err is
// that.
func (x *run) decided(ctx context.Context, err error) (*selvage.Outcome, *Result, error) {
	var r *ruled
	if !errors.As(err, &r) {
		return nil, nil, err
	}
	return x.obey(ctx, r.result, r.Error())
}
