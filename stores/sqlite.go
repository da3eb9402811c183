package stores

import (
	"context"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// openSQLite opens a SQLite file. A nil *sqlite.Store must not become a store.
func openSQLite(ctx context.Context, path string) (selvage.Store, error) {
	if path == "" {
		return nil, refuse("sqlite:", "the path of the file is missing; write sqlite:PATH")
	}
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return store, nil
}
