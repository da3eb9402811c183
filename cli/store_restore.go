package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) storeRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Make a store again from a backup", Args: exactly(1, "a file that store backup wrote, or - for stdin"),
		Long: `Make a store again from a file that ` + "`store backup`" + ` wrote, whichever kind of store
it was written from. The store must be empty. Every change is proved while it is
read. The file of a store that does not exist is there when all of it is
restored, or not at all. If anything else fails, throw away what was made and
begin with an empty store.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := a.openInput(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }() // it was only read
			report, err := a.restore(cmd.Context(), file)
			if err != nil {
				return explainRestore(err)
			}
			doc := &backupDocument{File: args[0], Items: report.Items, Bytes: sizeOf(a.path(args[0]))}
			return a.show(doc, func() { a.note("restored %d items from %s", doc.Items, args[0]) })
		},
	}
}

// restore reads a backup into the store that was chosen.
func (a *app) restore(ctx context.Context, from io.Reader) (report selvage.BackupReport, err error) {
	url, err := a.storeURL()
	if err != nil {
		return report, err
	}
	path, local := localPath(url)
	if local && offered(url, path) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return a.restoreFile(ctx, path, from)
		}
	}
	return a.restoreInto(ctx, url, from)
}

func (a *app) restoreInto(ctx context.Context, url string, from io.Reader) (report selvage.BackupReport, err error) {
	store, err := a.openURL(ctx, url, a.conf.Get("store").Set(), forWriting)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	b, ok := selvage.As[selvage.Backup](store)
	if !ok {
		return report, lacks("be restored", "backup")
	}
	p := a.progress("restored", "items", 0)
	defer p.end()
	return b.Restore(ctx, from, selvage.BackupOptions{Told: func(items int64) { p.add(items - p.done) }})
}

// restoreFile makes the file of a store beside its place and moves it there
// when it is complete: half of a store would look like a whole one.
func (a *app) restoreFile(ctx context.Context, path string, from io.Reader) (report selvage.BackupReport, err error) {
	made := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+selvage.NewID())
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			err = errors.Join(err, ignoreGone(os.Remove(made+suffix)))
		}
	}()
	if report, err = a.restoreInto(ctx, "sqlite:"+made, from); err != nil {
		return report, err
	}
	if sizeOf(made+"-wal") > 0 {
		return report, fmt.Errorf("store %s: another program has it open while it is made: %w", made, selvage.ErrUnavailable)
	}
	// A link does not replace what somebody else has made meanwhile. Where there
	// are no links, nobody is expected to.
	err = os.Link(made, path)
	if errors.Is(err, fs.ErrExist) {
		return report, fmt.Errorf("store %s was made meanwhile: %w", path, selvage.ErrAlreadyExists)
	}
	if err != nil {
		err = os.Rename(made, path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return report, notWritable(path, err)
	}
	return report, nil
}

func explainRestore(err error) error {
	switch {
	case errors.Is(err, selvage.ErrAlreadyExists):
		return hinted(err, "name a new one with --store; `selvage store copy` adds to a store that is not empty")
	case errors.Is(err, selvage.ErrCorrupt):
		return hinted(err, "use another backup, and throw away what was made of the store")
	default:
		return err
	}
}
