package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/selvagehq/selvage"
)

// openInput opens a file to read, or stdin for "-".
func (a *app) openInput(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(a.stdin), nil
	}
	f, err := os.Open(a.path(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, hinted(fmt.Errorf("file %s: %w", path, errMissing), "check the path")
	case err != nil:
		return nil, hinted(fmt.Errorf("file %s: %v: %w", path, cause(err), selvage.ErrUnavailable), "check its permissions")
	}
	return f, nil
}
