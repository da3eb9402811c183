package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// homeMode keeps conversations from other users of the machine.
const homeMode = 0o700

// makeHome creates the folder of the user's data if it is not there.
func makeHome(home string) error {
	if err := os.MkdirAll(home, homeMode); err != nil {
		return &failure{exit: exitFailed, class: "home", err: fmt.Errorf("create the home %s: %w", home, cause(err)),
			hint: "set SELVAGE_HOME to a folder you may write in"}
	}
	return nil
}

// path makes a path of the command line absolute.
func (a *app) path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.dir, path)
}

// cause leaves out the operation and the path that errors of the os repeat.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
