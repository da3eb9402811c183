package runner

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// completeDecision fills in what a decision leaves out, or refuses it.
func completeDecision(d *selvage.Decision) error {
	bad := func(field, reason string) error { return &selvage.InvalidError{Field: field, Reason: reason} }
	switch d.Action {
	case selvage.DecisionResume:
	case selvage.DecisionCancel, selvage.DecisionAbort:
		if d.Result != nil || d.Arguments != nil {
			return bad("action", fmt.Sprintf("a decision to %s has neither result nor arguments", d.Action))
		}
	default:
		return bad("action", fmt.Sprintf("%q is not an action; use resume, cancel or abort", d.Action))
	}
	switch {
	case d.Result != nil && d.Arguments != nil:
		return bad("result", "a decision gives the result of the call or the arguments to run it with, not both")
	case d.Result != nil && !json.Valid(d.Result):
		return bad("result", "it is not JSON")
	case d.Arguments != nil && !isObject(d.Arguments):
		return bad("arguments", "they are not a JSON object")
	case len(d.Result)+len(d.Arguments)+len(d.Reason)+len(d.By) > maxRequestBytes:
		return fmt.Errorf("a decision exceeds %d bytes: %w", maxRequestBytes, selvage.ErrTooLarge)
	}
	if d.ID == "" {
		d.ID = selvage.NewID()
	}
	if d.At.IsZero() {
		d.At = time.Now()
	}
	d.At = d.At.UTC().Truncate(selvage.TimePrecision)
	d.Reason, d.By = strings.ToValidUTF8(d.Reason, "\uFFFD"), strings.ToValidUTF8(d.By, "\uFFFD")
	return nil
}

func isObject(data json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(data, &object) == nil && object != nil
}

// checkDecision holds a decision against the ticket it answers.
func checkDecision(d *selvage.Decision, t *selvage.Ticket) error {
	if d.Action != selvage.DecisionResume {
		return nil
	}
	field, value := "result", d.Result
	if d.Arguments != nil {
		field, value = "arguments", d.Arguments
	}
	if value == nil {
		switch {
		case t.Mode == selvage.ResumeResult:
			return &selvage.InvalidError{Field: "result", Reason: fmt.Sprintf("ticket %s wants the result of the call", t.ID)}
		case t.Mode == selvage.ResumeArguments:
			return &selvage.InvalidError{Field: "arguments", Reason: fmt.Sprintf("ticket %s wants the arguments to run the call with", t.ID)}
		}
		return nil
	}
	if err := satisfies(field, "the schema of ticket "+t.ID, t.Schema, value); err != nil || d.Arguments == nil {
		return err
	}
	return satisfies(field, "what the tool takes", t.ArgumentsSchema, value)
}

// satisfies holds a value of a decision against a schema, which may be none.
func satisfies(field, what string, schema, value json.RawMessage) error {
	faults := tool.Validate(schema, value)
	if len(faults) == 0 {
		return nil
	}
	text := make([]string, len(faults))
	for i, f := range faults {
		text[i] = strings.TrimPrefix(fmt.Sprintf("%s: %s", f.Path, f.Reason), ": ")
	}
	return &selvage.InvalidError{Field: field, Reason: fmt.Sprintf("it does not satisfy %s: %s", what, strings.Join(text, "; "))}
}
