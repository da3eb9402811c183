package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
)

// signalledDocument is what run signal prints.
type signalledDocument struct {
	Signal  string          `json:"signal"`
	Payload json.RawMessage `json:"payload"`
	onwardDocument
}

func (a *app) runSignalCommand() *cobra.Command {
	var noRun bool
	cmd := &cobra.Command{
		Use: "signal RUN NAME [JSON]", Short: "Send a signal to a run", ValidArgsFunction: a.completeRuns(true),
		Long: `Send a signal to a run that is not done. A call that waits for a signal of that
name goes on with what is sent, which is null if it is left out. A signal that
nothing waits for yet is kept until something does.`,
		Example: `  selvage run signal RUN paid '{"amount":12}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 || len(args) == 3 {
				return nil
			}
			return usage("usage: "+cmd.UseLine(), "it takes a run, a name and perhaps JSON, not %d arguments", len(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			doc := &signalledDocument{Signal: args[1], Payload: json.RawMessage("null")}
			if len(args) == 3 {
				if _, err := state.ParseValue([]byte(args[2])); err != nil {
					return usage(`for example '{"amount":12}'; text needs its quotes`, "%q is not JSON: %v", args[2], err)
				}
				doc.Payload = json.RawMessage(args[2])
			}
			return a.onRun(forChanging, func(ctx context.Context, store selvage.Store, run *selvage.Run) error {
				return a.signal(ctx, store, run, doc, noRun)
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&noRun, "no-run", false, "only record the signal; do not go on with the run here")
	a.registerRecord(cmd)
	return cmd
}

func (a *app) signal(ctx context.Context, store selvage.Store, run *selvage.Run, doc *signalledDocument, noRun bool) error {
	err := runner.Signal(ctx, store, run.ID, doc.Signal, doc.Payload)
	var done *runner.DoneError
	switch {
	case errors.As(err, &done):
		run.Outcome, run.Status = &done.Outcome, selvage.RunDone
		return doneAlready(run)
	case err != nil:
		return err
	}
	a.note("signal %s is recorded", doc.Signal)
	var failed error
	if noRun {
		doc.onwardDocument, failed = a.stands(ctx, store, run.ID)
	} else {
		doc.onwardDocument, failed = a.onward(ctx, store, run.ID, going{})
	}
	if doc.Run == nil {
		return failed
	}
	_ = a.show(doc, func() { a.printOnward(&doc.onwardDocument) }) // it never fails; the stream keeps what does
	if failed == nil && doc.WentOn {
		failed = a.ending(ctx, store, doc.Run)
	}
	return failed
}
