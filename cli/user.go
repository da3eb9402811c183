package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/transfer"
)

func (a *app) userCommand() *cobra.Command {
	return group("user", "Export or forget everything that is kept about a user", a.userExportCommand(), a.userForgetCommand())
}

// userHeader is the first line of what is exported about a user.
type userHeader struct {
	Selvage string `json:"selvage"` // "user"
	Format  int    `json:"format"`
	User    string `json:"user"`
}

// memoryLine is a line of an export that holds one memory.
type memoryLine struct {
	Selvage string              `json:"selvage"` // "memory"
	Entry   selvage.MemoryEntry `json:"entry"`
}

func (a *app) userExportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export USER", Short: "Write everything that is kept about a user to stdout", Args: exactly(1, "a user"),
		Long: `Write everything that is kept about a user to stdout, as lines of JSON: a
header, the log of each thread as ` + "`thread export`" + ` writes it, and what is
remembered about the user.`,
		RunE: a.onUser(forReading, a.exportUser),
	}
}

// onUser makes the body of a command about the user named by its argument.
func (a *app) onUser(why purpose, body func(ctx context.Context, store selvage.Store, user string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := selvage.CheckID("user", args[0]); err != nil {
			return err
		}
		return a.withStore(cmd.Context(), why, func(ctx context.Context, store selvage.Store) error { return body(ctx, store, args[0]) })
	}
}

func (a *app) exportUser(ctx context.Context, store selvage.Store, user string) error {
	out := bufio.NewWriter(a.out)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := e.Encode(&userHeader{"user", 1, user}); err != nil {
		return err
	}
	found := false
	for t, err := range everyThread(ctx, store, selvage.ThreadQuery{UserID: user}) {
		if err != nil {
			return err
		}
		if _, err := transfer.WriteLog(ctx, store, t.ID, out); err != nil && !errors.Is(err, selvage.ErrNotFound) {
			return err
		}
		found = true
	}
	for entry, err := range memories(ctx, store, user) {
		if err != nil {
			return err
		}
		if err := e.Encode(&memoryLine{"memory", entry}); err != nil {
			return err
		}
		found = true
	}
	if !found {
		a.tell("nothing is kept about user %q", user)
	}
	return out.Flush()
}

// memories goes through what is remembered about a user.
func memories(ctx context.Context, store selvage.Store, user string) func(yield func(selvage.MemoryEntry, error) bool) {
	return func(yield func(selvage.MemoryEntry, error) bool) {
		memory, ok := selvage.As[selvage.Memory](store)
		limit := selvage.MaxPage
		for q := (selvage.MemoryQuery{Owner: selvage.UserMemory(user), Limit: &limit}); ok; ok = q.Cursor != "" {
			page, err := memory.List(ctx, q)
			if err != nil {
				yield(selvage.MemoryEntry{}, err)
				return
			}
			for _, entry := range page.Items {
				if !yield(entry, nil) {
					return
				}
			}
			q.Cursor = page.Next
		}
	}
}

// forgotten is what was removed about a user, in JSON.
type forgotten struct {
	User     string             `json:"user"`
	Threads  []selvage.ThreadID `json:"threads"`
	Memories int                `json:"memories"`
}

func (a *app) userForgetCommand() *cobra.Command {
	r := &removal{app: a, strategy: selvage.DeleteDetach}
	cmd := &cobra.Command{
		Use: "forget USER", Short: "Remove everything that is kept about a user", Args: exactly(1, "a user"),
		Long: `Remove every thread of a user and everything that is remembered about the user.
Threads of others below them become roots. What stays is the header of each
thread's last change, which says nothing of what was in it. Backups keep what
they hold. If it breaks off, the same command goes on.`,
		RunE: a.onUser(forChanging, func(ctx context.Context, store selvage.Store, user string) error {
			if !r.yes && !isTerminal(a.stdin) {
				return usage("add --yes if you mean it", "nobody can be asked whether to forget user %q", user)
			}
			return r.forget(ctx, store, user)
		}),
	}
	cmd.Flags().BoolVar(&r.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&r.force, "force", false, "even if a run is at work on one of the threads")
	return cmd
}

func (r *removal) forget(ctx context.Context, store selvage.Store, user string) error {
	if err := r.confirm(ctx, selvage.ThreadID("everything of user "+user), 1); err != nil {
		return err
	}
	doc := &forgotten{User: user, Threads: []selvage.ThreadID{}}
	for t, err := range everyThread(ctx, store, selvage.ThreadQuery{UserID: user}) {
		if err != nil {
			return err
		}
		err := r.forgetThread(ctx, store, t.ID)
		if errors.Is(err, selvage.ErrBusy) {
			return hinted(fmt.Errorf("thread %q: %w", t.ID, err), "stop it first, or forget the user all the same with --force")
		}
		if err != nil {
			return fmt.Errorf("thread %q: %w", t.ID, err)
		}
		doc.Threads = append(doc.Threads, t.ID)
	}
	if memory, ok := selvage.As[selvage.Memory](store); ok {
		n, err := memory.Clear(ctx, selvage.UserMemory(user))
		if err != nil {
			return err
		}
		doc.Memories = n
	}
	return r.show(doc, func() {
		r.note("forgot user %s: %d threads, %d memories", user, len(doc.Threads), doc.Memories)
	})
}

func (r *removal) forgetThread(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
	if !r.force {
		release, err := seize(ctx, store, []selvage.ThreadID{id})
		defer release()
		if errors.Is(err, selvage.ErrGone) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	err := store.Delete(ctx, id, r.strategy)
	if errors.Is(err, selvage.ErrNotFound) {
		return nil // somebody else was faster
	}
	return err
}
