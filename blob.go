package selvage

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"time"
)

// Blobs keeps files and images beside the threads, each once, under the digest
// of its content. A message refers to one by [Part].Blob, "sha256:" and 64 hex
// digits, and may do so as soon as Put has returned; what begins otherwise is a
// reference to something elsewhere, of which no store knows anything.
//
// Every store is one. Blobs are a tenant's own: the same content of two tenants
// is kept twice.
type Blobs interface {
	// Put keeps what r yields, at most [MaxBlobBytes], and names it. It is read
	// into memory first. Content that is there already is not written again, and
	// counts as new for Collect. An error of r's own is returned, wrapped, and
	// nothing was kept; so is nothing that exceeds the bound, which matches
	// [ErrTooLarge]. To put the same again is always safe.
	Put(ctx context.Context, r io.Reader) (BlobRef, error)

	// Open returns the content of a blob, which was proved to be what was put:
	// else the error matches [ErrCorrupt]. A blob that is not there matches
	// [ErrNotFound], an id that is none [ErrInvalid].
	Open(ctx context.Context, id string) (io.ReadCloser, error)

	// Stat tells about a blob without reading it. Errors are those of Open.
	Stat(ctx context.Context, id string) (BlobInfo, error)

	// Collect deletes the blobs that no message refers to and that were put
	// longer ago than the grace. A message that was erased, and one of a deleted
	// thread, refers to nothing; one that a rewind hid still does. It works in
	// transactions of bounded size, and never deletes what an append of the same
	// moment refers to: that append, or the deletion, comes to nothing. The store
	// that was opened collects the blobs of all tenants.
	Collect(ctx context.Context, req BlobCollect) (BlobReport, error)
}

// Bounds of blobs.
const (
	// MaxBlobBytes bounds a blob, in bytes.
	MaxBlobBytes = 32 << 20
	// BlobGrace is how long a blob that nothing refers to is kept unless told
	// otherwise: long enough for who put it to append the message.
	BlobGrace = 24 * time.Hour
)

// BlobRef names a blob.
type BlobRef struct {
	ID   string `json:"id"`   // "sha256:" and 64 hex digits
	Size int64  `json:"size"` // in bytes
}

// BlobInfo tells about a blob.
type BlobInfo struct {
	BlobRef
	PutAt      time.Time `json:"put_at"`     // when it was last put
	References int       `json:"references"` // how many changes carry a message that refers to it
}

// BlobCollect says what is to be collected.
type BlobCollect struct {
	// Grace keeps what was put less long ago; nil is [BlobGrace].
	Grace *time.Duration
	// DryRun works out the report and deletes nothing.
	DryRun bool
}

// BlobReport tells what was collected, or would be.
type BlobReport struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
}

// BlobScheme begins the ids of blobs that a store keeps.
const BlobScheme = "sha256:"

// BlobID is the id of content.
func BlobID(content []byte) string { return BlobScheme + Hash(sha256.Sum256(content)).String() }

// ParseBlobID returns the digest that names a blob. The error matches
// [ErrInvalid].
func ParseBlobID(id string) (h Hash, err error) {
	digits, ours := strings.CutPrefix(id, BlobScheme)
	if !ours || h.UnmarshalText([]byte(digits)) != nil || h.String() != digits {
		return Hash{}, &InvalidError{Field: "blob", Reason: fmt.Sprintf("%q is no id of a blob; it is %s and 64 hex digits in lower case", id, BlobScheme)}
	}
	return h, nil
}
