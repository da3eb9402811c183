package cli

import (
	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) runDenyCommand() *cobra.Command {
	var goOn bool
	d := &deciding{app: a, decision: selvage.Decision{Action: selvage.DecisionAbort}, any: true, fits: func(*ticketDocument) bool { return true }}
	cmd := &cobra.Command{
		Use: "deny RUN", Short: "Do not let a call go on that waits, and end its run", Args: exactly(1, "the id of a run"),
		Long: `Do not let a call go on that waits for a decision. The run ends as cancelled;
with --continue the model is told, with the reason, and goes on.`,
		Example: `  selvage run deny RUN --reason "not on this machine"
  selvage run deny RUN --continue --reason "ask for the staging host instead"`,
	}
	d.register(cmd)
	f := cmd.Flags()
	f.StringVar(&d.decision.Reason, "reason", "", "why: `TEXT` for the record, and for the model")
	f.BoolVar(&goOn, "continue", false, "tell the model, and let it go on")
	f.BoolVar(&d.every, "all", false, "with --continue: every call of the run that waits")
	f.BoolVar(&d.early, "early", false, "decide on a --ticket that is yet to be asked for")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if goOn {
			d.decision.Action, d.any = selvage.DecisionCancel, false
		} else if d.every {
			return usage("leave --all out", "without --continue the run ends, and all of its calls with it")
		}
		return d.onRun(forChanging, d.decide)(cmd, args)
	}
	return cmd
}
