package stores

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/postgres"
)

// openPostgres opens a PostgreSQL database. What the driver reads of the URL
// and of the environment (PGHOST, PGPASSWORD and so on) holds.
func openPostgres(ctx context.Context, name string, existing bool) (selvage.Store, error) {
	store, err := postgres.Open(ctx, name, postgres.Options{KeepSchema: existing})
	if err != nil {
		return nil, fmt.Errorf("store %q: %w", redacted(name), err)
	}
	return store, nil
}
