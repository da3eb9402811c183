package postgres

import (
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/selvagehq/selvage"
)

// Options configures [Open]. The zero value is safe.
type Options struct {
	// MaxConns bounds the connections of the store; calls beyond them wait for
	// their turn. Zero means what the URL says in pool_max_conns, else four
	// for each processor and at most 16. At least 2 are used.
	// Two more may be open for hints: one once something was appended, one while
	// somebody waits for changes.
	MaxConns int

	// ConnectTimeout bounds how long a connection may take to be made. Zero
	// means what the URL says in connect_timeout, else 10 seconds.
	ConnectTimeout time.Duration

	// CacheBytes bounds the heads and state documents kept in memory,
	// approximately. Zero means 16 MiB; negative keeps none.
	CacheBytes int

	// KeepSchema leaves the schema of the database as it is. Where there is
	// none, Open then matches [selvage.ErrNotFound], and where it is older than
	// this program, [selvage.ErrUnsupported].
	KeepSchema bool

	// Logger receives migrations at Info, and at Warn what could not be done
	// in the background. Nil discards.
	Logger *slog.Logger

	// Now tells the time that changes are stamped with. Nil means time.Now.
	// Leases are measured by the clock of the database.
	Now func() time.Time
}

const (
	minConns              = 2
	maxDefaultConns       = 16
	connsPerProcessor     = 4
	defaultConnectTimeout = 10 * time.Second
	defaultCacheBytes     = 16 << 20
)

// complete returns the options with every default filled in.
func (o Options) complete() (Options, error) {
	if o.MaxConns < 0 {
		return o, &selvage.InvalidError{Field: "max_conns", Reason: "the number of connections may not be negative"}
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
	return o, nil
}

// poolConfig reads the URL. Nothing of the URL is in the error, because what
// cannot be read may be the password.
func (o Options) poolConfig(url string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, &selvage.InvalidError{Field: "url",
			Reason: "this is no PostgreSQL URL; write postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE, with special characters percent-encoded"}
	}
	switch {
	case o.MaxConns > 0:
		c.MaxConns = int32(min(o.MaxConns, 1<<20))
	case !strings.Contains(url, "pool_max_conns"):
		c.MaxConns = int32(min(maxDefaultConns, connsPerProcessor*runtime.GOMAXPROCS(0)))
	}
	c.MaxConns = max(c.MaxConns, minConns)
	c.MinConns, c.MinIdleConns = min(c.MinConns, c.MaxConns), min(c.MinIdleConns, c.MaxConns)
	switch {
	case o.ConnectTimeout > 0:
		c.ConnConfig.ConnectTimeout = o.ConnectTimeout
	case !strings.Contains(url, "connect_timeout"):
		c.ConnConfig.ConnectTimeout = defaultConnectTimeout
	}
	return c, nil
}
