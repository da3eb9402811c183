package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

func (a *app) threadCommand() *cobra.Command {
	return group("thread", "Look at threads, change and remove them",
		a.threadLsCommand(), a.threadShowCommand(), a.threadLogCommand(), a.threadMessagesCommand(),
		a.threadStateCommand(), a.threadDiffCommand(), a.threadBlameCommand(), a.threadForkCommand(),
		a.threadRewindCommand(), a.threadTryCommand(), a.threadEditCommand(), a.threadTreeCommand(), a.threadWatchCommand(), a.threadExportCommand(), a.threadImportCommand(), a.threadPruneCommand(), a.threadExpireCommand(), a.threadVerifyCommand(), a.threadEraseCommand(), a.threadRmCommand())
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
			return plainly(id, body(ctx, store, id))
		})
	}
}

// plainly leaves out what an error says about a thread before it names the
// thread once more.
func plainly(id selvage.ThreadID, err error) error {
	if err == nil {
		return nil
	}
	name := fmt.Sprintf("thread %q", id)
	if text := err.Error(); strings.Count(text, name) > 1 {
		return &retold{err: err, text: text[strings.LastIndex(text, name):]}
	}
	return err
}

// notReached says where to look for the versions of a thread that has no such
// version.
func notReached(ctx context.Context, store selvage.Store, id selvage.ThreadID, at selvage.Version, err error) error {
	if at != 0 && errors.Is(err, selvage.ErrGone) {
		return hinted(err, "`selvage thread log "+quote(string(id))+" -o json` tells which versions are compacted; what was archived is in the archive")
	}
	if at == 0 || !errors.Is(err, selvage.ErrNotFound) {
		return err
	}
	none := 0
	if _, missing := store.Load(ctx, id, selvage.LoadOptions{Messages: &none}); missing != nil {
		return err
	}
	return hinted(err, "`selvage thread log "+quote(string(id))+"` lists its versions")
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
