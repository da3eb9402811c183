package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) runCommand() *cobra.Command {
	return group("run", "Look at runs, lead them, and decide what they wait for",
		a.runLsCommand(), a.runShowCommand(), a.runWatchCommand(), a.runStartCommand(), a.runApproveCommand(), a.runDenyCommand(),
		a.runAnswerCommand(), a.runSignalCommand(), a.runCancelCommand(), a.runResumeCommand())
}

// onRun makes the body of a command about the run named by its first argument.
func (a *app) onRun(why purpose, body func(ctx context.Context, store selvage.Store, run *selvage.Run) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := runID(args[0])
		if err != nil {
			return err
		}
		return a.withStore(cmd.Context(), why, func(ctx context.Context, store selvage.Store) error {
			run, err := findRun(ctx, store, id)
			if err != nil {
				return err
			}
			return body(ctx, store, run)
		})
	}
}

// listsRuns is where the ids of runs are found.
const listsRuns = "`selvage run ls` lists runs"

// runID checks an id before any store is opened for it.
func runID(text string) (selvage.RunID, error) {
	if err := selvage.CheckID("run", text); err != nil {
		return "", hinted(err, listsRuns)
	}
	return selvage.RunID(text), nil
}

// findRun returns the run of an id.
func findRun(ctx context.Context, store selvage.Store, id selvage.RunID) (*selvage.Run, error) {
	one := 1
	page, err := store.Runs(ctx, selvage.RunQuery{ID: id, Limit: &one})
	switch {
	case err != nil:
		return nil, err
	case len(page.Items) == 0:
		return nil, hinted(fmt.Errorf("run %q: %w", id, selvage.ErrNotFound), listsRuns)
	}
	return &page.Items[0], nil
}

// bareHead loads a thread without its messages.
func bareHead(ctx context.Context, store selvage.Store, id selvage.ThreadID) (*selvage.Head, error) {
	none := 0
	head, err := store.Load(ctx, id, selvage.LoadOptions{Messages: &none})
	return &head, err
}

// completeRuns offers the runs that were created last; only those that are not
// done if open.
func (a *app) completeRuns(open bool) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 || a.prepare(cmd) != nil {
			return nil, none
		}
		store, err := a.openStore(cmd.Context(), forReading)
		if err != nil {
			return nil, none
		}
		defer func() { _ = store.Close() }() // nothing was written
		page, err := store.Runs(cmd.Context(), selvage.RunQuery{Open: open})
		if err != nil {
			return nil, none
		}
		var ids []string
		for i := range page.Items {
			if r := &page.Items[i]; strings.HasPrefix(string(r.ID), begun) {
				ids = append(ids, fmt.Sprintf("%s\t%s on %s", r.ID, standing(r), oneLine(string(r.ThreadID))))
			}
		}
		return ids, none | cobra.ShellCompDirectiveKeepOrder
	}
}

// standing says in a word where a run stands: its status, or how it ended.
func standing(r *selvage.Run) string {
	if r.Outcome != nil {
		return string(r.Outcome.Kind)
	}
	return string(r.Status)
}

// circumstance says what a run waits for, or why it ended as it did.
func circumstance(r *selvage.Run) string {
	switch {
	case r.Waiting != nil:
		return waitsFor(r.Waiting)
	case r.Outcome == nil:
		return ""
	case r.Outcome.Code != "" && strings.HasPrefix(r.Outcome.Detail, r.Outcome.Code):
		return r.Outcome.Detail // it says it itself
	case r.Outcome.Detail != "" && r.Outcome.Code != "":
		return r.Outcome.Code + ": " + r.Outcome.Detail
	default:
		return r.Outcome.Code + r.Outcome.Detail
	}
}

// endedAs says in words how a run ended.
func endedAs(kind selvage.OutcomeKind) string {
	if kind == selvage.OutcomeCancelled {
		return "was cancelled"
	}
	return string(kind)
}
