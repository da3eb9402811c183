package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

func (a *app) threadCommand() *cobra.Command {
	return group("thread", "Look at threads and remove them",
		a.threadLsCommand(), a.threadShowCommand(), a.threadLogCommand(), a.threadMessagesCommand(),
		a.threadStateCommand(), a.threadVerifyCommand(), a.threadRmCommand())
}

// onThread makes the body of a command that reads the thread named by its
// first argument.
func (a *app) onThread(body func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := threadID(args[0])
		if err != nil {
			return err
		}
		return a.withStore(cmd.Context(), forReading, func(ctx context.Context, store selvage.Store) error {
			return body(ctx, store, id)
		})
	}
}

// threadID checks an id before any store is opened for it.
func threadID(text string) (selvage.ThreadID, error) {
	id := selvage.ThreadID(text)
	if err := commit.CheckThreadID(id); err != nil {
		return "", hinted(err, "`selvage thread ls -q` lists ids")
	}
	return id, nil
}

// withStore opens the store for body and closes it after.
func (a *app) withStore(ctx context.Context, why purpose, body func(context.Context, selvage.Store) error) (err error) {
	store, err := a.openStore(ctx, why)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return body(ctx, store)
}
