package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

type askIn struct {
	Question string   `json:"question" jsonschema:"what to ask the person; one question"`
	Options  []string `json:"options,omitempty" jsonschema:"answers to offer; the person may still say something else"`
}

// answerSchema is what an answer of a person is.
var answerSchema = json.RawMessage(`{"type":"string"}`)

// askUser asks a person: the call waits, and the answer is its result.
func askUser() tool.Tool {
	ask := func(in askIn) error {
		if strings.TrimSpace(in.Question) == "" {
			return errors.New("the question is empty: say what to ask")
		}
		details, err := json.Marshal(in)
		if err != nil {
			return err
		}
		return tool.Suspend(selvage.Ticket{Reason: selvage.WaitUserInput, Message: in.Question,
			Details: details, Schema: answerSchema, Mode: selvage.ResumeResult})
	}
	return tool.Func("ask_user", "Asks the person you work for a question and waits for the answer.",
		func(_ context.Context, in askIn) (string, error) { return "", ask(in) },
		tool.Options{Effect: selvage.EffectNone, Gate: func(_ context.Context, c *tool.Call) error {
			var in askIn
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return err
			}
			return ask(in)
		}})
}
