package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Writer writes an archive. Nothing is complete before Close.
type Writer struct {
	out   *zstd.Encoder
	sum   hash.Hash
	items int64
	buf   bytes.Buffer
}

// NewWriter writes the header.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	out, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	h.Selvage, h.Format = kindBackup, Format
	a := &Writer{out: out, sum: sha256.New()}
	if err := a.write(&h); err != nil {
		return nil, err
	}
	// What is cut off anywhere behind the header is known for what it is.
	if err := out.Flush(); err != nil {
		return nil, &WriteError{err}
	}
	return a, nil
}

// WriteError is that the writer below took no more.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return "write the backup: " + e.Err.Error() }

func (e *WriteError) Unwrap() error { return e.Err }

// write writes a line. HTML is not escaped, so that the bytes of a change stay
// what they are.
func (a *Writer) write(v any) error {
	a.buf.Reset()
	e := json.NewEncoder(&a.buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	a.sum.Write(a.buf.Bytes())
	if _, err := a.out.Write(a.buf.Bytes()); err != nil {
		return &WriteError{err}
	}
	return nil
}

// Add writes an item.
func (a *Writer) Add(item *Item) error {
	a.items++
	return a.write(item)
}

// Items is how many items were written.
func (a *Writer) Items() int64 { return a.items }

// Close writes what proves that the archive is complete. It does not close the
// writer below.
func (a *Writer) Close() error {
	if err := a.write(&end{End: true, Items: a.items, SHA256: a.sum.Sum(nil)}); err != nil {
		return err
	}
	if err := a.out.Close(); err != nil {
		return &WriteError{err}
	}
	return nil
}

// Abandon ends an archive that is to stay incomplete.
func (a *Writer) Abandon() { a.out.Reset(io.Discard); _ = a.out.Close() }
