package commit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// judgeBlobs refuses messages that refer to a blob that is not there. What is
// taken from a log may refer to one that stayed behind where it comes from.
func (p *Plan) judgeBlobs(r *Request, rd Reader) error {
	ids := blobsOf(r.Set.Messages, p.Change.Dropped)
	if len(ids) == 0 {
		return nil
	}
	known, err := rd.Blobs(ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if !known[i] {
			p.absent = append(p.absent, id)
		}
	}
	if r.again || r.copied || len(p.absent) == 0 {
		return nil
	}
	return absentBlob(r.Set.Messages, p.absent)
}

// absentBlob names the first part that refers to a blob that is not there.
func absentBlob(messages []selvage.Message, absent []selvage.Hash) error {
	for i := range messages {
		for j := range messages[i].Content {
			id, err := selvage.ParseBlobID(messages[i].Content[j].Blob)
			if err == nil && slices.Contains(absent, id) {
				return invalid(fmt.Sprintf("messages[%d].content[%d].blob", i, j), "there is no blob %s; put it first", messages[i].Content[j].Blob)
			}
		}
	}
	return nil
}

// RefersToBlobs reports whether a message of the set refers to a blob.
func (r *Request) RefersToBlobs() bool {
	return slices.ContainsFunc(r.Set.Messages, func(m selvage.Message) bool {
		return slices.ContainsFunc(m.Content, func(p selvage.Part) bool { return strings.HasPrefix(p.Blob, selvage.BlobScheme) })
	})
}

// blobsOf returns the blobs that messages refer to, each once and in order,
// those that are dropped left out.
func blobsOf(messages []selvage.Message, dropped []int) (ids []selvage.Hash) {
	for i := range messages {
		if slices.Contains(dropped, i) {
			continue
		}
		for j := range messages[i].Content {
			if id, err := selvage.ParseBlobID(messages[i].Content[j].Blob); err == nil {
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(a, b selvage.Hash) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}

// BlobsOf returns the blobs that the messages a change added refer to, as far
// as they were not erased.
func BlobsOf(c *selvage.Change) ([]selvage.Hash, error) {
	if !slices.ContainsFunc(c.Messages, func(m json.RawMessage) bool { return bytes.Contains(m, []byte(selvage.BlobScheme)) }) {
		return nil, nil
	}
	set, err := c.Set()
	if err != nil {
		return nil, err
	}
	return blobsOf(set.Messages, c.Dropped), nil
}

// checkBlob refuses what looks like an id of a blob and is none.
func checkBlob(field, id string) error {
	if !strings.HasPrefix(id, selvage.BlobScheme) {
		return nil
	}
	if _, err := selvage.ParseBlobID(id); err != nil {
		return invalid(field, "%q is no id of a blob; take it from where the blob was put", id)
	}
	return nil
}

// ReadBlob reads what is to be put. The error matches [selvage.ErrTooLarge],
// or is the reader's or the context's.
func ReadBlob(ctx context.Context, r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(patient{ctx, r}, selvage.MaxBlobBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read what is to be put: %w", err)
	case n > selvage.MaxBlobBytes:
		return nil, fmt.Errorf("a blob has at most %d bytes: %w", selvage.MaxBlobBytes, selvage.ErrTooLarge)
	}
	return b.Bytes(), nil
}

// patient is a reader that ends with its context.
type patient struct {
	ctx context.Context // of the one call that reads
	r   io.Reader
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}

// OpenBlob proves the content of a blob and returns it.
func OpenBlob(id string, content []byte) (io.ReadCloser, error) {
	if selvage.BlobID(content) != id {
		return nil, fmt.Errorf("its content is not what was put: %w", selvage.ErrCorrupt)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Grace returns the grace of a collection. The error matches
// [selvage.ErrInvalid].
func Grace(req selvage.BlobCollect) (time.Duration, error) {
	switch {
	case req.Grace == nil:
		return selvage.BlobGrace, nil
	case *req.Grace < 0:
		return 0, invalid("grace", "a grace may not be negative")
	default:
		return *req.Grace, nil
	}
}

// ErrNoBlob is the answer to who asks for a blob that is not there.
var ErrNoBlob = fmt.Errorf("there is no such blob: %w", selvage.ErrNotFound)
