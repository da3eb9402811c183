package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// changedDocument is what a command prints that changed a thread.
type changedDocument struct {
	ID      selvage.ThreadID `json:"id"`
	Version selvage.Version  `json:"version"`
	Hash    selvage.Hash     `json:"hash"`
}

// rewoundDocument is what thread rewind prints.
type rewoundDocument struct {
	changedDocument
	To     selvage.Version `json:"to"`
	Undone []undoneCall    `json:"not_undone"` // calls with effects that stay
}

func (a *app) threadRewindCommand() *cobra.Command {
	var to, at version
	cmd := &cobra.Command{
		Use: "rewind ID --to VERSION", Short: "Take messages and state back to a version", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		Long: `Take messages and state back to what they were at a version. That is a change
like any other: what it hides stays in the log, every version can still be read,
and another rewind shows it again. Runs, costs and the effects of tools stay.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if to.v == 0 {
				return usage("`selvage thread log "+quote(args[0])+"` lists its versions", "--to is missing: the version to go back to")
			}
			return a.changeThread(cmd.Context(), args[0], func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
				doc, err := a.rewind(ctx, store, id, to.v, at.v)
				if err != nil {
					return notReached(ctx, store, id, to.v, err)
				}
				a.warnUndone(doc.Undone)
				return a.show(doc, func() { a.note("%s is back at version %d; that is version %d", id, doc.To, doc.Version) })
			})
		},
	}
	cmd.Flags().Var(&to, "to", "the `VERSION` to go back to")
	cmd.Flags().Var(&at, "if-version", "only if the thread is at this `VERSION`")
	return cmd
}

// changeThread opens the store to change the thread that an argument names.
func (a *app) changeThread(ctx context.Context, arg string, body func(context.Context, selvage.Store, selvage.ThreadID) error) error {
	id, err := threadID(arg)
	if err != nil {
		return err
	}
	return a.withStore(ctx, forChanging, func(ctx context.Context, store selvage.Store) error {
		return plainly(id, body(ctx, store, id))
	})
}

// atVersion is the precondition of a flag that may be left out.
func atVersion(v selvage.Version) selvage.Precondition {
	if v == 0 {
		return selvage.Any()
	}
	return selvage.Exact(v)
}

// rewind goes back to a version, if a thread is at another one or at any.
func (a *app) rewind(ctx context.Context, store selvage.Store, id selvage.ThreadID, to, at selvage.Version) (*rewoundDocument, error) {
	set := selvage.ChangeSet{ID: selvage.NewID(), Rewind: &to}
	receipt, err := store.Append(ctx, id, set, atVersion(at))
	if err != nil {
		return nil, a.explainRewind(ctx, store, id, err)
	}
	doc := &rewoundDocument{changedDocument: changedDocument{id, receipt.Version, receipt.Hash}, To: to, Undone: []undoneCall{}}
	doc.Undone, err = effectsAfter(ctx, store, id, to, receipt.Version)
	return doc, err
}

// explainRewind says what to do about a run that stands in the way.
func (a *app) explainRewind(ctx context.Context, store selvage.Store, id selvage.ThreadID, err error) error {
	var invalid *selvage.InvalidError
	if !errors.As(err, &invalid) || !strings.Contains(invalid.Reason, "is open") {
		return err
	}
	f := classify(hinted(err, "let it end, or go on with the thread: `selvage chat --thread "+quote(string(id))+"`"))
	f.exit = exitConflict
	if open, err := a.openRun(ctx, store, id); err == nil && open != nil {
		f.err = fmt.Errorf("%w; %s", f.err, open)
		f.hint = "end it first: `" + strings.Join(append(open.Next, a.again("run", "cancel", quote(string(open.RunID)))), "`, or `") + "`"
		f.details = map[string]any{"open_run": open}
	}
	return f
}
