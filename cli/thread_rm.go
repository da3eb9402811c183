package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
)

// removalTTL is how long a lease taken for a removal lasts if this process
// dies in it.
const removalTTL = 10 * time.Second

// removal is one call of thread rm.
type removal struct {
	*app
	strategy   selvage.DeleteStrategy
	yes, force bool
}

func (a *app) threadRmCommand() *cobra.Command {
	r := &removal{app: a}
	var children string
	cmd := &cobra.Command{
		Use: "rm ID", Short: "Remove a thread with everything in it", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		Long: `Remove a thread with everything in it. What stays is the header of its last
change, so that its id cannot be taken for a new thread by accident.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := threadID(args[0])
			if err != nil {
				return err
			}
			switch r.strategy = selvage.DeleteStrategy(children); r.strategy {
			case selvage.DeleteReject, selvage.DeleteDetach, selvage.DeleteCascade:
			default:
				return usage("use reject, detach or cascade", "--children: %q is not one", children)
			}
			return a.withStore(cmd.Context(), forChanging, func(ctx context.Context, store selvage.Store) error {
				return plainly(id, r.remove(ctx, store, id))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&children, "children", string(selvage.DeleteReject), "`WHAT` becomes of its children: reject (refuse if there are any), detach or cascade")
	f.BoolVar(&r.yes, "yes", false, "do not ask")
	f.BoolVar(&r.force, "force", false, "even if a run is at work on it")
	return cmd
}

func (r *removal) remove(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
	doomed, err := r.doomed(ctx, store, id)
	if err != nil {
		return err
	}
	if err := r.confirm(ctx, id, len(doomed)); err != nil {
		return err
	}
	if !r.force {
		release, err := seize(ctx, store, doomed)
		defer release()
		if errors.Is(err, selvage.ErrBusy) {
			return hinted(err, "stop it first, or remove it all the same with --force")
		}
		if err != nil {
			return err
		}
	}
	if err := store.Delete(ctx, id, r.strategy); err != nil {
		if r.strategy == selvage.DeleteReject && errors.Is(err, selvage.ErrInvalid) {
			f := classify(hinted(err, "--children detach keeps them, --children cascade removes them too"))
			f.exit = exitConflict
			return f
		}
		return err
	}
	return r.show(map[string]any{"id": id, "removed": doomed}, func() {
		r.note("removed %s", strings.Join(strs(doomed), ", "))
	})
}

// doomed returns the thread and, if they are to go too, all below it.
func (r *removal) doomed(ctx context.Context, store selvage.Store, id selvage.ThreadID) ([]selvage.ThreadID, error) {
	none := 0
	if _, err := store.Load(ctx, id, selvage.LoadOptions{Messages: &none}); err != nil && !errors.Is(err, selvage.ErrGone) {
		return nil, err // one whose state is gone may still be removed
	}
	doomed := []selvage.ThreadID{id}
	if r.strategy != selvage.DeleteCascade {
		return doomed, nil
	}
	for i := 0; i < len(doomed); i++ {
		limit := selvage.MaxPage
		q := selvage.ThreadQuery{Parent: selvage.ChildrenOf(doomed[i]), Limit: &limit}
		for {
			page, err := store.Threads(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, t := range page.Items {
				doomed = append(doomed, t.ID)
			}
			if page.Next == "" {
				break
			}
			q.Cursor = page.Next
		}
	}
	return doomed, nil
}

// confirm asks, where somebody can answer.
func (r *removal) confirm(ctx context.Context, id selvage.ThreadID, n int) error {
	if r.yes {
		return nil
	}
	what := fmt.Sprintf("%q", id)
	if n > 1 {
		what += fmt.Sprintf(" and %d threads below it", n-1)
	}
	return r.app.confirm(ctx, fmt.Sprintf("Remove %s for good?", what), fmt.Sprintf("%q stays", id))
}

// seize takes the lease of each thread, so that no run is at work on it, and
// returns how to give back what was taken.
func seize(ctx context.Context, store selvage.Store, ids []selvage.ThreadID) (release func(), err error) {
	leaser, ok := selvage.As[selvage.Leaser](store)
	if !ok {
		return func() {}, nil
	}
	owner := process.Self("thread rm")
	var held []selvage.Lease
	release = func() {
		for _, l := range held {
			// The threads are gone with their leases, or these run out soon.
			_ = leaser.Release(context.WithoutCancel(ctx), l)
		}
	}
	for _, id := range ids {
		lease, err := leaser.Acquire(ctx, id, owner, removalTTL)
		if err != nil {
			return release, err
		}
		held = append(held, lease)
	}
	return release, nil
}

func strs(ids []selvage.ThreadID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return texts
}
