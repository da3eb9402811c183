package inmem

import (
	"context"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
	"github.com/selvagehq/selvage/store/record"
)

// Tenant implements [selvage.Tenancy].
func (s *Store) Tenant(name string) (selvage.Store, error) {
	scoped, err := s.scope(name)
	if err != nil {
		return nil, fmt.Errorf("tenant %q: %w", name, err)
	}
	return scoped, nil
}

func (s *Store) scope(name string) (*Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(context.Background()); err != nil {
		return nil, err
	}
	if s.tenant != "" {
		return nil, fmt.Errorf("the store of a tenant has no tenants; ask the store it came from: %w", selvage.ErrUnsupported)
	}
	if err := commit.CheckTenant(name); err != nil {
		return nil, err
	}
	if s.spaces[name] == nil {
		s.spaces[name] = newSpace()
	}
	scoped := &Store{engine: s.engine, space: s.spaces[name], tenant: name, cursors: s.cursors.Tenant(name)}
	scoped.keeper = record.New(rows{scoped}, &scoped.cursors, name)
	return scoped, nil
}

// Tenants implements [selvage.Tenancy].
func (s *Store) Tenants(ctx context.Context, after string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("tenants: %w", err)
	}
	var names []string
	for name, space := range s.spaces {
		if name > after && len(space.threads) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), selvage.MaxPage)], nil
}
