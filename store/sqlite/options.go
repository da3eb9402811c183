package sqlite

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/selvagehq/selvage"
)

// Durability is what an acknowledged append survives.
type Durability string

// The durability profiles.
const (
	// Durable survives the death of the process and the loss of power: an
	// append returns after its bytes were forced to the disk.
	Durable Durability = "durable"
	// CrashSafe survives the death of the process. A loss of power may take
	// the last appends with it, but never tears one.
	CrashSafe Durability = "crash-safe"
	// Ephemeral survives the death of the process. A loss of power may leave
	// a damaged file. It is for tests, and for stores that can be made again.
	Ephemeral Durability = "ephemeral"
)

// synchronous is SQLite's name of the profile.
func (d Durability) synchronous() string {
	switch d {
	case CrashSafe:
		return "NORMAL"
	case Ephemeral:
		return "OFF"
	default:
		return "FULL"
	}
}

// Options configures [Open]. The zero value is safe and durable.
type Options struct {
	// Durability is what an acknowledged append survives. Empty means
	// [Durable].
	Durability Durability

	// BusyTimeout is how long a write waits while another process writes.
	// Zero means 5 seconds; negative fails at once.
	BusyTimeout time.Duration

	// Readers is how many calls may read at once; more wait for their turn.
	// Zero means 4.
	Readers int

	// CacheBytes bounds the heads and state documents kept in memory. Zero
	// means 16 MiB; negative keeps none.
	CacheBytes int

	// Logger receives migrations at Info, and at Warn what was repaired or
	// could not be done in the background. Nil discards.
	Logger *slog.Logger

	// Now tells the time that changes are stamped with and leases are measured
	// by. Nil means time.Now. Processes that share a file should agree on it.
	Now func() time.Time

	drive *drive // nil means the file system
}

const (
	defaultBusyTimeout = 5 * time.Second
	defaultReaders     = 4
	defaultCacheBytes  = 16 << 20
)

// complete returns the options with every default filled in. The error matches
// [selvage.ErrInvalid].
func (o Options) complete() (Options, error) {
	switch o.Durability {
	case "":
		o.Durability = Durable
	case Durable, CrashSafe, Ephemeral:
	default:
		return o, &selvage.InvalidError{Field: "durability",
			Reason: fmt.Sprintf("%q is not a durability profile; use durable, crash-safe or ephemeral", o.Durability)}
	}
	if o.Readers < 0 {
		return o, &selvage.InvalidError{Field: "readers", Reason: "the number of readers may not be negative"}
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = defaultBusyTimeout
	}
	if o.Readers == 0 {
		o.Readers = defaultReaders
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.drive == nil {
		o.drive = disk()
	}
	return o, nil
}
