package cli

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) storeCommand() *cobra.Command {
	return group("store", "Look after a store as a whole",
		a.storeCapabilitiesCommand(), a.storeStatsCommand(), a.storeVerifyCommand(), a.storeMigrateCommand(), a.storeRepairCommand(),
		a.storeCompactCommand(), a.storeCopyCommand(), a.storeBackupCommand(), a.storeRestoreCommand())
}

// onStore makes the body of a command that works on a store that exists.
func (a *app) onStore(why purpose, body func(ctx context.Context, store selvage.Store) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error { return a.withStore(cmd.Context(), why, body) }
}

// everyThread goes through the threads of a store, the newest first. A thread
// that is made meanwhile may be left out.
func everyThread(ctx context.Context, store selvage.Store, q selvage.ThreadQuery) iter.Seq2[selvage.Thread, error] {
	return func(yield func(selvage.Thread, error) bool) {
		limit := selvage.MaxPage
		q.Limit = &limit
		for {
			page, err := store.Threads(ctx, q)
			if err != nil {
				yield(selvage.Thread{}, err)
				return
			}
			for _, t := range page.Items {
				if !yield(t, nil) {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}

// yesNo writes a truth for people.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
