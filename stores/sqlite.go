package stores

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// openSQLite opens a SQLite file. A nil *sqlite.Store must not become a store.
func openSQLite(ctx context.Context, path string, existing bool) (selvage.Store, error) {
	if path == "" {
		return nil, refuse("sqlite:", "the path of the file is missing; write sqlite:PATH")
	}
	if existing {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("store %q: there is no such file: %w", path, selvage.ErrNotFound)
		}
	}
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return store, nil
}
