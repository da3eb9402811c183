package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/selvagehq/selvage"
)

// forOperators are the groups about capabilities that reach beyond one tenant,
// which the store of a tenant does not offer.
var forOperators = []string{"Tenancy", "Inspect", "Repair", "Backup"}

// Scoped returns a configuration for the stores of one tenant of the stores
// that cfg opens: a tenant's store is a store, so it passes the kit, but for
// what is offered to operators alone. Another tenant has threads, too.
func Scoped(cfg Config) Config {
	s := &scopes{roots: make(map[selvage.Store]selvage.Store)}
	scoped := Config{Seeds: cfg.Seeds, Lacks: append(slices.Clone(cfg.Lacks), forOperators...), New: func(t *testing.T) selvage.Store {
		root := cfg.New(t)
		t.Cleanup(func() { _ = root.Close() }) // the one that was opened again may have closed it
		other := s.of(t, root, "acme2")
		for i, id := range []selvage.ThreadID{"t", "t-1", "other"} {
			if _, err := other.Append(t.Context(), id, says(fmt.Sprint("of another ", i)), selvage.New()); err != nil {
				t.Fatalf("storetest: append for another tenant: %v", err)
			}
		}
		return s.of(t, root, "acme")
	}}
	if cfg.Reopen != nil {
		scoped.Reopen = func(t *testing.T, old selvage.Store) selvage.Store { return s.again(t, old, cfg.Reopen) }
	}
	if cfg.Share != nil {
		scoped.Share = func(t *testing.T, first selvage.Store) selvage.Store { return s.again(t, first, cfg.Share) }
	}
	return scoped
}

// scopes remembers which store a tenant's came from.
type scopes struct {
	mu    sync.Mutex // guards roots
	roots map[selvage.Store]selvage.Store
}

// of returns the store of a tenant.
func (s *scopes) of(t *testing.T, root selvage.Store, name string) selvage.Store {
	t.Helper()
	tenancy, ok := selvage.As[selvage.Tenancy](root)
	if !ok {
		t.Fatalf("storetest: a %T offers no Tenancy", root)
	}
	scoped, err := tenancy.Tenant(name)
	if err != nil {
		t.Fatalf("storetest: tenant %q: %v", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roots[scoped] = root
	return scoped
}

// again opens what a tenant's store came from as open does, and returns the
// store of the tenant there.
func (s *scopes) again(t *testing.T, scoped selvage.Store, open func(*testing.T, selvage.Store) selvage.Store) selvage.Store {
	t.Helper()
	s.mu.Lock()
	root := s.roots[scoped]
	s.mu.Unlock()
	other := open(t, root)
	t.Cleanup(func() { _ = other.Close() }) // see above
	return s.of(t, other, "acme")
}
