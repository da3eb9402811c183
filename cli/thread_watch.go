package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// watching is one call of thread watch.
type watching struct {
	*app
	after  string
	limit  count
	fresh  bool // only what happens from now on
	noWait bool
	all    bool // the whole store

	items []any // with -o json, which is one document
	next  string
}

func (a *app) threadWatchCommand() *cobra.Command {
	w := &watching{app: a}
	cmd := &cobra.Command{
		Use: "watch ID | watch --all", Short: "Tell what happens to a thread, or to all of them",
		Long: `Tell what durably happened to a thread, from its beginning or from a position,
and then what happens, until the thread is deleted or Ctrl-C. With --all tell
the changes of every thread of the store instead.`,
		ValidArgsFunction: a.completeThreads,
		Args: func(cmd *cobra.Command, args []string) error {
			if w.all {
				return noArguments(cmd, args)
			}
			return exactly(1, "the id of a thread, or --all")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(); err != nil {
				return err
			}
			if w.all {
				return w.withStore(cmd.Context(), forReading, w.store)
			}
			return w.onThread(w.thread)(cmd, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&w.all, "all", false, "the changes of every thread of the store")
	f.StringVar(&w.after, "after", "", "only what comes after this `POSITION`, as it was printed")
	f.BoolVar(&w.fresh, "new", false, "only what happens from now on")
	f.Var(&w.limit, "limit", "end after this `NUMBER` of events; with --all, of changes")
	f.BoolVar(&w.noWait, "no-wait", false, "end when all that is there was told")
	return cmd
}

func (w *watching) check() error {
	switch {
	case w.fresh && w.after != "":
		return usage("leave one of them out", "--new and --after contradict each other")
	case w.format() == formatJSON && !w.noWait && w.limit.n == nil:
		return usage("use -o jsonl, or --no-wait", "-o json prints one document when all is told, which is never")
	}
	return nil
}

// watcher is what the store offers for this.
func (w *watching) watcher(store selvage.Store) (selvage.Watcher, error) {
	found, ok := selvage.As[selvage.Watcher](store)
	if !ok {
		return nil, lacks("tell what happens", "watch")
	}
	return found, nil
}

// thread tells the events of a thread.
func (w *watching) thread(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
	from, err := w.watcher(store)
	if err != nil {
		return err
	}
	var after selvage.Position
	if err := w.position(&after); err != nil {
		return err
	}
	if w.fresh {
		none := 0
		head, err := store.Load(ctx, id, selvage.LoadOptions{Messages: &none})
		if err != nil {
			return err
		}
		after = head.Thread.Version.End()
	}
	return w.follow(func(limit *int) (step, error) {
		page, err := from.Events(ctx, id, selvage.EventQuery{After: after, Limit: limit, Wait: !w.noWait})
		if err != nil {
			return step{}, err
		}
		for i := range page.Items {
			w.event(&page.Items[i])
		}
		after, w.next = page.Next, page.Next.String()
		if page.Ended {
			w.tell("thread %s was deleted", id)
		}
		return step{told: len(page.Items), more: page.More, over: page.Ended}, nil
	})
}

// store tells the changes of all threads.
func (w *watching) store(ctx context.Context, store selvage.Store) error {
	from, err := w.watcher(store)
	if err != nil {
		return err
	}
	var after selvage.FeedPosition
	if err := w.position(&after); err != nil {
		return err
	}
	if w.fresh {
		if after, err = from.End(ctx); err != nil {
			return err
		}
	}
	return w.follow(func(limit *int) (step, error) {
		page, err := from.Feed(ctx, selvage.FeedQuery{After: after, Limit: limit, Wait: !w.noWait})
		if err != nil {
			return step{}, err
		}
		for i := range page.Items {
			if err := w.change(&page.Items[i]); err != nil {
				return step{}, err
			}
		}
		after, w.next = page.Next, page.Next.String()
		return step{told: len(page.Items), more: page.More}, nil
	})
}

// position reads --after.
func (w *watching) position(into interface{ UnmarshalText([]byte) error }) error {
	if w.after == "" {
		return nil
	}
	if err := into.UnmarshalText([]byte(w.after)); err != nil {
		return usage("use a position that this command printed, with or without --all as it was", "--after: %v", err)
	}
	return nil
}

// step is what one page came to.
type step struct {
	told int
	more bool // there is more at once
	over bool // there will never be any more
}

// follow reads page after page until it is over.
func (w *watching) follow(read func(limit *int) (step, error)) error {
	left := -1 // no limit
	if w.limit.n != nil {
		left = *w.limit.n
	}
	for left != 0 && w.out.err == nil {
		var limit *int
		if left > 0 {
			limit = &left
		}
		s, err := read(limit)
		if err != nil {
			return w.goOn(err)
		}
		if left > 0 {
			left -= min(s.told, left)
		}
		if s.over || w.noWait && !s.more {
			break
		}
	}
	if w.format() == formatJSON {
		w.out.json(&watchDocument{Items: append([]any{}, w.items...), Next: w.next})
	}
	return nil
}

// goOn says how to go on after an error.
func (w *watching) goOn(err error) error {
	switch code := selvage.Code(err); {
	case code == "cursor_expired":
		return hinted(err, "leave --after out to begin at the beginning, or use --new")
	case w.next != "" && (code == "cancelled" || code == "unavailable"):
		return hinted(err, "to go on: --after "+w.next)
	default:
		return err
	}
}
