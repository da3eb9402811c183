package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
	"github.com/selvagehq/selvage/store/record"
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
	scoped := &Store{base: s.base, tenant: name, cursors: s.cursors.Tenant(name)}
	scoped.keeper = record.New(records{scoped}, &scoped.cursors, name)
	return scoped, nil
}

// tenantsQuery goes from one name to the next, so that its cost does not depend
// on how many threads they have.
const tenantsQuery = `WITH RECURSIVE n (tenant) AS (
		(SELECT tenant FROM selvage.threads WHERE tenant > $1::text ORDER BY tenant LIMIT 1)
		UNION ALL
		SELECT (SELECT t.tenant FROM selvage.threads t WHERE t.tenant > n.tenant ORDER BY t.tenant LIMIT 1) FROM n WHERE n.tenant IS NOT NULL)
	SELECT tenant FROM n WHERE tenant IS NOT NULL LIMIT $2::bigint`

// Tenants implements [selvage.Tenancy].
func (s *Store) Tenants(ctx context.Context, after string) (names []string, err error) {
	err = s.read(ctx, "list the tenants", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, tenantsQuery, after, int64(selvage.MaxPage))
		if err != nil {
			return err
		}
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return names, err
}
