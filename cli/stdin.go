package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

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

// tooLong is a message that no store takes. What says how it compares to the
// limit.
func tooLong(what string) error {
	return &failure{exit: exitUsage, class: "too_large", err: fmt.Errorf("the message is too long: %s %d bytes", what, selvage.MaxSetBytes),
		hint: "send it in parts, or put it into a file that a tool reads"}
}

// checkText refuses a message that cannot be kept as it is.
func checkText(text string) error {
	switch {
	case len(text) > selvage.MaxSetBytes:
		return tooLong(fmt.Sprintf("it has %d of at most", len(text)))
	case !utf8.ValidString(text):
		return &failure{exit: exitUsage, class: "invalid", err: errors.New("the message is not UTF-8 text"),
			hint: "convert it first: iconv -f latin1 -t utf8", details: map[string]any{"field": "message", "reason": "not valid UTF-8"}}
	}
	return nil
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
		if len(all.text) > selvage.MaxSetBytes {
			return "", tooLong("it has more than")
		}
		return strings.TrimSuffix(strings.TrimSuffix(all.text, "\n"), "\r"), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
