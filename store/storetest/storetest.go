// Package storetest is the contract of [selvage.Store] in the form of tests.
// What passes [Run] is a store; a decorator or a client of a remote store runs
// it like any backend:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Config{
//			New: func(t *testing.T) selvage.Store { return inmem.New(inmem.Options{}) },
//		})
//	}
//
// Each test enforces one sentence of the contract and prints it when it fails,
// so that who implements a store reads what was promised, and not only what
// came and what was expected. Optional capabilities are found with
// [selvage.As], and what a store claims in [Config] only ever adds tests:
// nothing can be switched off, because a store that cannot do all of this is
// not one.
package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/selvagehq/selvage"
)

// Config tells [Run] how to get at the stores under test. New is required;
// every other field adds tests.
type Config struct {
	// New opens a new, empty store. The kit closes it; resources of its own
	// are best tied to t, which ends after that. Several are open at once.
	New func(t *testing.T) selvage.Store

	// Reopen closes old, as a program does that ends, and opens what it held
	// once more. Nil says that nothing outlives a Close.
	Reopen func(t *testing.T, old selvage.Store) selvage.Store

	// Share opens what an open store holds a second time, as another process
	// does that works on it at the same time. Nil says that nobody can.
	Share func(t *testing.T, first selvage.Store) selvage.Store

	// Lacks names the groups of tests about capabilities that the store does
	// not have. A store that lacks one it does not name fails.
	Lacks []string

	// Seeds are random sequences to run besides the built-in ones. A failure
	// names its seed.
	Seeds []uint64
}

// Run tests the stores that cfg opens against everything that every store
// promises. Tests run in parallel, and those of one group share a store, as
// the users of a store do.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	if cfg.New == nil {
		t.Fatal("storetest: Config.New is nil; it must open a new, empty store")
	}
	for _, g := range groups(cfg) {
		t.Run(g.name, func(t *testing.T) { g.run(t, cfg) })
	}
}

// run tests the promises of the group side by side on one store.
func (g group) run(t *testing.T, cfg Config) {
	t.Parallel()
	shared := opened(t, cfg.New(t))
	if g.offered != nil && !g.offered(shared) {
		if slices.Contains(cfg.Lacks, g.name) {
			return
		}
		t.Fatalf("storetest: the store does not offer %s; if that is meant, name it in Config.Lacks", g.name)
	}
	for _, p := range g.promises {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.check(bind(t, cfg, shared))
		})
	}
}

// bind makes the kit that a promise is tested with.
func bind(t *testing.T, cfg Config, shared selvage.Store) *kit {
	k := &kit{TB: t, patience: patience, store: shared, fresh: func() selvage.Store { return opened(t, cfg.New(t)) }}
	if cfg.Reopen != nil {
		k.reopen = func(old selvage.Store) selvage.Store { return opened(t, cfg.Reopen(t, old)) }
	}
	if cfg.Share != nil {
		k.share = func(first selvage.Store) selvage.Store { return opened(t, cfg.Share(t, first)) }
	}
	return k
}

// opened sees to it that the store is closed when the test ends.
func opened(t testing.TB, s selvage.Store) selvage.Store {
	t.Helper()
	if s == nil {
		t.Fatal("storetest: Config returned no store")
	}
	t.Cleanup(func() {
		// A test may have closed it already.
		if err := s.Close(); err != nil && !errors.Is(err, selvage.ErrClosed) {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}
