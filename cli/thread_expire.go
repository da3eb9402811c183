package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) threadExpireCommand() *cobra.Command {
	var never bool
	after := duration()
	cmd := &cobra.Command{
		Use: "expire ID", Short: "Give a thread the time after which prune removes it", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := threadID(args[0])
			if err != nil {
				return err
			}
			if never == (after.text != "") {
				return usage("for example --in 30d", "say when: --in DURATION or --never")
			}
			until := time.Time{}
			if !never {
				until = time.Now().Add(durationOf(after.text))
			}
			return a.withStore(cmd.Context(), forChanging, func(ctx context.Context, store selvage.Store) error {
				return plainly(id, a.expire(ctx, store, id, until))
			})
		},
	}
	cmd.Flags().Var(after, "in", "after this `DURATION` from now, such as 30d")
	cmd.Flags().BoolVar(&never, "never", false, "it stays until it is removed")
	return cmd
}

func (a *app) expire(ctx context.Context, store selvage.Store, id selvage.ThreadID, until time.Time) error {
	set := selvage.ChangeSet{Reason: selvage.ReasonThreadUpdated, Thread: &selvage.ThreadUpdate{ExpiresAt: &until}}
	if _, err := store.Append(ctx, id, set, selvage.Any()); err != nil {
		return err
	}
	none := 0
	head, err := store.Load(ctx, id, selvage.LoadOptions{Messages: &none})
	if err != nil {
		return err
	}
	return a.show(&head.Thread, func() {
		if head.Thread.ExpiresAt.IsZero() {
			a.note("%s does not expire", id)
		} else {
			a.note("%s expires at %s", id, moment(head.Thread.ExpiresAt))
		}
	})
}
