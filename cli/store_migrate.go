package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// migrateDocument is the version of a store's tables in JSON.
type migrateDocument struct {
	Backend string `json:"backend"`
	Schema  int64  `json:"schema"`
}

func (a *app) storeMigrateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring the tables of the store up to date", Args: noArguments,
		Long: `Bring the tables of the store up to date, and make them if there are none. What
writes does so when it opens a store; this one does nothing else. It is safe to run in several processes at
once, and beside those that work on the store.`,
		RunE: a.onStore(forWriting, func(ctx context.Context, store selvage.Store) error {
			inspector, ok := selvage.As[selvage.Inspector](store)
			if !ok {
				return lacks("tell the version of its tables", "inspect")
			}
			info, err := inspector.Inspect(ctx)
			if err != nil {
				return err
			}
			return a.show(&migrateDocument{info.Backend, info.Schema}, func() {
				if !a.flags.quiet {
					a.out.line("the tables are at version %d, which is the latest this program knows", info.Schema)
				}
			})
		}),
	}
}
