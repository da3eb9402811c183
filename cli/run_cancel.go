package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// cancelledDocument is what run cancel prints.
type cancelledDocument struct {
	RunID    selvage.RunID       `json:"run_id"`
	ThreadID selvage.ThreadID    `json:"thread_id"`
	Status   runner.CancelStatus `json:"status"`
	LedBy    string              `json:"led_by,omitempty"` // who ends it
}

func (a *app) runCancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "cancel RUN", Short: "End a run that is not done", Args: exactly(1, "the id of a run"), ValidArgsFunction: a.completeRuns(true),
		Long: `End a run as cancelled. One that waits, or whose process is no more, is done at
once; one that a process leads ends there, within seconds. Cancelling a run
again changes nothing.`,
		RunE: a.onRun(forChanging, func(ctx context.Context, store selvage.Store, run *selvage.Run) error {
			cancelled, err := runner.Cancel(ctx, store, run.ID, reason)
			var done *runner.DoneError
			switch {
			case errors.As(err, &done):
				run.Outcome, run.Status = &done.Outcome, selvage.RunDone
				return doneAlready(run)
			case err != nil:
				return err
			}
			doc := &cancelledDocument{RunID: run.ID, ThreadID: run.ThreadID, Status: cancelled.Status}
			if cancelled.Owner != nil {
				doc.LedBy = cancelled.Owner.String()
			}
			return a.show(doc, func() {
				switch cancelled.Status {
				case runner.CancelRequested:
					a.note("run %s is led by %s, and ends there", run.ID, doc.LedBy)
				case runner.CancelRepeated:
					a.note("run %s was cancelled before; nothing was changed", run.ID)
				default:
					a.note("run %s is cancelled", run.ID)
				}
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why: `TEXT` for the record")
	return cmd
}
