package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/record"
)

var (
	_ selvage.Store   = (*Store)(nil)
	_ selvage.Leaser  = (*Store)(nil)
	_ selvage.Tenancy = (*Store)(nil)
)

// Store keeps threads in one SQLite file. It implements [selvage.Store] and
// [selvage.Leaser] and is safe for concurrent use; other processes, and other
// Stores of this one, may work on the same file at the same time.
type Store struct {
	*file
	tenant  string            // empty for the store that was opened
	cursors selvage.CursorKey // of the tenant
	keeper  *record.Keeper    // of the tenant's records

	closing sync.RWMutex // held for reading by calls under way
	closed  bool         // guarded by closing
}

// file is what the tenants of a store share.
type file struct {
	path    string
	opts    Options
	tally   tally
	root    *Store // the store that was opened
	cache   *cache
	writer  *writer
	readers *readers
	watch   *watch
	probe   probe
}

// Open opens the database file at path and brings its schema up to date. A
// file that is missing is created, readable by its owner alone, and so is its
// directory. The context bounds the opening only.
//
// The error matches [selvage.ErrInvalid] if path names no file or a database of
// another program, [selvage.ErrUnsupported] if the schema is newer than this
// program, [selvage.ErrCorrupt] if the file is no database or is damaged, and
// [selvage.ErrUnavailable] if it cannot be read and written. None of these
// changes the file.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	path, err = locate(path, opts.drive.sync)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	s := &Store{file: &file{path: path, opts: opts, cache: newCache(opts.CacheBytes)}}
	s.root, s.keeper = s, record.New(records{s}, &s.cursors, "")
	c, err := s.openWriting(ctx)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", s.fault(err))
	}
	if err := s.readCursorKey(c); err != nil {
		return nil, fmt.Errorf("open database: %w", s.fault(errors.Join(err, c.close())))
	}
	s.readers = newReaders(s, opts.Readers)
	s.watch = newWatch(s)
	s.writer = newWriter(s, c)
	return s, nil
}

// openWriting opens the connection that writes.
func (s *Store) openWriting(ctx context.Context) (c *conn, err error) {
	if c, err = s.connect(); err != nil {
		return nil, err
	}
	opened := c // c is nil by the time an error is returned
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.close())
		}
	}()
	if err := s.setUp(c); err != nil {
		return nil, err
	}
	if err := migrate(ctx, s.path, c, s.opts); err != nil {
		return nil, err
	}
	var mode string
	if _, err := c.one(func(r *rows) { mode = r.text(0) }, "PRAGMA journal_mode = WAL"); err != nil {
		return nil, err
	}
	if mode != "wal" {
		return nil, fmt.Errorf("database %s: its file system cannot keep a write-ahead log: %w", s.path, selvage.ErrUnsupported)
	}
	for _, pragma := range []string{
		"PRAGMA synchronous = " + s.opts.Durability.synchronous(),
		// The writer checkpoints when it chooses to, and a log that grew too
		// long is cut when it starts over.
		"PRAGMA wal_autocheckpoint = 0",
		fmt.Sprintf("PRAGMA journal_size_limit = %d", longLog*pageSize),
		// All connections of a process share one pool of pages, and one that
		// has used up its part drives the others' pages out. The writer, which
		// makes pages that it never needs again, gets room for all it writes
		// between two checkpoints, at which it gives them back.
		fmt.Sprintf("PRAGMA cache_size = %d", 2*checkpointAfter),
		// What is deleted is deleted: an erasure relies on it.
		"PRAGMA secure_delete = ON",
		"PRAGMA busy_timeout = 0", // from here on the writer waits as it sees fit
	} {
		if err := c.run(pragma); err != nil {
			return nil, err
		}
	}
	if err := s.secureLog(c); err != nil {
		return nil, err
	}
	return c, nil
}

// readCursorKey reads what seals the cursors of this database.
func (s *Store) readCursorKey(c *conn) error {
	found, err := c.one(func(r *rows) { copy(s.cursors[:], r.blob(0)) }, `SELECT value FROM meta WHERE key = 'cursor_key'`)
	if err == nil && !found {
		err = fmt.Errorf("table meta, cursor_key: %w: %w", errNoRow, selvage.ErrCorrupt)
	}
	return err
}

// setUp configures what every connection needs before its first statement.
func (s *Store) setUp(c *conn) error {
	for _, pragma := range []string{
		"PRAGMA busy_timeout = 5000",
		"PRAGMA cell_size_check = ON",
		"PRAGMA temp_store = MEMORY",
	} {
		if err := c.run(pragma); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the absolute path of the database file.
func (s *Store) Path() string { return s.path }

// Durability returns the store's durability profile.
func (s *Store) Durability() Durability { return s.opts.Durability }

// Close waits for the calls under way and closes the file. The last store to
// close it leaves everything in the one file. The store of a tenant leaves the
// file open for the others.
func (s *Store) Close() error {
	s.closing.Lock()
	if s.closed {
		s.closing.Unlock()
		return s.errClosed()
	}
	s.closed = true
	s.closing.Unlock()
	if s != s.root {
		s.watch.bells.RingAll() // who waits on this store finds it closed
		return nil
	}
	s.watch.close()
	// The writer is the last to go, so that it finds the log free.
	err := s.readers.close()
	if err := errors.Join(err, s.writer.close()); err != nil {
		return fmt.Errorf("close database %s: %w", s.path, err)
	}
	return nil
}

// enter admits a call, which must leave again.
func (s *Store) enter(ctx context.Context) error {
	s.closing.RLock()
	err := ctx.Err()
	switch {
	case s.closed:
		err = s.errClosed()
	case s != s.root:
		err = s.root.enter(ctx)
	}
	if err != nil {
		s.closing.RUnlock()
	}
	return err
}

func (s *Store) leave() {
	if s != s.root {
		s.root.leave()
	}
	s.closing.RUnlock()
}

func (s *Store) errClosed() error {
	return fmt.Errorf("database %s: %w", s.path, selvage.ErrClosed)
}
