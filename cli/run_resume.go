package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

func (a *app) runResumeCommand() *cobra.Command {
	var bumps []string
	partial := &checked{kind: "mode", check: checkPartial}
	cmd := &cobra.Command{
		Use: "resume RUN", Short: "Go on with a run that waited or was interrupted", Args: exactly(1, "the id of a run"), ValidArgsFunction: a.completeRuns(true),
		Long: `Go on with a run that nobody leads: one that waited and was decided, one that
reached a limit, which --bump raises, or one whose process is no more. It is the
same run, made of what it recorded. One that still waits is left as it is: exit 6.`,
		Example: `  selvage run resume RUN
  selvage run resume RUN --bump turns=+10 --bump spend=+0.50`,
		RunE: func(cmd *cobra.Command, args []string) error {
			how, err := goingBy(bumps, partial.text)
			if err != nil {
				return err
			}
			return a.onRun(forChanging, func(ctx context.Context, store selvage.Store, run *selvage.Run) error {
				return a.resume(ctx, store, run, how)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&bumps, "bump", nil, "raise a limit: `LIMIT=+AMOUNT`, such as turns=+10, tokens=+5000, spend=+0.50 or duration=+5m; repeatable")
	f.Var(partial, "partial", "`WHAT` to do about an answer that broke off: continue it, or restart it")
	a.registerRecord(cmd)
	return cmd
}

func checkPartial(text string) error {
	switch text {
	case "continue", "restart":
		return nil
	}
	return errors.New(text + " is not continue or restart")
}

// goingBy reads what flags say about how a run goes on.
func goingBy(bumps []string, partial string) (going, error) {
	how := going{partial: runner.OnPartial(partial)}
	for _, text := range bumps {
		b, err := runner.ParseBump(text)
		if err != nil {
			return how, hinted(err, "for example --bump turns=+10, --bump spend=+0.50 or --bump duration=+5m")
		}
		how.bump = append(how.bump, b)
	}
	return how, nil
}

// resume goes on with a run, and fails if it does not.
func (a *app) resume(ctx context.Context, store selvage.Store, run *selvage.Run, how going) error {
	if !run.Status.Open() {
		return doneAlready(run)
	}
	doc, failed := a.onward(ctx, store, run.ID, how)
	if doc.Run == nil {
		return failed
	}
	switch {
	case failed != nil:
	case doc.LedBy != "":
		failed = &failure{exit: exitConflict, class: "busy", err: errors.New("run " + string(run.ID) + " is led by " + doc.LedBy), hint: "`" + doc.Next + "`", details: runFacts(run)}
	case doc.Lacks != "":
		f := &failure{exit: exitFailed, class: "unsupported", err: errors.New("run " + string(run.ID) + " cannot go on here: " + doc.Lacks), details: runFacts(run),
			hint: "nothing was changed; go on with it where that is there"}
		f.details["lacks"] = doc.Lacks
		failed = f
	case !doc.WentOn:
		failed = doneAlready(doc.Run) // another process was faster
	default:
		failed = a.ending(ctx, store, doc.Run)
	}
	if doc.WentOn {
		_ = a.show(&doc, func() { a.printOnward(&doc) }) // it never fails; the stream keeps what does
	}
	return failed
}
