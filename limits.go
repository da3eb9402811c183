package selvage

import "time"

// Bounds that every store enforces. What exceeds MaxSetBytes or MaxSetMessages
// is refused with [ErrTooLarge]; a page limit above its maximum is clamped.
const (
	// MaxSetBytes bounds the encoded size of one change set, in bytes.
	MaxSetBytes = 8 << 20
	// MaxSetMessages bounds the messages of one change set.
	MaxSetMessages = 1000
	// DefaultPage is the number of items of a page when no limit is given.
	DefaultPage = 50
	// MaxPage is the greatest number of items of a page.
	MaxPage = 200
	// DefaultWindow is how many messages [Store.Load] returns when none are asked for.
	DefaultWindow = 200
	// MaxMetadataKeys bounds the metadata entries of a thread or a message.
	MaxMetadataKeys = 256
	// MaxRewinds bounds how often one thread can be rewound. Beyond it a rewind
	// is refused with [ErrTooLarge]; a fork starts anew.
	MaxRewinds = 1000
	// MaxTitleBytes bounds a thread's title, in bytes.
	MaxTitleBytes = 1000
)

// TimePrecision is the precision of every stored time, on every backend.
const TimePrecision = time.Millisecond

// PageLimit resolves the limit of a query: nil is [DefaultPage], 0 asks for an
// empty page, more than [MaxPage] is clamped, and a negative limit matches
// [ErrInvalid].
func PageLimit(limit *int) (int, error) {
	switch {
	case limit == nil:
		return DefaultPage, nil
	case *limit < 0:
		return 0, &InvalidError{Field: "limit", Reason: "a limit may not be negative"}
	default:
		return min(*limit, MaxPage), nil
	}
}
