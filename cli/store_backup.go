package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// backupDocument is what a backup, or its restoration, came to in JSON.
type backupDocument struct {
	File  string `json:"file"`
	Items int64  `json:"items"`
	Bytes int64  `json:"bytes"`
}

func (a *app) storeBackupCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write everything the store keeps to a file", Args: exactly(1, "the file to write"),
		Long: `Write everything the store keeps, for all tenants and as of one moment, to a
file, while the store is in use. The file is complete or it is not there. Any
kind of store can be restored from it: ` + "`store restore FILE`" + `.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), forReading, func(ctx context.Context, store selvage.Store) error {
				return a.backup(ctx, store, args[0], force)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	return cmd
}

func (a *app) backup(ctx context.Context, store selvage.Store, name string, force bool) (err error) {
	b, ok := selvage.As[selvage.Backup](store)
	if !ok {
		return lacks("be backed up", "backup")
	}
	path := a.path(name)
	if _, err := os.Stat(path); err == nil && !force {
		return &failure{exit: exitConflict, class: "already_exists", err: fmt.Errorf("file %s is there already", name), hint: "name another one, or add --force"}
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return notWritable(name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreGone(os.Remove(file.Name())))
		}
	}()
	p := a.progress("wrote", "items", 0)
	report, err := b.Backup(ctx, file, selvage.BackupOptions{Told: func(items int64) { p.add(items - p.done) }})
	p.end()
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return notWritable(name, err)
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return notWritable(name, err)
	}
	doc := &backupDocument{File: name, Items: report.Items, Bytes: sizeOf(path)}
	return a.show(doc, func() { a.note("wrote %s: %d items, %s", name, doc.Items, bytesOf(doc.Bytes)) })
}

func notWritable(name string, err error) error {
	return hinted(fmt.Errorf("file %s: %v: %w", name, cause(err), selvage.ErrUnavailable), "check the path, its permissions and that the disk is not full")
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// syncFolder makes a new name outlive a loss of power.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (a *app) storeRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Make a store again from a backup", Args: exactly(1, "a file that store backup wrote"),
		Long: `Make a store again from a file that ` + "`store backup`" + ` wrote, whichever kind of store
it was written from. The store must be empty; a file of a store that does not
exist is made. Every change is proved while it is read. If it fails, throw away
what was made and begin with an empty store.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := a.openInput(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }() // it was only read
			return a.withStore(cmd.Context(), forWriting, func(ctx context.Context, store selvage.Store) error {
				b, ok := selvage.As[selvage.Backup](store)
				if !ok {
					return lacks("be restored", "backup")
				}
				p := a.progress("restored", "items", 0)
				defer p.end()
				report, err := b.Restore(ctx, file, selvage.BackupOptions{Told: func(items int64) { p.add(items - p.done) }})
				if err != nil {
					return explainRestore(err)
				}
				p.end()
				doc := &backupDocument{File: args[0], Items: report.Items, Bytes: sizeOf(a.path(args[0]))}
				return a.show(doc, func() { a.note("restored %d items from %s", doc.Items, args[0]) })
			})
		},
	}
}

func explainRestore(err error) error {
	switch {
	case errors.Is(err, selvage.ErrAlreadyExists):
		return hinted(err, "name a new one with --store; `selvage store copy` adds to a store that is not empty")
	case errors.Is(err, selvage.ErrCorrupt):
		return hinted(err, "use another backup, and throw away the store that was made")
	default:
		return err
	}
}
