package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

type appendIn struct {
	Path string `json:"path" jsonschema:"file to append to, relative to the allowed directory; made if it does not exist"`
	Line string `json:"line" jsonschema:"one line of text, without the line break"`
}

// appendFile appends lines to files under root. When it succeeds the line is
// on disk.
func appendFile(root string, unknown selvage.OnUnknown) tool.Tool {
	if root == "" {
		root = "."
	}
	if unknown == "" {
		unknown = tool.AskUnknown
	}
	return tool.Func("append_file", "Appends a line to a file.", func(_ context.Context, in appendIn) (string, error) {
		if strings.ContainsAny(in.Line, "\n\r\x00") {
			return "", errors.New("line is one line; call again for the next")
		}
		if err := appendLine(root, in.Path, in.Line); err != nil {
			return "", plainly(in.Path, err)
		}
		return appended(in.Path), nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: unknown,
		Probe: func(_ context.Context, c *tool.Call) (tool.Finding, selvage.ToolResult, error) {
			var in appendIn
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return tool.Unresolved, selvage.ToolResult{}, err
			}
			found, err := findLine(root, in.Path, in.Line)
			return found, tool.Text(appended(in.Path)), err
		}})
}

func appended(path string) string { return fmt.Sprintf("Appended to %s.", path) }

// appendLine writes line and a line break in one write. The path cannot leave
// dir, neither by name nor through a link.
func appendLine(dir, path, line string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &rootError{dir, err}
	}
	defer func() { err = errors.Join(err, root.Close()) }()

	info, err := root.Stat(path)
	created := errors.Is(err, fs.ErrNotExist)
	if err != nil && !created {
		return err
	}
	if !created && !info.Mode().IsRegular() {
		return errNotRegular
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

var errNotRegular = errors.New("not a regular file")

// rootError is that the allowed directory cannot be opened.
type rootError struct {
	dir string
	err error
}

func (e *rootError) Error() string {
	return fmt.Sprintf("the directory that append_file may write to, %s, cannot be used: %v; people choose it in the setting tools.append_file.root", e.dir, bare(e.err))
}

func (e *rootError) Unwrap() error { return e.err }

// plainly says to the model what is wrong with a path, and what would not be.
func plainly(path string, err error) error {
	var root *rootError
	var no syscall.Errno
	switch {
	case errors.As(err, &root):
		return err
	case path == "":
		return errors.New("path is empty; name a file, such as notes.txt")
	case errors.Is(err, errNotRegular):
		return fmt.Errorf("%.200q is %w, so no line can be appended to it; name another", path, err)
	case !filepath.IsLocal(path) || !errors.As(err, &no):
		// What is no error of the system is said by the root, of a link.
		return fmt.Errorf("%.200q is outside the directory that append_file may write to; name a path inside it, such as notes.txt", path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder of %.200q does not exist, and append_file makes none; name a file in one that is there", path)
	default:
		return fmt.Errorf("%.200q cannot be appended to: %w", path, no)
	}
}

// bare is an error without the name of the call that failed, and of its path.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// syncDirectory makes the name of a new file durable.
func syncDirectory(root *os.Root, path string) error {
	dir, err := root.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// maxProbed bounds the file that is searched for a line.
const maxProbed = 64 << 20

// findLine looks whether a line was appended. A line that is there once is
// taken for the one that was to be appended, so it must be unlike any other; one
// that is there twice, or the beginning of which ends the file, decides nothing.
func findLine(dir, path, line string) (tool.Finding, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return tool.Unresolved, err
	}
	defer func() { _ = root.Close() }() // it was only read
	info, err := root.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Untouched, nil
	case err != nil:
		return tool.Unresolved, err
	case !info.Mode().IsRegular() || info.Size() > maxProbed:
		return tool.Unresolved, nil
	}
	file, err := root.Open(path)
	if err != nil {
		return tool.Unresolved, err
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxProbed+1))
	if err != nil || len(content) > maxProbed {
		return tool.Unresolved, err
	}
	return lineIn(content, line), nil
}

func lineIn(content []byte, line string) tool.Finding {
	times, tail := 0, []byte(nil)
	for l := range bytes.Lines(content) {
		whole, ended := bytes.CutSuffix(l, []byte("\n"))
		switch {
		case !ended:
			tail = whole
		case string(whole) == line:
			times++
		}
	}
	torn := len(tail) > 0 && strings.HasPrefix(line, string(tail))
	switch {
	case times == 1 && !torn:
		return tool.Happened
	case times == 0 && !torn:
		return tool.Untouched
	}
	return tool.Unresolved
}
