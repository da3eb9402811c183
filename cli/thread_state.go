package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) threadStateCommand() *cobra.Command {
	var at version
	var all bool
	cmd := &cobra.Command{
		Use: "state ID", Short: "Print the state document of a thread", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		Long: `Print the state document of a thread, without what runs keep in it for
themselves, such as /__run and /__budgets; --all shows that too.`,
		RunE: a.onThread(func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
			doc, err := store.State(ctx, id, at.v)
			if err != nil {
				return notReached(ctx, store, id, at.v, err)
			}
			if !all {
				doc = doc.Own()
			}
			return a.show(&doc, func() { a.out.json(&doc) })
		}),
	}
	cmd.Flags().Var(&at, "at", "as of this `VERSION`")
	flagAllKeys(cmd, &all)
	return cmd
}

// flagAllKeys adds the flag that shows what runs keep in the state too.
func flagAllKeys(cmd *cobra.Command, all *bool) {
	cmd.Flags().BoolVar(all, "all", false, "with what runs keep in the state")
}
