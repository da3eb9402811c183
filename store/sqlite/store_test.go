package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/store/storetest"
)

// open opens a store in a file that is as good as new to every test.
func open(t testing.TB, path string, opts sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, config())
}

func TestTenantStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Scoped(config()))
}

func config() storetest.Config {
	again := func(t *testing.T, s selvage.Store) selvage.Store {
		return open(t, s.(*sqlite.Store).Path(), sqlite.Options{Durability: sqlite.Ephemeral})
	}
	return storetest.Config{
		Seeds: soak.Seeds(),
		New: func(t *testing.T) selvage.Store {
			return open(t, filepath.Join(t.TempDir(), "selvage.db"), sqlite.Options{Durability: sqlite.Ephemeral})
		},
		Reopen: func(t *testing.T, old selvage.Store) selvage.Store {
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			return again(t, old)
		},
		Share: again,
	}
}
