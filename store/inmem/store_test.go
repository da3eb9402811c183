package inmem_test

import (
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, config())
}

func TestTenantStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Scoped(config()))
}

func config() storetest.Config {
	return storetest.Config{
		Seeds: soak.Seeds(),
		New:   func(*testing.T) selvage.Store { return inmem.New(inmem.Options{}) },
		// Reopen is nil: nothing in memory outlives the process.
	}
}
