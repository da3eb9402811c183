package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"

	"github.com/selvagehq/selvage"
)

// Bounds of what is read.
const (
	maxLine   = 64 << 20  // bytes of a line: a blob in base64
	maxMemory = 256 << 20 // bytes the decoder may take
)

// Reader reads an archive.
type Reader struct {
	Header Header
	in     *zstd.Decoder
	lines  *bufio.Reader
	sum    hash.Hash
	items  int64
}

// NewReader reads the header. Close the reader. The error matches
// [selvage.ErrInvalid] if r holds no archive, and [selvage.ErrUnsupported] if a
// newer program wrote it.
func NewReader(r io.Reader) (*Reader, error) {
	in, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxMemory))
	if err != nil {
		return nil, notOne(err)
	}
	a := &Reader{in: in, lines: bufio.NewReaderSize(in, 64<<10), sum: sha256.New()}
	data, err := a.line()
	if err == nil {
		a.sum.Write(data)
		err = json.Unmarshal(data, &a.Header)
	}
	switch h := &a.Header; {
	case err != nil || h.Selvage != kindBackup:
		in.Close()
		return nil, notOne(err)
	case h.Format != Format:
		in.Close()
		return nil, fmt.Errorf("the backup has format %d and this program knows %d; use a newer one: %w", h.Format, Format, selvage.ErrUnsupported)
	}
	return a, nil
}

func notOne(err error) error {
	reason := "it is no backup"
	if err != nil {
		reason += ": " + err.Error()
	}
	return &selvage.InvalidError{Field: "backup", Reason: reason}
}

// line reads a line with its end.
func (a *Reader) line() ([]byte, error) {
	var whole []byte
	for {
		part, err := a.lines.ReadSlice('\n')
		whole = append(whole, part...)
		switch {
		case len(whole) > maxLine:
			return nil, fmt.Errorf("item %d has more than %d bytes: %w", a.items+1, maxLine, selvage.ErrTooLarge)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		default:
			return whole, nil
		}
	}
}

// Items goes through the items. What is damaged, or cut off, matches
// [selvage.ErrCorrupt]: only after the last item without an error everything
// is known to have been there.
func (a *Reader) Items() iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		for {
			item, err := a.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// next reads an item, or io.EOF at the proven end.
func (a *Reader) next() (*Item, error) {
	data, err := a.line()
	if err != nil {
		if errors.Is(err, selvage.ErrTooLarge) {
			return nil, err
		}
		return nil, fmt.Errorf("the backup breaks off after item %d (%v): %w", a.items, err, selvage.ErrCorrupt)
	}
	sum := a.sum.Sum(nil)
	a.sum.Write(data)
	l := &line{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("item %d of the backup cannot be read (%v): %w", a.items+1, err, selvage.ErrCorrupt)
	}
	if !l.End {
		a.items++
		return &l.Item, nil
	}
	if l.end.Items != a.items || !bytes.Equal(l.SHA256, sum) {
		return nil, fmt.Errorf("the backup is not what was written: its digest is another: %w", selvage.ErrCorrupt)
	}
	return nil, io.EOF
}

// Close releases what the reader holds. It does not close the reader below.
func (a *Reader) Close() { a.in.Close() }
