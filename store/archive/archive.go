// Package archive is the form of backups, the same for every store: lines of
// JSON, compressed with Zstandard. A header comes first, then blobs, changes,
// deliveries and records in any order that has what is referred to before what
// refers to it, and at the end what proves that all of it is there. Whoever
// reads a change proves it by its chain besides.
//
// Store authors need it; users of a store do not.
package archive

import (
	"time"

	"github.com/selvagehq/selvage"
)

// Format is the version of what [Writer] writes.
const Format = 1

// Header is the first line.
type Header struct {
	Selvage    string    `json:"selvage"` // "backup"
	Format     int       `json:"format"`
	Backend    string    `json:"backend"` // of the store it was made of
	Generation int64     `json:"generation"`
	At         time.Time `json:"at"` // when it was begun
}

const kindBackup = "backup"

// Item is something that a store keeps, for one tenant: exactly one of the
// pointers is set.
type Item struct {
	Tenant   string          `json:"tenant,omitempty"`
	Blob     *Blob           `json:"blob,omitempty"`
	Change   *selvage.Change `json:"change,omitempty"`
	Delivery *Delivery       `json:"delivery,omitempty"`
	Record   *Record         `json:"record,omitempty"`
}

// Blob is the content of a blob.
type Blob struct {
	ID   string `json:"id"`
	Data []byte `json:"data"`
}

// Delivery is how an entry of the outbox stands. Claims are not kept: what was
// claimed is due.
type Delivery struct {
	Thread      selvage.ThreadID `json:"thread"`
	Version     selvage.Version  `json:"version"`
	Index       int              `json:"index"`
	Lane        string           `json:"lane"`
	Target      string           `json:"target"`
	Status      int              `json:"status"` // 0 due, 1 delivered, 2 dead
	AvailableAt time.Time        `json:"available_at"`
	DoneAt      time.Time        `json:"done_at,omitzero"`
	Attempts    int              `json:"attempts,omitempty"`
	MaxAttempts int              `json:"max_attempts"`
	Key         []byte           `json:"key,omitempty"`
	Digest      []byte           `json:"digest,omitempty"`
	LastError   string           `json:"last_error,omitempty"`
}

// The statuses of a delivery.
const (
	Due = iota
	Delivered
	Dead
)

// Record is a row that is no thread.
type Record struct {
	Space   string           `json:"space"`
	Key     []byte           `json:"key"`
	Value   []byte           `json:"value"`
	Thread  selvage.ThreadID `json:"thread,omitempty"`
	Expires time.Time        `json:"expires,omitzero"`
}

// end is the last line.
type end struct {
	End    bool   `json:"end"`
	Items  int64  `json:"items"`
	SHA256 []byte `json:"sha256"` // of all lines before
}

// line is any line but the first.
type line struct {
	Item
	end
}
