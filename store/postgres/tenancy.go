package postgres

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// Tenant implements [selvage.Tenancy]. The store it returns is a *Store, too.
func (s *Store) Tenant(name string) (selvage.Store, error) {
	scoped, err := s.scope(name)
	if err != nil {
		return nil, fmt.Errorf("tenant %q: %w", name, err)
	}
	return scoped, nil
}

func (s *Store) scope(name string) (*Store, error) {
	leave, err := s.enter(context.Background())
	if err != nil {
		return nil, err
	}
	defer leave()
	if s.tenant != "" {
		return nil, fmt.Errorf("the store of a tenant has no tenants; ask the store it came from: %w", selvage.ErrUnsupported)
	}
	if err := commit.CheckTenant(name); err != nil {
		return nil, err
	}
	return &Store{base: s.base, tenant: name, cursors: s.cursors.Tenant(name)}, nil
}
