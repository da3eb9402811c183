package builtin_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

// A question waits for a person before anything is begun, and its answer is
// the result.
func TestAskUser(t *testing.T) {
	t.Parallel()
	b := named(t, "ask_user", builtin.Options{})
	c := &tool.Call{Arguments: json.RawMessage(`{"question":"Red or blue?","options":["red","blue"]}`)}
	_, ran := b.Run(t.Context(), c)
	for from, err := range map[string]error{"gate": b.Gate(t.Context(), c), "run": ran} {
		var s *tool.Suspended
		if !errors.As(err, &s) {
			t.Fatalf("%s: %v", from, err)
		}
		if s.Ticket.Reason != selvage.WaitUserInput || s.Ticket.Mode != selvage.ResumeResult || s.Ticket.Message != "Red or blue?" ||
			string(s.Ticket.Details) != `{"question":"Red or blue?","options":["red","blue"]}` {
			t.Errorf("%s: %+v", from, s.Ticket)
		}
	}
	blank := &tool.Call{Arguments: json.RawMessage(`{"question":" "}`)}
	var s *tool.Suspended
	if err := b.Gate(t.Context(), blank); err == nil || errors.As(err, &s) {
		t.Errorf("a person is asked nothing: %v", err)
	}
	if err := b.Check(&tool.Call{Arguments: json.RawMessage(`{"options":["red"]}`)}); err == nil {
		t.Error("a call without a question was let pass")
	}
}
