package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

type appendIn struct {
	Path string `json:"path" jsonschema:"file to append to, relative to the allowed directory; made if it does not exist"`
	Line string `json:"line" jsonschema:"one line of text, without the line break"`
}

// appendFile appends lines to files under root. When it succeeds the line is
// on disk.
func appendFile(root string) tool.Tool {
	return tool.Func("append_file", "Appends a line to a file.", func(_ context.Context, in appendIn) (string, error) {
		if strings.ContainsAny(in.Line, "\n\r\x00") {
			return "", errors.New("line is one line; call again for the next")
		}
		dir := root
		if dir == "" {
			dir = "."
		}
		if err := appendLine(dir, in.Path, in.Line); err != nil {
			return "", err
		}
		return fmt.Sprintf("Appended to %s.", in.Path), nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown})
}

// appendLine writes line and a line break in one write. The path cannot leave
// dir, neither by name nor through a link.
func appendLine(dir, path, line string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the allowed directory: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()

	info, err := root.Stat(path)
	created := errors.Is(err, fs.ErrNotExist)
	if err != nil && !created {
		return err
	}
	if !created && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	file, err := root.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil || !created {
		return err
	}
	return syncDirectory(root, filepath.Dir(path))
}

// syncDirectory makes the name of a new file durable.
func syncDirectory(root *os.Root, path string) error {
	dir, err := root.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
