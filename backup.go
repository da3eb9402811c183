package selvage

import (
	"context"
	"io"
)

// Backup is a store that can be written out as a whole and made again from
// that, by itself or by another kind of store.
type Backup interface {
	// Backup writes everything the store keeps for all tenants to w as of one
	// moment, while it goes on being used: threads and tombstones with their
	// logs, blobs, deliveries, memory and whatever else is kept. Leases are
	// not in it, and what derives from the logs is made anew by Restore. Only
	// what Backup returned nil for is complete. Errors of w are returned,
	// wrapped.
	Backup(ctx context.Context, w io.Writer, opts BackupOptions) (BackupReport, error)

	// Restore reads what Backup wrote into this store, which must be empty
	// ([ErrAlreadyExists]; nothing is changed then), and raises its generation,
	// so that positions in the feed of before are told from those of after.
	// Every change is proved while it is read: what is damaged or cut off
	// matches [ErrCorrupt], what is no backup [ErrInvalid], one of a newer
	// program [ErrUnsupported]. After an error a part of it may be in the
	// store: throw the store away. Deliveries that were under way are due.
	Restore(ctx context.Context, r io.Reader, opts BackupOptions) (BackupReport, error)
}

// BackupOptions configures a backup or its restoration.
type BackupOptions struct {
	// Told, if not nil, is called now and then with how many items are done.
	Told func(items int64)
}

// BackupReport sums a backup, or its restoration, up.
type BackupReport struct {
	Items int64 `json:"items"` // changes, blobs, deliveries and records
}
