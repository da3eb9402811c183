package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) threadLsCommand() *cobra.Command {
	var (
		p                    pages
		user, parent, search string
		meta                 []string
	)
	cmd := &cobra.Command{
		Use: "ls", Short: "List threads, the last updated first", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := selvage.ThreadQuery{UserID: user, Text: search, Order: selvage.ByUpdated}
			var err error
			if q.Parent, err = parentFilter(parent); err != nil {
				return err
			}
			if q.Metadata, err = metadataFilter(meta); err != nil {
				return err
			}
			if err := p.check(); err != nil {
				return err
			}
			list := a.threadListing()
			err = a.withStore(cmd.Context(), forReading, func(ctx context.Context, store selvage.Store) error {
				list.fetch = func(ctx context.Context, limit *int, cursor selvage.Cursor) ([]selvage.Thread, selvage.Cursor, error) {
					q.Limit, q.Cursor = limit, cursor
					page, err := store.Threads(ctx, q)
					return page.Items, page.Next, err
				}
				return list.print(ctx, a, &p)
			})
			if noStoreYet(err) {
				list.finish(a, nil, "")
				return nil
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&user, "user", "", "only threads of this `USER`")
	f.StringVar(&parent, "parent", "", "only `root` threads, or only the children of a thread: root or ID")
	f.StringVar(&search, "search", "", "only threads with this `TEXT` in their id or title")
	f.StringArrayVar(&meta, "meta", nil, "only threads with this metadata: `KEY=VALUE`, repeatable")
	p.register(cmd)
	return cmd
}

func parentFilter(text string) (selvage.ParentFilter, error) {
	switch text {
	case "", "any":
		return selvage.AnyParent(), nil
	case "root":
		return selvage.Roots(), nil
	}
	id, err := threadID(text)
	return selvage.ChildrenOf(id), err
}

func metadataFilter(pairs []string) (map[string]string, error) {
	filter := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usage("for example --meta team=blue", "--meta: %q is not KEY=VALUE", pair)
		}
		filter[key] = value
	}
	return filter, nil
}

func (a *app) threadListing() listing[selvage.Thread] {
	return listing[selvage.Thread]{
		id:   func(t *selvage.Thread) string { return string(t.ID) },
		item: func(t *selvage.Thread) any { return t },
		prose: func(threads []selvage.Thread) {
			rows := make([][]string, len(threads))
			for i := range threads {
				t := &threads[i]
				run := ""
				switch {
				case t.ActiveRunID != "":
					run = "running"
				case t.OpenRunID != "":
					run = "waiting"
				}
				rows[i] = []string{string(t.ID), t.Version.String(), moment(t.UpdatedAt), t.UserID, run, t.Title}
			}
			a.table([]string{"ID", "VERSION", "UPDATED", "USER", "RUN", "TITLE"}, rows)
		},
	}
}
