package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

func (a *app) runAnswerCommand() *cobra.Command {
	d := &deciding{app: a, decision: selvage.Decision{Action: selvage.DecisionResume}}
	d.fits = func(t *ticketDocument) bool {
		return t.Child == nil && t.Signal == "" && (t.Reason == selvage.WaitUserInput || t.Mode == selvage.ResumeResult)
	}
	cmd := &cobra.Command{
		Use: "answer RUN TEXT", Short: "Answer what a run asks, and let it go on", Args: exactly(2, "the id of a run and the answer"),
		Long: `Answer what the model asked. The text is the result of the call that asks; where
the question wants JSON of a certain shape, the text is that JSON.`,
		Example: `  selvage run answer RUN "the blue one"`,
	}
	d.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkText(args[1]); err != nil {
			return err
		}
		return d.onRun(forChanging, func(ctx context.Context, store selvage.Store, run *selvage.Run) error {
			run, tickets, err := d.meant(ctx, store, run)
			if err != nil {
				return err
			}
			chosen, err := d.choose(run, tickets)
			if err != nil {
				return err
			}
			var schema json.RawMessage
			if len(chosen) > 0 {
				schema = chosen[0].Schema
			}
			if d.decision.Result, err = answerOf(args[1], schema); err != nil {
				return err
			}
			return d.decide(ctx, store, run)
		})(cmd, args)
	}
	return cmd
}

// answerOf is the JSON of an answer: the text itself, unless what is asked for
// is of another shape.
func answerOf(text string, schema json.RawMessage) (json.RawMessage, error) {
	answer, err := json.Marshal(text)
	if err == nil && len(schema) > 0 && len(tool.Validate(schema, answer)) > 0 && json.Valid([]byte(text)) {
		answer = []byte(text)
	}
	return answer, err
}
