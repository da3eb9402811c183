package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func (a *app) runApproveCommand() *cobra.Command {
	var args, result string
	d := &deciding{app: a, decision: selvage.Decision{Action: selvage.DecisionResume}}
	cmd := &cobra.Command{
		Use: "approve RUN", Short: "Let a call go on that waits, and its run with it", Args: exactly(1, "the id of a run"),
		Long: `Let a call go on that waits for a decision: as it is, with other arguments
(--args), or with a result in place of running it (--result). The decision is
recorded first. Then the run goes on here, if this host has what it is made of
and no other process leads it; otherwise it is told who can.

A call is decided once: approving it again changes nothing, and says so.`,
		Example: `  selvage run approve RUN
  selvage run approve RUN --ticket TICKET --args '{"command":"ls -l"}'
  selvage run approve RUN --result '"the line is there"'`,
	}
	d.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&d.every, "all", false, "every call of the run that waits for approval")
	f.StringVar(&args, "args", "", "run the call with these arguments, a `JSON` object")
	f.StringVar(&result, "result", "", "take this for the result of the call, any `JSON`, and do not run it")
	f.BoolVar(&d.early, "early", false, "decide on a --ticket that is yet to be asked for")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		switch given := cmd.Flags().Changed; {
		case given("args") && given("result"):
			return usage("leave one of them out", "--args and --result contradict each other")
		case given("args"):
			v, err := state.ParseValue([]byte(args))
			if err != nil || v.Kind() != state.KindObject {
				return usage(`for example --args '{"command":"ls -l"}'`, "--args: %q is not a JSON object", args)
			}
			d.decision.Arguments = json.RawMessage(args)
		case given("result"):
			if _, err := state.ParseValue([]byte(result)); err != nil {
				return usage(`for example --result '"it is done"'; text needs its quotes`, "--result: %q is not JSON: %v", result, err)
			}
			d.decision.Result = json.RawMessage(result)
		}
		d.fits = func(t *ticketDocument) bool {
			return t.Child == nil && t.Signal == "" && (d.decision.Result != nil || t.Mode != selvage.ResumeResult)
		}
		return d.onRun(forChanging, d.decide)(cmd, argv)
	}
	return cmd
}
