package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// treeDocument is a thread and what is below it.
type treeDocument struct {
	selvage.Thread
	Children []*treeDocument `json:"children"`
}

func (a *app) threadTreeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tree [ID]", Short: "Show threads with their children", ValidArgsFunction: a.completeThreads,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("usage: "+cmd.UseLine(), "it takes at most the id of one thread, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var roots []*treeDocument
			err := a.withStore(cmd.Context(), forReading, func(ctx context.Context, store selvage.Store) (err error) {
				roots, err = forest(ctx, store, args)
				return err
			})
			if err != nil && !(noStoreYet(err) && len(args) == 0) {
				return err
			}
			if a.flags.quiet {
				a.printTree(roots, func(t *treeDocument, _ string) string { return string(t.ID) })
				return nil
			}
			doc := &listDocument{Items: []any{}}
			for _, t := range roots {
				doc.Items = append(doc.Items, t)
			}
			if len(args) == 1 {
				return a.show(roots[0], func() { a.printTree(roots, treeLine) })
			}
			return a.show(doc, func() { a.printTree(roots, treeLine) })
		},
	}
}

// forest reads the tree of one thread, or those of all roots.
func forest(ctx context.Context, store selvage.Store, args []string) ([]*treeDocument, error) {
	var roots []*treeDocument
	if len(args) == 1 {
		id, err := threadID(args[0])
		if err != nil {
			return nil, err
		}
		none := 0
		head, err := store.Load(ctx, id, selvage.LoadOptions{Messages: &none})
		if err != nil {
			return nil, plainly(id, err)
		}
		roots = []*treeDocument{{Thread: head.Thread}}
	} else {
		var err error
		if roots, err = below(ctx, store, selvage.Roots()); err != nil {
			return nil, err
		}
	}
	seen := make(map[selvage.ThreadID]bool)
	for level := roots; len(level) > 0; {
		var next []*treeDocument
		for _, t := range level {
			if seen[t.ID] {
				return nil, errors.New("thread " + string(t.ID) + " is below itself; `selvage store verify` looks for damage")
			}
			seen[t.ID] = true
			var err error
			if t.Children, err = below(ctx, store, selvage.ChildrenOf(t.ID)); err != nil {
				return nil, err
			}
			next = append(next, t.Children...)
		}
		level = next
	}
	return roots, nil
}

// below lists threads by their parent.
func below(ctx context.Context, store selvage.Store, parent selvage.ParentFilter) ([]*treeDocument, error) {
	all := []*treeDocument{}
	limit := selvage.MaxPage
	q := selvage.ThreadQuery{Parent: parent, Limit: &limit}
	for {
		page, err := store.Threads(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Items {
			all = append(all, &treeDocument{Thread: t, Children: []*treeDocument{}})
		}
		if page.Next == "" {
			return all, nil
		}
		q.Cursor = page.Next
	}
}

// treeLine is a thread as people see it, after the branches that lead to it.
func treeLine(t *treeDocument, branches string) string {
	line := branches + string(t.ID)
	if t.Title != "" {
		line += "  " + t.Title
	}
	if f := t.ForkedFrom; f != nil {
		line += "  (forked from " + string(f.ID) + " at " + f.Version.String() + ")"
	}
	return line
}

// printTree prints a line for each thread, those below it after it.
func (a *app) printTree(roots []*treeDocument, line func(t *treeDocument, branches string) string) {
	var walk func(level []*treeDocument, margin string, nested bool)
	walk = func(level []*treeDocument, margin string, nested bool) {
		for i, t := range level {
			branch, under := "", ""
			if nested {
				branch, under = "├─ ", "│  "
				if i == len(level)-1 {
					branch, under = "└─ ", "   "
				}
			}
			a.out.line("%s", clean(strings.TrimRight(line(t, margin+branch), " ")))
			walk(t.Children, margin+under, true)
		}
	}
	walk(roots, "", false)
}
