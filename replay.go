package selvage

import (
	"context"
	"time"
)

// Replay keeps what was sent over a protocol, byte for byte, so that a client
// that comes back is sent the same again and no projection runs twice. Rows
// stand in streams; a row is named by the id it had on the wire. It is found
// with [As].
type Replay interface {
	// Append adds rows to the end of a stream, all or none, and returns them
	// as they stand in it. A row whose wire id the stream has with the same
	// type and payload is answered with the first one; with others, or in
	// another stream of the same protocol and version, it matches
	// [ErrAlreadyExists] and nothing is written. So the same rows may be sent
	// again after any error.
	//
	// A row never expires before the one before it: an earlier time is raised
	// to that one's. A stream of a thread that does not exist matches
	// [ErrNotFound].
	Append(ctx context.Context, s ReplayStream, rows []ReplayDraft) ([]ReplayRow, error)

	// List returns the rows of a stream after a wire id, in the order they
	// were sent; after "" from the first one that is left. A wire id that the
	// stream does not have, or no longer, matches [ErrCursorExpired]; a row
	// that is missing between others [ErrCorrupt].
	List(ctx context.Context, s ReplayStream, q ReplayQuery) (ReplayPage, error)

	// Redact drops the payload of a row for good. The row stays in its place
	// and is listed without it. A row that is not there matches [ErrNotFound];
	// redacting twice is no error.
	Redact(ctx context.Context, s ReplayStream, wireID string) error
}

// Bounds of a [Replay].
const (
	// MaxReplayBytes bounds the payload of one row, in bytes.
	MaxReplayBytes = 256 << 10
	// MaxReplayRows bounds the rows of one append.
	MaxReplayRows = 200
)

// ReplayStream names a stream. Streams of different protocols, or of different
// versions of one, have nothing to do with each other. A stream with a
// ThreadID is deleted with that thread.
type ReplayStream struct {
	ThreadID ThreadID `json:"thread_id,omitempty"`
	ID       string   `json:"id"` // of the run, say
	Protocol string   `json:"protocol"`
	Version  string   `json:"version"` // of the protocol
}

// ReplayDraft is a row to add.
type ReplayDraft struct {
	WireID    string     `json:"wire_id"`
	Type      string     `json:"type,omitempty"` // of the event on the wire
	Payload   []byte     `json:"payload"`
	Projector string     `json:"projector,omitempty"` // version of what made it
	Sources   []string   `json:"sources,omitempty"`   // positions of the events it was made from
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// ReplayRow is a row as it is kept.
type ReplayRow struct {
	ReplayDraft

	Seq       int64     `json:"seq"`                // in its stream, from 1 and dense
	Redacted  bool      `json:"redacted,omitempty"` // Payload is gone
	CreatedAt time.Time `json:"created_at"`
}

// ReplayQuery selects rows of a stream.
type ReplayQuery struct {
	After string // a wire id
	Limit *int   // see [PageLimit]
}

// ReplayPage is one page of rows. Next is the wire id to go on after, and empty
// on the last page.
type ReplayPage struct {
	Items []ReplayRow `json:"items"`
	Next  string      `json:"next,omitempty"`
}
