package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/selvagehq/selvage"
)

// locate checks where a database is to be, makes the directory and an empty
// file if they are missing, and returns the absolute path.
//
// Conversations are private: the directory is made 0700 and the file 0600,
// and SQLite gives the files beside it the same mode. Sync forces the entries
// of a directory to the disk.
func locate(path string, sync func(dir string) error) (string, error) {
	if path == "" || strings.HasPrefix(path, ":") || strings.ContainsRune(path, 0) {
		return "", &selvage.InvalidError{Field: "path", Reason: fmt.Sprintf("%q is not the path of a file", path)}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("database %s: %w: %w", path, selvage.ErrUnavailable, err)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return "", &selvage.InvalidError{Field: "path", Reason: path + " is a directory; name a file in it, such as " + filepath.Join(path, "selvage.db")}
	case err == nil && !info.Mode().IsRegular():
		return "", &selvage.InvalidError{Field: "path", Reason: path + " is not a regular file"}
	case err == nil:
		return path, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("database %s cannot be looked at: %w: %w", path, selvage.ErrUnavailable, err)
	}
	if err := create(path, sync); err != nil {
		return "", fmt.Errorf("database %s cannot be created: %w: %w", path, selvage.ErrUnavailable, err)
	}
	return path, nil
}

// create makes an empty file, which is an empty database, and sees to it that
// a loss of power takes neither it nor a directory on the way to it.
func create(path string, sync func(dir string) error) error {
	dir := filepath.Dir(path)
	changed := []string{dir} // directories that got an entry
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		changed = append(changed, filepath.Dir(at))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := createFile(dir, path); err != nil {
		return err
	}
	for _, dir := range changed {
		if err := sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// syncDisk forces the entries of a directory, or what a file holds, to the disk.
func syncDisk(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	mode := os.O_RDWR // which some systems want of what they are to flush
	if info.IsDir() {
		mode = os.O_RDONLY
		if runtime.GOOS == "windows" {
			return nil // its directories cannot be synced, and need not be
		}
	}
	d, err := os.OpenFile(name, mode, 0)
	if info.IsDir() && errors.Is(err, fs.ErrPermission) {
		return nil // it may be entered, not read
	}
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // its file system has no use for that
	}
	return errors.Join(err, d.Close())
}

// createFile makes an empty file.
//
// It appears under its name only once it is closed: closing a file drops every
// lock that this process holds on it, those of a connection too that another
// goroutine may just have opened.
func createFile(dir, path string) error {
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	err = os.Link(f.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	// A file system without links. Nobody can have opened what is not there.
	f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
