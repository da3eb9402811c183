package sqlite

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
	"github.com/selvagehq/selvage/store/record"
)

// threadKey names a thread of any tenant.
type threadKey struct {
	tenant string
	id     selvage.ThreadID
}

// keyOf names the thread of a head.
func keyOf(t *selvage.Thread) threadKey { return threadKey{t.Tenant, t.ID} }

// Tenant implements [selvage.Tenancy]. The store it returns is a *Store, too.
func (s *Store) Tenant(name string) (selvage.Store, error) {
	scoped, err := s.scope(name)
	if err != nil {
		return nil, fmt.Errorf("tenant %q: %w", name, err)
	}
	return scoped, nil
}

func (s *Store) scope(name string) (*Store, error) {
	if err := s.enter(context.Background()); err != nil {
		return nil, err
	}
	defer s.leave()
	if s.tenant != "" {
		return nil, fmt.Errorf("the store of a tenant has no tenants; ask the store it came from: %w", selvage.ErrUnsupported)
	}
	if err := commit.CheckTenant(name); err != nil {
		return nil, err
	}
	scoped := &Store{file: s.file, tenant: name, cursors: s.cursors.Tenant(name)}
	scoped.keeper = record.New(records{scoped}, &scoped.cursors, name)
	return scoped, nil
}

// Tenants implements [selvage.Tenancy]. It goes from one name to the next, so
// that its cost does not depend on how many threads they have.
func (s *Store) Tenants(ctx context.Context, after string) (names []string, err error) {
	err = s.read(ctx, func(c *conn) error {
		for found := true; found && len(names) < selvage.MaxPage; {
			var err error
			found, err = c.one(func(r *rows) { after = r.text(0) }, `SELECT tenant FROM threads WHERE tenant > ? ORDER BY tenant LIMIT 1`, after)
			if err != nil {
				return err
			}
			if found {
				names = append(names, after)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tenants: %w", err)
	}
	return names, nil
}
