package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

var _ selvage.Pinger = (*Store)(nil)

// pings is how often the server is asked; the fastest answer counts, because
// the first may have had to wait for a connection.
const pings = 5

// Ping implements [selvage.Pinger].
func (s *Store) Ping(ctx context.Context) (selvage.Ping, error) {
	p, err := s.ping(ctx)
	if err != nil {
		return selvage.Ping{}, fmt.Errorf("ping: %w", err)
	}
	return p, nil
}

func (s *Store) ping(ctx context.Context) (best selvage.Ping, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return best, err
	}
	defer leave()
	for n := range pings {
		var p selvage.Ping
		err := s.retry(ctx, "ask the server", func(ctx context.Context) error {
			var version string
			var theirs time.Time
			began, asked := time.Now(), s.now()
			if err := s.pool.QueryRow(ctx, `SELECT current_setting('server_version'), clock_timestamp()`).Scan(&version, &theirs); err != nil {
				return err
			}
			p.RoundTrip = time.Since(began)
			p.ClockSkew = theirs.Sub(asked.Add(p.RoundTrip / 2))
			p.Server = "PostgreSQL " + version
			return nil
		})
		if err != nil {
			return best, err
		}
		if n == 0 || p.RoundTrip < best.RoundTrip {
			best = p
		}
	}
	return best, nil
}
