package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// Arguments of a decision are held against what the tool takes, in a process
// that has no tools, and bad ones are not recorded.
func TestDecidedArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"prod"}`)
	version := load(t, store, "t").Thread.Version
	for arguments, want := range map[string]string{
		`{"to":7}`:           "/to: got number, want string",
		`{}`:                 "missing property 'to'",
		`{"to":"x","by":""}`: "additional properties 'by' not allowed",
		`{"to":"x","to":""}`: "to",
		`["x"]`:              "not a JSON object",
	} {
		d := selvage.Decision{Action: selvage.DecisionResume, Arguments: json.RawMessage(arguments)}
		if _, err := runner.Decide(t.Context(), store, waits.RunID, d, ""); !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("arguments %s: %v, want %s", arguments, err, want)
		}
	}
	if v := load(t, store, "t").Thread.Version; v != version {
		t.Errorf("refused decisions made version %d", v)
	}
	decide(t, store, waits.RunID, selvage.Decision{Action: selvage.DecisionResume, Arguments: json.RawMessage(`{"to":"test"}`)}, "")
	result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	if err != nil || result.Text != "Done: deployed to test" {
		t.Errorf("resumed: %+v, %v", result, err)
	}
}

// A schema that is too long for a ticket stays behind, and arguments are checked
// when the call goes on.
func TestLongSchemaStaysBehind(t *testing.T) {
	t.Parallel()
	for name, lengths := range map[string][2]int{"long schema": {17 << 10, 0}, "long details": {10 << 10, 60 << 10}, "both fit": {10 << 10, 10 << 10}} {
		store, ran := newSpy(), &atomic.Int32{}
		wordy := &described{Tool: gated(selvage.EffectNone, ran), more: lengths[0], details: lengths[1]}
		opts := runner.Options{Store: store, Tools: []tool.Tool{wordy}}
		waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"prod"}`)
		d := selvage.Decision{Action: selvage.DecisionResume, Arguments: json.RawMessage(`{"to":7}`)}
		_, err := runner.Decide(t.Context(), store, waits.RunID, d, "")
		if travels := name == "both fit"; travels != errors.Is(err, selvage.ErrInvalid) || !travels && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
		if err != nil || !strings.Contains(result.Text, "/to: got number, want string") || ran.Load() != 0 {
			t.Errorf("%s: resumed: %+v, %v", name, result, err)
		}
	}
}

// described is a tool of which more is said than of another.
type described struct {
	tool.Tool
	more, details int // bytes
}

func (d *described) Spec() selvage.ToolSpec {
	spec := d.Tool.Spec()
	spec.Parameters = json.RawMessage(strings.Replace(string(spec.Parameters), "{", `{"description":"`+strings.Repeat("x", d.more)+`",`, 1))
	return spec
}

func (d *described) Gate(context.Context, *tool.Call) error {
	return tool.Suspend(selvage.Ticket{Message: strings.Repeat("y", d.details)})
}
