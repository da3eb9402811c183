package selvage

import (
	"context"
	"time"
)

// Pinger is a store that a server keeps, with a clock of its own and a network
// in between.
type Pinger interface {
	// Ping asks the server one thing and writes nothing. A server that does
	// not answer matches [ErrUnavailable].
	Ping(ctx context.Context) (Ping, error)
}

// Ping is how a server answered.
type Ping struct {
	Server    string        // name and version, "PostgreSQL 15.4"
	RoundTrip time.Duration // of one question on a connection that is open
	// ClockSkew is how far the server's clock is ahead of this machine's, to
	// within half a round trip. Leases are measured by the server's.
	ClockSkew time.Duration
}
