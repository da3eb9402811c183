package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/yardstick"
	"github.com/selvagehq/selvage/stores"
)

// benchSpace is where a store is measured: one of its own on the same engine
// and disk as the user's, and the engine alone beside it.
type benchSpace struct {
	backend    string
	durability string
	settings   map[string]string
	dir        string // on the store's disk; "" if that is not here

	store selvage.Store
	put   func(ctx context.Context, thread int, body []byte) error // the least an engine can do; nil: there is no engine
	// group is what the engine does best with many rows, if that is more than
	// as many single ones.
	group  func(ctx context.Context, body []byte) error
	stored func(ctx context.Context) (int64, error) // nil: nothing is
	close  []func(ctx context.Context) error        // in reverse
}

const (
	groupRows = 100 // that the engine is given in one transaction
	leaveTime = 30 * time.Second
)

// leave removes everything, also when the command was interrupted, and joins
// to err what could not be.
func (s *benchSpace) leave(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	for i := len(s.close) - 1; i >= 0; i-- {
		if closeErr := s.close[i](ctx); closeErr != nil && !errors.Is(closeErr, selvage.ErrClosed) {
			err = errors.Join(err, closeErr)
		}
	}
	s.close = nil
	return err
}

func (s *benchSpace) onLeave(f func(context.Context) error) { s.close = append(s.close, f) }

// benchSpace makes a space for the store of a URL.
func (a *app) benchSpace(ctx context.Context, url string, writers int) (*benchSpace, error) {
	path, local := localPath(url)
	s := &benchSpace{}
	var err error
	switch {
	case url == "memory:":
		err = s.openStore(ctx, url, "memory", "none: nothing outlives the process")
	case local && offered(url, path):
		err = a.spaceBeside(ctx, s, url, path, writers)
	case strings.HasPrefix(url, "postgres:"), strings.HasPrefix(url, "postgresql:"):
		err = a.spaceOnServer(ctx, s, url, writers)
	default:
		// It is refused with what is offered.
		var refused selvage.Store
		if refused, err = stores.OpenExisting(ctx, url); err == nil {
			_ = refused.Close() // nothing was done with it
			err = fmt.Errorf("stores of this kind cannot be measured: %w", selvage.ErrUnsupported)
		} else {
			err = a.explainOpen(url, err)
		}
	}
	if err != nil {
		return nil, s.leave(ctx, err)
	}
	return s, nil
}

// openStore opens the store that is measured.
func (s *benchSpace) openStore(ctx context.Context, url, backend, durability string) (err error) {
	s.backend, s.durability = backend, durability
	if s.store, err = stores.Open(ctx, url); err != nil {
		return err
	}
	s.onLeave(func(context.Context) error { return s.store.Close() })
	return nil
}

// spaceBeside is a folder beside the file of a SQLite store.
func (a *app) spaceBeside(ctx context.Context, s *benchSpace, url, path string, writers int) (err error) {
	if info, err := os.Stat(path); err == nil && (info.IsDir() || info.Size() > 0 && !isDatabase(path)) {
		return a.explainOpen(url, fmt.Errorf("open %s: %w", path, selvage.ErrCorrupt))
	}
	// The folder of a store that is not there yet may not be there either.
	parent := filepath.Dir(path)
	for _, err := os.Stat(parent); errors.Is(err, os.ErrNotExist) && filepath.Dir(parent) != parent; _, err = os.Stat(parent) {
		parent = filepath.Dir(parent)
	}
	if s.dir, err = os.MkdirTemp(parent, "selvage-bench-*"); err != nil {
		return &failure{exit: exitUnreachable, class: "unavailable", err: fmt.Errorf("make a folder in %s: %w", parent, cause(err)),
			hint: "the store is measured in a folder beside it; check the permissions"}
	}
	s.onLeave(func(context.Context) error { return os.RemoveAll(s.dir) })
	file := filepath.Join(s.dir, "bench.db")
	if err := s.openStore(ctx, "sqlite:"+file, "sqlite", "durable: an append is answered once its bytes were forced to the disk"); err != nil {
		return err
	}
	raw, err := yardstick.OpenSQLite(ctx, filepath.Join(s.dir, "raw.db"), "FULL", writers)
	if err != nil {
		return err
	}
	s.onLeave(func(context.Context) error { return raw.Close() })
	s.settings = map[string]string{"journal_mode": "WAL", "synchronous": "FULL"}
	s.put = raw.Put
	s.group = func(ctx context.Context, body []byte) error { return raw.PutAll(ctx, groupRows, body) }
	s.stored = func(context.Context) (int64, error) {
		// Who closes a file last puts its log back into it.
		if err := s.store.Close(); err != nil {
			return 0, err
		}
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	return nil
}

// spaceOnServer is a database on the server of the store. The store itself is
// opened first, for all that can be wrong with its URL.
func (a *app) spaceOnServer(ctx context.Context, s *benchSpace, url string, writers int) error {
	theirs, err := stores.OpenExisting(ctx, url)
	switch {
	case err == nil:
		err = theirs.Close()
	case errors.Is(err, selvage.ErrNotFound):
		err = nil // there are no tables yet, and there need not be
	}
	if err != nil {
		return a.explainOpen(url, err)
	}
	database, drop, err := yardstick.TemporaryDatabase(ctx, url)
	if err != nil {
		return refusedDatabase(err)
	}
	s.onLeave(drop)
	if err := s.openStore(ctx, database, "postgres", ""); err != nil {
		return err
	}
	names := make([]string, writers)
	for i := range names {
		names[i] = benchThread(i)
	}
	raw, err := yardstick.OpenPostgres(ctx, database, names)
	if err != nil {
		return err
	}
	s.onLeave(func(context.Context) error { raw.Close(); return nil })
	if s.settings, err = raw.Settings(ctx); err != nil {
		return err
	}
	s.durability = "durable: an append is answered once the server has forced its log to the disk"
	if s.settings["fsync"] == "off" || s.settings["synchronous_commit"] == "off" {
		s.durability = "NOT durable: the server answers before its log is on the disk"
	}
	s.put = raw.Put
	s.stored = func(ctx context.Context) (int64, error) { return raw.Stored(ctx, "selvage") }
	return nil
}

// refusedDatabase says why there is no database to measure in.
func refusedDatabase(err error) error {
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return fmt.Errorf("the server could not be asked for a temporary database: %w", err)
	}
	return &failure{exit: exitUnreachable, class: "unavailable", err: fmt.Errorf("the server makes no temporary database: %s (%s)", said.Message, said.Code),
		hint: "measure as a user with the right CREATEDB; nothing is measured among your threads"}
}

// benchThread names a thread of the space.
func benchThread(i int) string { return fmt.Sprintf("bench-%d", i) }
