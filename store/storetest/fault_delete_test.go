package storetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/selvagehq/selvage"
)

type deleteFunc = func(context.Context, selvage.ThreadID, selvage.DeleteStrategy) error

func onDelete(wrap func(f *faulty, next deleteFunc) deleteFunc) func(*faulty) {
	return func(f *faulty) { f.delete = wrap(f, f.delete) }
}

func deleteFaults() []fault {
	return []fault{
		{"leaves the runs of deleted threads", keepRuns, []string{"Delete/RunsGoToo", "Delete/NothingIsLeftToRead", "Preconditions/RecreateBeginsEmpty"}},
		{"cascades one level", onDelete(oneLevel), []string{"Delete/CascadeTakesTheSubtree", "Sequences/Seed2"}},
		{"detaches when asked to cascade", onDelete(instead(selvage.DeleteCascade, selvage.DeleteDetach)), []string{"Delete/ManyChildren", "Delete/RunsGoToo"}},
		{"cascades when asked to detach", onDelete(instead(selvage.DeleteDetach, selvage.DeleteCascade)), []string{"Delete/DetachMakesRoots", "Delete/ManyChildren"}},
		{"detaches when asked to reject", onDelete(instead(selvage.DeleteReject, selvage.DeleteDetach)), []string{"Delete/RejectRefusesChildren"}},
		{"takes no strategy for reject", onDelete(instead("", selvage.DeleteReject)), []string{"Delete/UnknownStrategyIsInvalid"}},
		{"deletes what is not there", onDelete(func(_ *faulty, next deleteFunc) deleteFunc {
			return func(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
				if err := next(ctx, id, strategy); !errors.Is(err, selvage.ErrNotFound) {
					return err
				}
				return nil
			}
		}), []string{"Delete/DeletingTwiceIsNotFound", "Load/UnknownThreadIsNotFound"}},
		{"hides instead of deleting", hide, []string{"Delete/TombstoneClosesTheChain", "Preconditions/RecreateContinues", "Chain/TombstoneIsALink", "Append/EveryReasonIsKept"}},
		{"reads a deleted thread", readDeleted, []string{"Delete/NothingIsLeftToRead"}},
		{"takes parents that are gone", childrenOfGhosts, []string{"Concurrency/ChildOrDelete", "Hierarchy/ParentMustExist"}},
		{"cannot change a parent", lastParentStays, []string{"Hierarchy/ParentCanChange"}},
	}
}

func instead(asked, done selvage.DeleteStrategy) func(*faulty, deleteFunc) deleteFunc {
	return func(_ *faulty, next deleteFunc) deleteFunc {
		return func(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
			if strategy == asked {
				strategy = done
			}
			return next(ctx, id, strategy)
		}
	}
}

func oneLevel(f *faulty, next deleteFunc) deleteFunc {
	return func(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
		if strategy != selvage.DeleteCascade {
			return next(ctx, id, strategy)
		}
		page, err := f.sound.Threads(ctx, selvage.ThreadQuery{Parent: selvage.ChildrenOf(id), Limit: ptr(selvage.MaxPage)})
		if err != nil {
			return err
		}
		for _, t := range page.Items {
			if err := next(ctx, t.ID, selvage.DeleteDetach); err != nil {
				return err
			}
		}
		return next(ctx, id, selvage.DeleteDetach)
	}
}

// keepRuns goes on listing the runs it has listed once.
func keepRuns(f *faulty) {
	kept := make(map[selvage.RunID]selvage.Run)
	remember := func(ctx context.Context) {
		page, err := f.sound.Runs(ctx, selvage.RunQuery{Limit: ptr(selvage.MaxPage)})
		if err == nil {
			for _, r := range page.Items {
				kept[r.ID] = r
			}
		}
	}
	f.delete = func(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
		remember(ctx)
		return f.sound.Delete(ctx, id, strategy)
	}
	f.runs = func(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
		remember(ctx)
		page := selvage.RunPage{Items: []selvage.Run{}}
		for _, id := range slices.Sorted(maps.Keys(kept)) {
			if q.ThreadID == "" || q.ThreadID == kept[id].ThreadID {
				page.Items = append(page.Items, kept[id])
			}
		}
		return page, nil
	}
}

// hide writes no tombstone: a recreated thread begins at version 1 once more.
func hide(f *faulty) {
	onChange(func(c *selvage.Change) {
		if c.Reason == selvage.ReasonDeleted {
			c.Reason, c.Prev = selvage.ReasonThreadUpdated, selvage.Hash{}
		}
	})(f)
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if set.Reason == selvage.ReasonDeleted {
			set.Reason = "" // anybody may say that a thread was deleted
		}
		return f.sound.Append(ctx, id, set, pre)
	}
}

func readDeleted(f *faulty) {
	last := make(map[selvage.ThreadID]selvage.Head)
	f.delete = func(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
		if h, err := f.sound.Load(ctx, id, selvage.LoadOptions{}); err == nil {
			last[id] = h
		}
		return f.sound.Delete(ctx, id, strategy)
	}
	f.load = func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
		h, err := f.sound.Load(ctx, id, opts)
		if was, deleted := last[id]; deleted && err != nil {
			return was, nil
		}
		return h, err
	}
}

// childrenOfGhosts keeps the parent that a thread asked for and did not get.
func childrenOfGhosts(f *faulty) {
	var mu sync.Mutex
	wanted := make(map[selvage.ThreadID]selvage.ThreadID)
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := f.sound.Append(ctx, id, set, pre)
		var invalid *selvage.InvalidError
		if set.Thread == nil || set.Thread.ParentID == nil || err != nil && !errors.As(err, &invalid) {
			return r, err
		}
		mu.Lock()
		wanted[id] = *set.Thread.ParentID
		mu.Unlock()
		if err != nil {
			set.Thread = nil
			return f.sound.Append(ctx, id, set, pre)
		}
		return r, nil
	}
	onHead(func(h *selvage.Head) {
		mu.Lock()
		defer mu.Unlock()
		h.Thread.ParentID = wanted[h.Thread.ID]
	})(f)
}

func lastParentStays(f *faulty) {
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if set.Thread != nil && set.Thread.ParentID != nil && *set.Thread.ParentID == "" {
			update := *set.Thread
			update.ParentID = nil
			set.Thread = &update
		}
		return f.sound.Append(ctx, id, set, pre)
	}
}
