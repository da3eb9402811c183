package selvage

import (
	"context"
	"encoding/json"
	"time"
)

// Audit keeps who changed what. Entries are only ever added, and go by age
// alone: forgetting a user or deleting a thread leaves them. Secrets are the
// caller's to leave out, and so is what a person said. It is found with [As].
type Audit interface {
	// Append writes one entry and returns it with its id, time and tenant. An
	// id that was written before with the same content answers the first
	// entry, so that a lost answer can be retried; with other content it
	// matches [ErrAlreadyExists].
	Append(ctx context.Context, e AuditEntry) (AuditEntry, error)

	// Query returns a page of entries, newest first. A page may hold fewer
	// than its limit, even none, and a cursor: the cost of a page is bounded,
	// not the number of entries that its filters pass over.
	Query(ctx context.Context, q AuditQuery) (AuditPage, error)

	// Prune removes up to limit entries from before a time, the oldest first,
	// and returns how many: fewer than limit means that none is left. A limit
	// below 1 is invalid; one above [MaxSweep] is clamped.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
}

// MaxAuditBytes bounds the encoded size of one audit entry, in bytes.
const MaxAuditBytes = 256 << 10

// AuditEntry is one thing that somebody did or tried to do.
type AuditEntry struct {
	// ID is a UUIDv7, from [NewID]; empty means that the store makes one. Ids
	// that one store makes sort in the order of their appends.
	ID string `json:"id"`
	// At is the time in ID. Tenant is that of the store. Both are the store's
	// to assign.
	At     time.Time `json:"at"`
	Tenant string    `json:"tenant,omitempty"`

	Actor     string          `json:"actor"`              // who: a token's id, a user of the system
	Action    string          `json:"action"`             // what: "create", "delete", "publish", ...
	Resource  string          `json:"resource,omitempty"` // to what: "agent/writer"
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
	Remote    string          `json:"remote,omitempty"` // from where
	Error     string          `json:"error,omitempty"`  // why it failed
}

// AuditQuery selects entries.
type AuditQuery struct {
	Actor     string    // exact
	Action    string    // exact
	Resource  string    // exact, or everything below it if it ends in "/"
	RequestID string    // exact
	Since     time.Time // at or after
	Until     time.Time // before; zero is no bound
	Limit     *int      // see [PageLimit]
	Cursor    Cursor
}

// AuditPage is one page of entries. Next is empty on the last page.
type AuditPage struct {
	Items []AuditEntry `json:"items"`
	Next  Cursor       `json:"next_cursor,omitempty"`
}
