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
file, while the store is in use. The file is complete or it is not there; -
writes to stdout. Any kind of store can be restored from it: ` + "`store restore FILE`" + `.`,
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
	if name == "-" {
		_, err := b.Backup(ctx, a.out, selvage.BackupOptions{})
		return err
	}
	path := a.path(name)
	if err := a.mayReplace(name, path, force); err != nil {
		return err
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

// mayReplace refuses to put a file where something else must stay: what is there
// is replaced as a whole, and whoever has it open keeps what is gone.
func (a *app) mayReplace(name, path string, force bool) error {
	is, err := os.Stat(path)
	if err != nil {
		return nil // writing it tells what is wrong
	}
	if !is.Mode().IsRegular() {
		return usage("name a file; - writes to stdout", "%s is no file", name)
	}
	url, err := a.storeURL()
	if err != nil {
		return err
	}
	if own, local := localPath(url); local {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if part, err := os.Stat(own + suffix); err == nil && os.SameFile(part, is) {
				return usage("name another file", "%s is the store itself", name)
			}
		}
	}
	if !force {
		return &failure{exit: exitConflict, class: "already_exists", err: fmt.Errorf("file %s is there already", name), hint: "name another one, or add --force"}
	}
	return nil
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
