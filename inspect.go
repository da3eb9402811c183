package selvage

import "context"

// StoreInfo tells what a store keeps. Counts are of all tenants.
type StoreInfo struct {
	Backend    string `json:"backend"`              // sqlite, postgres, memory
	Engine     string `json:"engine,omitempty"`     // the engine's name and version
	Durability string `json:"durability"`           // the profile: durable, crash-safe or ephemeral
	Schema     int64  `json:"schema,omitempty"`     // version of the tables
	Generation int64  `json:"generation,omitempty"` // raised by every restore from a backup

	Threads    int64 `json:"threads"`
	Tombstones int64 `json:"tombstones"` // of deleted threads
	Changes    int64 `json:"changes"`
	Messages   int64 `json:"messages"` // in the log, hidden ones included
	Runs       int64 `json:"runs"`
	OpenRuns   int64 `json:"open_runs"`

	// Bytes is what the store takes on its disk, 0 if it has none. Free of
	// them are reserved and hold nothing.
	Bytes int64 `json:"bytes"`
	Free  int64 `json:"free_bytes"`
	// BodyBytes are the bytes of change sets as they are kept; StateBytes of
	// them are what retention may take: patches and snapshots, and the rest
	// that stands beside them.
	BodyBytes  int64 `json:"body_bytes"`
	StateBytes int64 `json:"state_bytes"`
	// CacheBytes are state documents that save readers the way.
	CacheBytes int64 `json:"cache_bytes"`
}

// Inspector is a store that can count what it keeps. The store of a tenant is
// none.
type Inspector interface {
	// Inspect counts everything the store keeps. It takes time in proportion
	// to that, and holds no writer up. Counts may be of moments that lie
	// apart while others write.
	Inspect(ctx context.Context) (StoreInfo, error)
}
