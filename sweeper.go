package selvage

import "context"

// Sweeper is a store that removes what has expired: entries of [Memory],
// [StreamCheckpoints] and rows of [Replay]. What has expired is not seen any
// more, swept or not; sweeping gives its room back. It is found with [As].
type Sweeper interface {
	// Sweep removes up to limit expired records, the oldest first, in one
	// transaction and returns how many it removed: fewer than limit means that
	// none is left for now. A limit below 1 is invalid; one above
	// [MaxSweep] is clamped. It may be repeated after any error.
	Sweep(ctx context.Context, limit int) (int, error)
}

// MaxSweep is how many records one [Sweeper.Sweep] removes at most.
const MaxSweep = 1000
