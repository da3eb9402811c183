package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/record"
)

var (
	_ selvage.Store   = (*Store)(nil)
	_ selvage.Leaser  = (*Store)(nil)
	_ selvage.Tenancy = (*Store)(nil)
)

// Store keeps threads in PostgreSQL. It implements [selvage.Store] and
// [selvage.Leaser] and is safe for concurrent use, by any number of processes.
//
// A server that cannot be reached, or that went away before it could have done
// anything, answers [selvage.ErrUnavailable]. One that went away between a
// write and its answer is asked again by the change set's id; only if that
// fails too the error matches [selvage.ErrUnknownOutcome]. Connections are
// made anew as soon as the server is back.
type Store struct {
	*base
	tenant  string            // empty for the store that was opened
	cursors selvage.CursorKey // of the tenant
	keeper  *record.Keeper    // of the tenant's records

	mu     sync.Mutex // guards closed
	closed bool
	calls  sync.WaitGroup // under way
}

// base is what the tenants of a store share.
type base struct {
	root *Store // the store that was opened
	pool *pgxpool.Pool
	log  *slog.Logger
	now  func() time.Time

	generation int64 // of the database, in the place where ord has it

	// plain is set when prepared statements have turned out not to work.
	plain atomic.Bool
	heads *headCache
	gates *gates
	keep  *keeper
	watch *watch
}

// Open opens the store in the database that url names and brings its schema up
// to date. Any number of processes may do so at once. The context bounds the
// opening alone.
//
// A database whose schema is newer than this program matches
// [selvage.ErrUnsupported], a server that cannot be reached or does not let the
// user in [selvage.ErrUnavailable], a URL that cannot be read
// [selvage.ErrInvalid]. No error repeats the URL or tells a password.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	s, err := open(ctx, url, opts)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL store: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, url string, opts Options) (*Store, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	config, err := opts.poolConfig(url)
	if err != nil {
		return nil, err
	}
	s := &Store{base: &base{log: opts.Logger, now: opts.Now, heads: newHeadCache(opts.CacheBytes), gates: newGates()}}
	s.root, s.keeper = s, record.New(records{s}, &s.cursors, "")
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		if s.plain.Load() {
			c.DefaultQueryExecMode = pgx.QueryExecModeExec
		}
		return nil
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fault(ctx, "connect", err)
	}
	if err := s.prepare(ctx, opts.KeepSchema); err != nil {
		s.pool.Close()
		return nil, err
	}
	s.keep, s.watch = startKeeper(s), newWatch(s)
	return s, nil
}

// prepare brings the schema up to date, unless it is to be kept, and reads what the database says about
// itself.
func (s *Store) prepare(ctx context.Context, keepSchema bool) error {
	if err := s.migrate(ctx, keepSchema); err != nil {
		return err
	}
	return s.retry(ctx, "read the properties of the store", func(ctx context.Context) error {
		var key []byte
		err := s.pool.QueryRow(ctx, `SELECT (SELECT value FROM selvage.meta WHERE key = 'cursor_key'),
			(SELECT ('x' || encode(value, 'hex'))::bit(64)::bigint FROM selvage.meta WHERE key = 'generation')`).Scan(&key, &s.generation)
		if err != nil {
			return err
		}
		if copy(s.cursors[:], key) != len(s.cursors) {
			return fmt.Errorf("the cursor key has %d bytes: %w", len(key), selvage.ErrCorrupt)
		}
		s.generation <<= generationShift
		return nil
	})
}

// generationShift is where the generation stands in the order of changes.
const generationShift = 48

// Close waits for the calls under way and closes the connections. The store of
// a tenant leaves them open for the others.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return errClosed
	}
	if s != s.root {
		s.watch.bells.RingAll() // who waits on this store finds it closed
		s.calls.Wait()
		return nil
	}
	s.watch.silence()
	s.calls.Wait()
	s.watch.close()
	s.keep.stop()
	s.pool.Close()
	return nil
}

var errClosed = fmt.Errorf("PostgreSQL store: %w", selvage.ErrClosed)

// enter counts a call as under way, unless nothing may be done any more. What
// it returns ends the call.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s != s.root {
		done, err := s.root.enter(ctx)
		if err != nil {
			return nil, err
		}
		s.calls.Add(1)
		return func() { s.calls.Done(); done() }, nil
	}
	s.calls.Add(1)
	return s.calls.Done, nil
}
