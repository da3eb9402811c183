package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) threadStateCommand() *cobra.Command {
	var at version
	cmd := &cobra.Command{
		Use: "state ID", Short: "Print the state document of a thread", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		RunE: a.onThread(func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
			doc, err := store.State(ctx, id, at.v)
			if err != nil {
				return notReached(ctx, store, id, at.v, err)
			}
			return a.show(&doc, func() { a.out.json(&doc) })
		}),
	}
	cmd.Flags().Var(&at, "at", "as of this `VERSION`")
	return cmd
}
