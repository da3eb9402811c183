package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Trust is the list of directories whose selvage.yaml may grant power, kept in
// a file of the user's. A directory is known by its path without symbolic
// links; what is below it is not trusted with it.
type Trust struct {
	Path string // of the file, which need not exist
}

type trustFile struct {
	Directories []string `json:"directories"`
}

// Directories returns the trusted directories, sorted.
func (t Trust) Directories() ([]string, error) {
	data, err := os.ReadFile(t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read trusted directories: %w", err)
	}
	var f trustFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, &Error{Where: t.Path, Reason: "the list of trusted directories cannot be read: " + err.Error(), Err: err,
			Hint: "remove the file; then nothing is trusted"}
	}
	return f.Directories, nil
}

// Has reports whether dir is trusted.
func (t Trust) Has(dir string) (bool, error) {
	all, err := t.Directories()
	if err != nil || len(all) == 0 {
		return false, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, fmt.Errorf("is %s trusted: %w", dir, err)
	}
	return slices.Contains(all, real), nil
}

// Add trusts dir from now on and returns the path it is known by. The file is
// replaced in one step.
func (t Trust) Add(dir string) (string, error) {
	return t.change(dir, func(all []string, real string) []string { return append(all, real) })
}

// Remove ends the trust in dir, which need not exist any more.
func (t Trust) Remove(dir string) (string, error) {
	return t.change(dir, func(all []string, real string) []string {
		return slices.DeleteFunc(all, func(d string) bool { return d == real })
	})
}

func (t Trust) change(dir string, edit func(all []string, real string) []string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = filepath.Clean(dir), nil
	}
	if err != nil {
		return "", err
	}
	all, err := t.Directories()
	if err != nil {
		return "", err
	}
	all = edit(all, real)
	slices.Sort(all)
	data, err := json.MarshalIndent(trustFile{Directories: append([]string{}, slices.Compact(all)...)}, "", "  ")
	if err != nil {
		return "", err
	}
	return real, replace(t.Path, append(data, '\n'))
}

// replace writes a file beside path, private to the user, and renames it.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimPrefix(filepath.Base(path), ".")+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
