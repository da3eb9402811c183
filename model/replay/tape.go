package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// maxFile bounds a recording that is played, in bytes.
const maxFile = 256 << 20

// heading is the first line of a recording.
type heading struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

var current = heading{Format: "selvage-replay", Version: 1}

// entry is one attempt.
type entry struct {
	Model   string       `json:"model"`
	Price   *model.Price `json:"price,omitempty"`
	Attempt int          `json:"attempt,omitempty"`
	Digest  string       `json:"digest"`
	Request asked        `json:"request"`
	Chunks  []chunk      `json:"chunks,omitempty"`
	Error   *failure     `json:"error,omitempty"`
}

// chunk is a [model.Chunk]. Text that ends within a character is kept as bytes.
type chunk struct {
	Text      string               `json:"text,omitempty"`
	Reasoning string               `json:"reasoning,omitempty"`
	Signature string               `json:"signature,omitempty"`
	Writing   *selvage.PartialCall `json:"writing,omitempty"`
	ToolCall  *selvage.ToolCall    `json:"tool_call,omitempty"`
	Usage     *selvage.Usage       `json:"usage,omitempty"`
	Finish    model.Finish         `json:"finish,omitempty"`
}

// written is the JSON of a chunk.
type written struct {
	plain
	TextBytes      []byte `json:"text_bytes,omitempty"`
	ReasoningBytes []byte `json:"reasoning_bytes,omitempty"`
}

type plain chunk

// MarshalJSON implements [json.Marshaler].
func (c chunk) MarshalJSON() ([]byte, error) {
	w := written{plain: plain(c)}
	if !utf8.ValidString(c.Text) {
		w.Text, w.TextBytes = "", []byte(c.Text)
	}
	if !utf8.ValidString(c.Reasoning) {
		w.Reasoning, w.ReasoningBytes = "", []byte(c.Reasoning)
	}
	return json.Marshal(w)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *chunk) UnmarshalJSON(data []byte) error {
	var w written
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*c = chunk(w.plain)
	c.Text += string(w.TextBytes)
	c.Reasoning += string(w.ReasoningBytes)
	return nil
}

// failure is a [model.Error].
type failure struct {
	Class        model.Class `json:"class"`
	Status       int         `json:"status,omitempty"`
	RetryAfterMS int64       `json:"retry_after_ms,omitempty"`
	Message      string      `json:"message"`
}

func failureOf(err error, r *redactor) *failure {
	f := &failure{Class: model.ClassOf(err), Message: r.text(err.Error())}
	var e *model.Error
	if errors.As(err, &e) {
		f.Status, f.RetryAfterMS, f.Message = e.Status, e.RetryAfter.Milliseconds(), r.text(e.Err.Error())
	}
	return f
}

func (f *failure) err() error {
	return &model.Error{Class: f.Class, Status: f.Status, RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond, Err: errors.New(f.Message)}
}

// read returns the entries of a recording and how long it is without the part of
// a line that a dying process left.
func read(path string) (entries []*entry, whole int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, invalid("%s is not a file", path)
	case info.Size() > maxFile:
		return nil, 0, invalid("%s has more than %d bytes", path, maxFile)
	}
	in := bufio.NewReader(io.LimitReader(f, maxFile))
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		switch {
		case err != nil && number == 1 && len(line) > 0 && !bytes.HasPrefix([]byte(`{"format":"selvage-replay"`), line[:min(len(line), 26)]):
			return nil, 0, invalid("%s is not a recording: its first line does not say so", path)
		case err != nil:
			return entries, whole, nil
		}
		whole += int64(len(line))
		if number == 1 {
			var h heading
			if json.Unmarshal(line, &h) != nil || h.Format != current.Format {
				return nil, 0, invalid("%s is not a recording: its first line does not say so", path)
			}
			if h.Version != current.Version {
				return nil, 0, invalid("%s is a recording of version %d, and this program knows %d", path, h.Version, current.Version)
			}
			continue
		}
		e := &entry{}
		if err := json.Unmarshal(line, e); err != nil {
			return nil, 0, invalid("%s:%d: %v", path, number, err)
		}
		entries = append(entries, e)
	}
}

func invalid(format string, args ...any) error {
	return &selvage.InvalidError{Field: "recording", Reason: fmt.Sprintf(format, args...)}
}
