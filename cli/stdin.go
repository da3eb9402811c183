package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/selvagehq/selvage"
)

// line is what was typed, or why no more will come.
type line struct {
	text string
	err  error
}

// typed reads lines until the reader ends. Its goroutine may stay blocked in a
// read after everybody left; it ends with the stream.
func typed(ctx context.Context, r io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		buffered := bufio.NewReader(r)
		for {
			text, err := buffered.ReadString('\n')
			if text != "" {
				select {
				case lines <- line{text: strings.TrimRight(text, "\r\n")}:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					select {
					case lines <- line{err: fmt.Errorf("read stdin: %w", err)}:
					case <-ctx.Done():
					}
				}
				return
			}
		}
	}()
	return lines
}

// readAll returns everything that is on r but the line break at its end. It
// gives up when ctx ends.
func readAll(ctx context.Context, r io.Reader) (string, error) {
	read := make(chan line, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, selvage.MaxSetBytes+1))
		read <- line{string(data), err}
	}()
	select {
	case all := <-read:
		if all.err != nil {
			return "", fmt.Errorf("read stdin: %w", all.err)
		}
		return strings.TrimSuffix(strings.TrimSuffix(all.text, "\n"), "\r"), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
